// Mesh: ranks laid out in a box with named axes.
//
//   Mesh::Parse("X=2,Y=2"), ranks row-major, d = 2x + y:
//
//            y=0  y=1
//       x=0 [ 0 ][ 1 ]     Group(0, {"X"}) = {0, 2}
//       x=1 [ 2 ][ 3 ]     Group(0, {"X", "Y"}) = {0, 1, 2, 3}
//
// An axis is named by one capital letter followed by lower-case letters and digits (X, Dp, Tp2), so
// that a run of names such as YZ or DpTp can be read without separators.
// Thread safety: immutable value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

// Names of mesh axes, major to minor.
using AxisNames = std::vector<std::string>;

struct MeshAxis {
  std::string name;
  std::int64_t size = 1;  // ranks along this axis, >= 1

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

class Mesh {
 public:
  Mesh() = default;  // no axes: one rank

  // Errors: a name that is no axis name, a name used twice, a size < 1, more than 2^31-1 ranks.
  static Result<Mesh> Create(std::vector<MeshAxis> axes);
  // Reads "X=2,Y=2"; "" is the mesh of one rank. Errors as Create, pointing at the character.
  static Result<Mesh> Parse(std::string_view text);

  // Major to minor.
  const std::vector<MeshAxis>& axes() const { return axes_; }
  // Number of ranks: the product of all axis sizes.
  std::int64_t size() const;

  bool HasAxis(std::string_view axis) const;
  // REQUIRES: HasAxis(axis).
  std::int64_t AxisSize(std::string_view axis) const;
  // Ranks in a group over `axes`: the product of their sizes, 1 for none. REQUIRES: all are here.
  std::int64_t GroupSize(const AxisNames& axes) const;

  // Coordinates of `rank`, one an axis, in the order of axes(). REQUIRES: 0 <= rank < size().
  std::vector<std::int64_t> Coordinates(std::int64_t rank) const;
  // The inverse. REQUIRES: one coordinate an axis, each inside it.
  std::int64_t RankOf(const std::vector<std::int64_t>& coordinates) const;
  // Where `rank` stands along `axis`. REQUIRES: 0 <= rank < size(), HasAxis(axis).
  std::int64_t IndexAlong(std::int64_t rank, std::string_view axis) const;

  // The ranks that differ from `rank` only along `axes`, itself included. Member k is the one whose
  // coordinates along `axes`, read major to minor in the order given, count to k.
  // REQUIRES: axes are here and differ.
  std::vector<std::int64_t> Group(std::int64_t rank, const AxisNames& axes) const;
  // Where `rank` stands in Group(rank, axes).
  std::int64_t IndexInGroup(std::int64_t rank, const AxisNames& axes) const;

  std::string ToString() const;  // "X=2,Y=2"

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::size_t IndexOf(std::string_view axis) const;  // axes_.size() if absent

  std::vector<MeshAxis> axes_;
};

// "XY": names run together, as in a subscript.
std::string JoinAxes(const AxisNames& axes);

}  // namespace chorus
