#include "chorus/mesh/mesh.h"

#include <fmt/format.h>

#include <cassert>
#include <limits>
#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"

namespace chorus {

Result<Mesh> Mesh::Create(std::vector<MeshAxis> axes) {
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const MeshAxis& axis = axes[i];
    Scanner scanner(axis.name);
    if (ScanAxisName(scanner) != axis.name || axis.name.empty()) {
      return InvalidArgument(fmt::format("'{}' is no axis name: {}", axis.name, kAxisNameRule));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (axes[j].name == axis.name) {
        return InvalidArgument(fmt::format("mesh axis {} is given twice, with size {} and with {}",
                                           axis.name, axes[j].size, axis.size));
      }
    }
    if (axis.size < 1) {
      return InvalidArgument(
          fmt::format("mesh axis {} has size {}, it must be at least 1", axis.name, axis.size));
    }
    if (axis.size > std::numeric_limits<std::int32_t>::max() / ranks) {
      return InvalidArgument(fmt::format(
          "mesh axis {} of size {} brings the mesh above 2^31-1 ranks", axis.name, axis.size));
    }
    ranks *= axis.size;
  }
  Mesh mesh;
  mesh.axes_ = std::move(axes);
  return mesh;
}

Result<Mesh> Mesh::Parse(std::string_view text) {
  Scanner scanner(text);
  std::vector<MeshAxis> axes;
  while (!scanner.AtEnd()) {
    if (!axes.empty() && !AcceptComma(scanner)) {
      return scanner.Error("a mesh is axes with their sizes, separated by commas, like X=2,Y=2");
    }
    const std::size_t begin = scanner.position();
    MeshAxis axis;
    axis.name = std::string(ScanAxisName(scanner));
    if (axis.name.empty()) {
      return scanner.ErrorAt(begin, fmt::format("a mesh axis is missing here: {}", kAxisNameRule));
    }
    if (!scanner.Accept("=")) {
      return scanner.Error(fmt::format("axis {} needs a size, like {}=4", axis.name, axis.name));
    }
    CHORUS_ASSIGN_OR_RETURN(axis.size,
                            scanner.TakeCount(fmt::format("the size of axis {}", axis.name)));
    axes.push_back(std::move(axis));
    const Result<Mesh> so_far = Create(axes);
    if (!so_far.ok()) return scanner.ErrorAt(begin, so_far.status().message());
  }
  return Create(std::move(axes));
}

std::int64_t Mesh::size() const {
  std::int64_t ranks = 1;
  for (const MeshAxis& axis : axes_) ranks *= axis.size;
  return ranks;
}

std::size_t Mesh::IndexOf(std::string_view axis) const {
  std::size_t i = 0;
  while (i < axes_.size() && axes_[i].name != axis) ++i;
  return i;
}

bool Mesh::HasAxis(std::string_view axis) const { return IndexOf(axis) < axes_.size(); }

std::int64_t Mesh::AxisSize(std::string_view axis) const {
  assert(HasAxis(axis));
  return axes_[IndexOf(axis)].size;
}

std::int64_t Mesh::GroupSize(const AxisNames& axes) const {
  std::int64_t ranks = 1;
  for (const std::string& axis : axes) ranks *= AxisSize(axis);
  return ranks;
}

std::vector<std::int64_t> Mesh::Coordinates(std::int64_t rank) const {
  assert(0 <= rank && rank < size());
  std::vector<std::int64_t> coordinates(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    coordinates[i] = rank % axes_[i].size;
    rank /= axes_[i].size;
  }
  return coordinates;
}

std::int64_t Mesh::RankOf(const std::vector<std::int64_t>& coordinates) const {
  assert(coordinates.size() == axes_.size());
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) rank = rank * axes_[i].size + coordinates[i];
  return rank;
}

std::vector<std::int64_t> Mesh::Group(std::int64_t rank, const AxisNames& axes) const {
  // The first member, and then, axis by axis, the ranks that differ from those so far.
  std::vector<std::int64_t> members(1, rank);
  members.reserve(GroupSize(axes));
  std::vector<std::int64_t> strides;
  for (const std::string& axis : axes) {
    std::int64_t stride = 1;
    for (std::size_t i = axes_.size() - 1; axes_[i].name != axis; --i) stride *= axes_[i].size;
    strides.push_back(stride);
    members[0] -= IndexAlong(rank, axis) * stride;
  }
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::size_t so_far = members.size();
    for (std::int64_t step = 1; step < AxisSize(axes[i]); ++step) {
      for (std::size_t k = 0; k < so_far; ++k) members.push_back(members[k] + step * strides[i]);
    }
  }
  return members;
}

std::int64_t Mesh::IndexAlong(std::int64_t rank, std::string_view axis) const {
  assert(0 <= rank && rank < size() && HasAxis(axis));
  std::size_t i = axes_.size() - 1;
  for (; axes_[i].name != axis; --i) rank /= axes_[i].size;
  return rank % axes_[i].size;
}

std::int64_t Mesh::IndexInGroup(std::int64_t rank, const AxisNames& axes) const {
  std::int64_t index = 0;
  for (const std::string& axis : axes) index = index * AxisSize(axis) + IndexAlong(rank, axis);
  return index;
}

std::string Mesh::ToString() const {
  std::string text;
  for (const MeshAxis& axis : axes_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

std::string JoinAxes(const AxisNames& axes) {
  std::string text;
  for (const std::string& axis : axes) text += axis;
  return text;
}

}  // namespace chorus
