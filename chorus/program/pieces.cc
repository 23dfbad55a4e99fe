#include "chorus/program/pieces.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace chorus {
namespace {

using Box = std::vector<Block>;  // one block a dimension

Box BoxOf(const Spec& spec, const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  Box box;
  for (const SpecDim& dim : spec.dims()) {
    box.push_back(BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank));
  }
  return box;
}

// What two boxes have in common; a block that would be negative is empty.
Box Common(const Box& a, const Box& b) {
  Box common;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const std::int64_t begin = std::max(a[d].begin, b[d].begin);
    const std::int64_t end = std::min(a[d].begin + a[d].size, b[d].begin + b[d].size);
    common.push_back({begin, std::max<std::int64_t>(end - begin, 0)});
  }
  return common;
}

// Those of `axes` that split no dimension of `spec`.
AxisNames Idle(const Spec& spec, const AxisNames& axes) {
  AxisNames idle;
  for (const std::string& axis : axes) {
    if (!spec.Uses(axis)) idle.push_back(axis);
  }
  return idle;
}

class PieceList {
 public:
  // The pieces lie in an array that holds `box`.
  explicit PieceList(const Box& box) : box_(box) {
    std::vector<std::int64_t> sizes;
    for (const Block& block : box) sizes.push_back(block.size);
    pieces_.whole = Shape(std::move(sizes));
    pieces_.are_runs = true;
  }

  void Add(const Box& part) {
    Box local;
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < part.size(); ++d) {
      local.push_back({part[d].begin - box_[d].begin, part[d].size});
      elements *= part[d].size;
    }
    if (elements == 0) local.assign(part.size(), Block{});
    pieces_.are_runs = pieces_.are_runs && (elements == 0 || BeginsRunAt(local, end_));
    end_ += elements;
    pieces_.at.push_back(std::move(local));
    pieces_.counts.push_back(elements);
  }
  void AddNothing() { Add(Box(box_.size())); }

  Pieces Take() { return std::move(pieces_); }

 private:
  // True if the piece is one run of memory that begins at element `position`.
  bool BeginsRunAt(const Box& piece, std::int64_t position) const {
    const Shape& whole = pieces_.whole;
    std::int64_t begin = 0;
    bool split = false;  // a dimension before has more than one index
    bool is_run = true;
    for (int d = 0; d < whole.rank(); ++d) {
      const Block& block = piece[static_cast<std::size_t>(d)];
      begin += block.begin * whole.elements(d + 1, whole.rank());
      is_run = is_run && (!split || block.size == whole[d]);
      split = split || block.size > 1;
    }
    return is_run && begin == position;
  }

  const Box& box_;
  Pieces pieces_;
  std::int64_t end_ = 0;
};

}  // namespace

std::int64_t Pieces::elements() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::int64_t BlockExchange::WorkspaceElements() const {
  return (sends.are_runs ? 0 : sends.elements()) + (receives.are_runs ? 0 : receives.elements());
}

BlockExchange ExchangeOf(const Spec& from, const Spec& to, const AxisNames& axes, const Mesh& mesh,
                         const DimSizes& sizes, std::int64_t rank) {
  const AxisNames idle_before = Idle(from, axes);
  const AxisNames idle_after = Idle(to, axes);
  assert(mesh.GroupSize(idle_before) == mesh.GroupSize(idle_after));
  const Box held = BoxOf(from, mesh, sizes, rank);
  const Box wanted = BoxOf(to, mesh, sizes, rank);
  const std::int64_t copy_held = mesh.IndexInGroup(rank, idle_before);
  const std::int64_t copy_wanted = mesh.IndexInGroup(rank, idle_after);
  PieceList sends(held);
  PieceList receives(wanted);
  for (const std::int64_t member : mesh.Group(rank, axes)) {
    const Box member_held = BoxOf(from, mesh, sizes, member);
    const bool alike = member_held == held;
    const auto serves = [&](std::int64_t copy, std::int64_t wanted_copy) {
      return alike ? member == rank : copy == wanted_copy;
    };
    if (serves(copy_held, mesh.IndexInGroup(member, idle_after))) {
      sends.Add(Common(held, BoxOf(to, mesh, sizes, member)));
    } else {
      sends.AddNothing();
    }
    if (serves(mesh.IndexInGroup(member, idle_before), copy_wanted)) {
      receives.Add(Common(member_held, wanted));
    } else {
      receives.AddNothing();
    }
  }
  return {sends.Take(), receives.Take()};
}

}  // namespace chorus
