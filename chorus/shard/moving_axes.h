// MovingAxes: the axes that move in one reshard, by number, and what rank 0 holds while they do.
//
//   A[I_XY, J] -> A[I_X, J_Y] on X=2,Y=4,Z=3     X stays in front of I; Y moves; Z may be borrowed
//
//     number   axis   ranks along it               dimension   size under what stays
//        0      Y          4                           I           half of I
//        1      Z          3, if it is borrowed        J           all of J
//
// Rank 0's blocks all begin at 0 and are the largest. Internal to the room. Thread safety:
// immutable.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"
#include "chorus/shard/layout_code.h"

namespace chorus {

// A layout in full: the axes that move, by what they do.
struct Layout {
  std::vector<AxisRun> dims;
  AxisRun sums;
  AxisRun idle;
};

// The share of its largest block that a mean block of `size` indices in `parts` is: 1 if all are
// equal.
inline double Evenness(std::int64_t size, std::int64_t parts) {
  if (size <= 0) return 1;
  const std::int64_t largest = (size + parts - 1) / parts;
  return static_cast<double>(size) / (static_cast<double>(parts) * static_cast<double>(largest));
}

class MovingAxes {
 public:
  // `borrowed`: axes that neither spec uses. `from`, `to`, `mesh` and `sizes` must outlive this.
  // REQUIRES: specs of equal dimensions that mesh and sizes know; at most kMostMovingAxes.
  MovingAxes(const Spec& from, const Spec& to, const Mesh& mesh, const DimSizes& sizes,
             const AxisNames& borrowed);

  std::size_t count() const { return names_.size(); }
  AxisNames NamesOf(const AxisRun& run) const;
  std::int64_t RanksAlong(std::uint8_t axis) const { return ranks_[axis]; }
  std::int64_t Parts(const AxisRun& axes) const {
    std::int64_t parts = 1;
    for (const std::uint8_t axis : axes) parts *= RanksAlong(axis);
    return parts;
  }

  // The same layout as a spec, in full (without its idle axes) and as a number.
  Layout LayoutOf(const Spec& spec) const;
  LayoutCode Encode(const Layout& layout) const;
  void Decode(LayoutCode code, Layout& layout) const;
  Spec SpecOf(LayoutCode code) const;

  // No sum over an axis of several ranks is left to do.
  bool HasNoSums(const Layout& layout) const {
    return std::all_of(layout.sums.begin(), layout.sums.end(),
                       [this](std::uint8_t axis) { return RanksAlong(axis) == 1; });
  }

  // Elements that rank 0 has in both layouts, and in one: no rank holds more.
  std::int64_t Overlap(const Layout& a, const Layout& b) const {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const std::int64_t parts = std::max(Parts(a.dims[d]), Parts(b.dims[d]));
      elements *= (sizes_[d] + parts - 1) / parts;
    }
    return elements;
  }
  std::int64_t Elements(const Layout& layout) const { return Overlap(layout, layout); }
  // Elements that a member of rank 0's group over `axes` sends when blocks change ranks, on
  // average, rounded up: what each gets and has not. Works in `blocks`.
  std::int64_t MeanExchanged(const Layout& from, const Layout& to, const AxisRun& axes,
                             std::vector<Block>& blocks) const;
  // The least share of ceil(s / n) that s / n is, of all sizes s and all parts n that axes make
  // together: 1 if every layout has equal blocks.
  double evenness() const { return evenness_; }

 private:
  AxisRun Number(AxisNames::const_iterator begin, AxisNames::const_iterator end) const;
  std::int64_t MeanExchangedWhole(const Layout& from, const Layout& to, const AxisRun& axes) const;
  void SplitBy(const AxisRun& axes, std::size_t first, std::vector<Block>& blocks) const;
  void FindEvenness(const AxisRun& axes, std::int64_t parts);

  const Spec& from_;
  const Spec& to_;
  AxisNames names_;                  // sorted
  std::vector<std::int64_t> ranks_;  // along each
  std::vector<std::size_t> kept_;    // axes in front that stay, by dimension
  std::vector<std::int64_t> sizes_;  // of rank 0's block of each dimension under those
  double evenness_ = 1;
};

}  // namespace chorus
