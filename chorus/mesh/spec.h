// Spec: how an array with named dimensions lies on a mesh.
//
//   A[I_X, J_YZ]{U_W}
//     dimension I is split over axis X, J over Y and then Z (Y major), the array is repeated along
//     every axis not named, and it is still a sum over W to be done: the true array is the sum of
//     what the ranks along W hold ("partial").
//
// An axis is used at most once in a spec: on one dimension or among the partial axes.
// Thread safety: immutable value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"

namespace chorus {

// Sizes of dimensions in elements, global (over all ranks), by name.
using DimSizes = std::map<std::string, std::int64_t, std::less<>>;

// One dimension of a spec.
struct SpecDim {
  std::string name;
  AxisNames axes;  // that split it, major to minor; none: every rank has all of it

  friend bool operator==(const SpecDim&, const SpecDim&) = default;
};

class Spec {
 public:
  Spec() = default;  // a whole scalar without a name

  // Errors: a dimension without a name or given twice, an axis used twice (both places are named).
  static Result<Spec> Create(std::string name, std::vector<SpecDim> dims, AxisNames partial = {});
  // Every dimension whole. REQUIRES: names that Create accepts.
  static Spec Whole(std::string name, const std::vector<std::string>& dims);
  // Reads the notation. Errors point at the character.
  static Result<Spec> Parse(std::string_view text);

  const std::string& name() const { return name_; }  // "" if it has none
  const std::vector<SpecDim>& dims() const { return dims_; }
  const AxisNames& partial() const { return partial_; }

  std::vector<std::string> DimNames() const;
  // Position of the dimension, -1 if there is none of that name.
  int FindDim(std::string_view dim) const;
  // Axes that split `dim`; none if there is no such dimension.
  const AxisNames& AxesOf(std::string_view dim) const;
  bool IsPartial(std::string_view axis) const;
  // True if the axis splits a dimension or is partial.
  bool Uses(std::string_view axis) const;

  Spec WithName(std::string name) const;
  // Errors as Create.
  Result<Spec> WithAxes(std::string_view dim, AxisNames axes) const;
  Result<Spec> WithPartial(AxisNames partial) const;

  // Error if an axis is not on the mesh; the message lists the mesh.
  Status Check(const Mesh& mesh) const;

  std::string ToString() const;  // "A[I_X, J_YZ]{U_W}"

  // Equal name, dimensions and axes. The order of partial axes has no meaning; it is kept sorted.
  friend bool operator==(const Spec&, const Spec&) = default;
  // Equal but for the name.
  bool SameLayout(const Spec& other) const {
    return dims_ == other.dims_ && partial_ == other.partial_;
  }

 private:
  std::string name_;
  std::vector<SpecDim> dims_;
  AxisNames partial_;
};

// A run of indices of one dimension: [begin, begin + size).
struct Block {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  friend bool operator==(const Block&, const Block&) = default;
};

// Block `index` of `parts` blocks of `size` indices, the first size mod parts one longer.
// REQUIRES: 0 <= index < parts, size >= 0.
Block SplitEvenly(std::int64_t size, std::int64_t parts, std::int64_t index);

// The indices of a dimension of global size `size` that `rank` holds when `axes` split it. Each
// axis in the order written splits the block that the axes before it left, so A[I_XY] -> A[I_X]
// always joins whole neighbours. Blocks may be empty. REQUIRES: axes are on the mesh.
Block BlockOf(const AxisNames& axes, const Mesh& mesh, std::int64_t size, std::int64_t rank);

// Shape of what `rank` holds, and of the whole. REQUIRES: spec.Check(mesh) and CheckSizes are ok.
Shape LocalShape(const Spec& spec, const Mesh& mesh, const DimSizes& sizes, std::int64_t rank);
Shape GlobalShape(const Spec& spec, const DimSizes& sizes);

// Error if a dimension of the spec has no size, naming the dimension and the sizes there are, or a
// negative one, or if the whole array has more than 2^58 elements, whose bytes would not be counted
// in 64 bits.
Status CheckSizes(const Spec& spec, const DimSizes& sizes);

// Reads "I=1024,J=7". Errors point at the character.
Result<DimSizes> ParseDimSizes(std::string_view text);
std::string ToString(const DimSizes& sizes);

}  // namespace chorus
