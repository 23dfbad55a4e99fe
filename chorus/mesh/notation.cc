#include "chorus/mesh/notation.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace chorus {
namespace {

constexpr bool IsNameChar(char c) { return IsAlnum(c) || c == '_' || c == '.' || c == '\''; }

// An axis that was read, and where it stood.
struct SeenAxis {
  std::string axis;
  std::size_t position;
  std::string place;
};

// Takes the axes of one place of a spec and refuses one that was seen before.
Result<AxisNames> ScanSpecAxes(Scanner& scanner, const std::string& place,
                               std::vector<SeenAxis>& seen) {
  const std::size_t begin = scanner.position();
  CHORUS_ASSIGN_OR_RETURN(AxisNames axes, ScanAxes(scanner));
  std::size_t position = begin;
  for (const std::string& axis : axes) {
    for (const SeenAxis& other : seen) {
      if (other.axis == axis) {
        return scanner.ErrorAt(
            position, fmt::format("axis {} is used twice: {} (character {}) and {} (character {}); "
                                  "an axis can be used once, so gather one of them",
                                  axis, other.place, other.position + 1, place, position + 1));
      }
    }
    seen.push_back({axis, position, place});
    position += axis.size();
  }
  return axes;
}

Result<SpecDim> ScanDim(Scanner& scanner, const std::vector<SpecDim>& before,
                        std::vector<SeenAxis>& seen) {
  const std::size_t begin = scanner.position();
  SpecDim dim{std::string(ScanDimName(scanner)), {}};
  if (dim.name.empty()) {
    return scanner.ErrorAt(begin,
                           "a dimension is missing here: a name of letters and digits, "
                           "then the axes that split it, like J_YZ");
  }
  for (const SpecDim& other : before) {
    if (other.name == dim.name) {
      return scanner.ErrorAt(begin, fmt::format("dimension {} is given twice; dimensions of one "
                                                "array need different names",
                                                dim.name));
    }
  }
  if (scanner.Accept("_")) {
    CHORUS_ASSIGN_OR_RETURN(dim.axes,
                            ScanSpecAxes(scanner, fmt::format("on dimension {}", dim.name), seen));
  }
  return dim;
}

}  // namespace

std::string_view ScanAxisName(Scanner& scanner) {
  return scanner.TakeWord(IsUpper, [](char c) { return IsLower(c) || IsDigit(c); });
}

Result<AxisNames> ScanAxes(Scanner& scanner) {
  const std::size_t begin = scanner.position();
  AxisNames axes;
  for (std::string_view axis = ScanAxisName(scanner); !axis.empty(); axis = ScanAxisName(scanner)) {
    axes.emplace_back(axis);
  }
  if (axes.empty()) {
    return scanner.ErrorAt(begin, fmt::format("a mesh axis is missing here: {}", kAxisNameRule));
  }
  return axes;
}

std::string_view ScanValueName(Scanner& scanner) {
  scanner.Peek();  // skips blanks
  return scanner.TakeWhile(IsNameChar);
}

std::string_view ScanDimName(Scanner& scanner) {
  scanner.Peek();
  return scanner.TakeWhile(IsAlnum);
}

Result<Spec> ScanSpec(Scanner& scanner) {
  std::string name(ScanValueName(scanner));
  if (!scanner.Accept("[")) {
    return scanner.Error("an array needs its dimensions in brackets, like A[I_X, J]");
  }
  std::vector<SeenAxis> seen;
  std::vector<SpecDim> dims;
  while (!scanner.Accept("]")) {
    if (!dims.empty() && !scanner.Accept(",")) {
      return scanner.Error("the dimensions of an array are separated by commas and closed by ']'");
    }
    CHORUS_ASSIGN_OR_RETURN(SpecDim dim, ScanDim(scanner, dims, seen));
    dims.push_back(std::move(dim));
  }
  AxisNames partial;
  if (scanner.Accept("{")) {
    if (!scanner.Accept("U_")) {
      return scanner.Error("partial axes are written {U_X}: a sum over axis X still to be done");
    }
    CHORUS_ASSIGN_OR_RETURN(partial, ScanSpecAxes(scanner, "among the partial axes {U}", seen));
    if (!scanner.Accept("}")) return scanner.Error("'}' is missing here");
  }
  return Spec::Create(std::move(name), std::move(dims), std::move(partial));
}

}  // namespace chorus
