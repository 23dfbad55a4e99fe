// Which indices a rank holds: blocks of split dimensions, local and global shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <vector>

#include "chorus/mesh/notation.h"
#include "chorus/mesh/spec.h"
#include "chorus/mesh/spelling.h"

namespace chorus {
namespace {

// Of 8 bytes each, twice as many (an all_reduce sends twice its bytes) still fit 63 bits.
constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

}  // namespace

Block SplitEvenly(std::int64_t size, std::int64_t parts, std::int64_t index) {
  assert(size >= 0 && 0 <= index && index < parts);
  const std::int64_t least = size / parts;
  const std::int64_t longer = size % parts;  // blocks with one index more
  return {index * least + std::min(index, longer), least + (index < longer ? 1 : 0)};
}

Block BlockOf(const AxisNames& axes, const Mesh& mesh, std::int64_t size, std::int64_t rank) {
  Block block{0, size};
  for (const std::string& axis : axes) {
    const Block inner = SplitEvenly(block.size, mesh.AxisSize(axis), mesh.IndexAlong(rank, axis));
    block = {block.begin + inner.begin, inner.size};
  }
  return block;
}

Shape LocalShape(const Spec& spec, const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  std::vector<std::int64_t> shape;
  shape.reserve(spec.dims().size());
  for (const SpecDim& dim : spec.dims()) {
    shape.push_back(BlockOf(dim.axes, mesh, sizes.at(dim.name), rank).size);
  }
  return Shape(std::move(shape));
}

Shape GlobalShape(const Spec& spec, const DimSizes& sizes) {
  std::vector<std::int64_t> shape;
  shape.reserve(spec.dims().size());
  for (const SpecDim& dim : spec.dims()) shape.push_back(sizes.at(dim.name));
  return Shape(std::move(shape));
}

Status CheckSizes(const Spec& spec, const DimSizes& sizes) {
  for (const SpecDim& dim : spec.dims()) {
    if (sizes.find(dim.name) == sizes.end()) {
      return InvalidArgument(NoSizeText(spec, dim.name, sizes, spec.DimNames()));
    }
  }
  std::int64_t elements = 1;
  for (const SpecDim& dim : spec.dims()) {
    const std::int64_t size = sizes.find(dim.name)->second;
    if (size < 0) {
      return InvalidArgument(fmt::format("dimension {} of {} has the size {}; give 0 or more",
                                         dim.name, spec.ToString(), size));
    }
    if (size > 0 && elements > kMostElements / size) {
      return InvalidArgument(
          fmt::format("{} with {} has more than 2^58 elements; give smaller sizes", spec.ToString(),
                      ToString(sizes)));
    }
    elements *= size;
  }
  return OkStatus();
}

Result<DimSizes> ParseDimSizes(std::string_view text) {
  Scanner scanner(text);
  DimSizes sizes;
  while (!scanner.AtEnd()) {
    if (!sizes.empty() && !AcceptComma(scanner)) {
      return scanner.Error("sizes are separated by commas, like I=1024,J=7");
    }
    const std::size_t begin = scanner.position();
    const std::string name(ScanDimName(scanner));
    if (name.empty()) {
      return scanner.ErrorAt(begin, "a dimension and its size is missing here, like I=1024");
    }
    if (!scanner.Accept("=")) {
      return scanner.Error(fmt::format("dimension {} needs a size, like {}=1024", name, name));
    }
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t size,
                            scanner.TakeCount(fmt::format("the size of dimension {}", name)));
    const char next = scanner.Peek();
    if (next == '.' || std::isalnum(static_cast<unsigned char>(next)) != 0) {
      return scanner.Error(fmt::format(
          "the size of dimension {} is a whole number, written in digits alone, like 7000000000",
          name));
    }
    if (!sizes.emplace(name, size).second) {
      return scanner.ErrorAt(begin, fmt::format("dimension {} is given twice, with size {} and {}",
                                                name, sizes.at(name), size));
    }
  }
  return sizes;
}

std::string ToString(const DimSizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, size);
  }
  return text;
}

}  // namespace chorus
