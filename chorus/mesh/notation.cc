#include "chorus/mesh/notation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace chorus {
namespace {

constexpr bool IsNameChar(char c) { return IsAlnum(c) || c == '_' || c == '.' || c == '\''; }

// An axis that was read, and where it stood.
struct SeenAxis {
  std::string axis;
  std::size_t position;
  std::size_t place;  // number of the dimension, kInPartial in {U}
};
constexpr std::size_t kInPartial = static_cast<std::size_t>(-1);

// The parts of a spec as they are read, before it is known whether an axis is used twice.
struct RawSpec {
  std::string name;
  std::vector<SpecDim> dims;
  AxisNames partial;
  std::vector<SeenAxis> seen;

  std::string PlaceName(std::size_t place) const {
    return place == kInPartial ? "among the partial axes {U}" : "on dimension " + dims[place].name;
  }
};

// Takes the axes of one place of a spec.
Result<AxisNames> ScanSpecAxes(Scanner& scanner, std::size_t place, std::vector<SeenAxis>& seen) {
  std::size_t position = scanner.position();
  CHORUS_ASSIGN_OR_RETURN(AxisNames axes, ScanAxes(scanner));
  for (const std::string& axis : axes) {
    seen.push_back({axis, position, place});
    position += axis.size();
  }
  return axes;
}

// `raw` with the last `axis` of one place taken away; "" if that is no spec either.
std::string WithoutAxis(RawSpec raw, const SeenAxis& away) {
  AxisNames& axes = away.place == kInPartial ? raw.partial : raw.dims[away.place].axes;
  const auto last = std::find(axes.rbegin(), axes.rend(), away.axis);
  axes.erase(std::next(last).base());
  const Result<Spec> spec = Spec::Create(raw.name, std::move(raw.dims), std::move(raw.partial));
  return spec.ok() ? spec->ToString() : "";
}

// An axis at two places: the first such pair, the later place second.
struct UsedTwice {
  const SeenAxis* one = nullptr;  // null: there is none
  const SeenAxis* two = nullptr;
};

UsedTwice FindUsedTwice(const RawSpec& raw) {
  for (std::size_t second = 1; second < raw.seen.size(); ++second) {
    for (std::size_t first = 0; first < second; ++first) {
      if (raw.seen[first].axis == raw.seen[second].axis) {
        return {&raw.seen[first], &raw.seen[second]};
      }
    }
  }
  return {};
}

// What each of the two places alone would look like, as far as that is legal.
std::vector<std::string> LegalSpellings(const RawSpec& raw, const UsedTwice& used) {
  std::vector<std::string> legal;
  for (const SeenAxis* away : {used.two, used.one}) {
    std::string spelling = WithoutAxis(raw, *away);
    if (spelling.empty() || (!legal.empty() && legal[0] == spelling)) continue;
    legal.push_back(std::move(spelling));
  }
  return legal;
}

// Error if an axis is used twice: names both places, points at the second, and shows what each of
// them alone would look like.
Status CheckUsedOnce(const Scanner& scanner, const RawSpec& raw) {
  const UsedTwice used = FindUsedTwice(raw);
  if (used.one == nullptr) return OkStatus();
  const std::vector<std::string> legal = LegalSpellings(raw, used);
  return scanner.ErrorAt(
      used.two->position,
      fmt::format("axis {} is used twice: {} (character {}) and {} (character {}); an axis can "
                  "be used once{}{}",
                  used.two->axis, raw.PlaceName(used.one->place), used.one->position + 1,
                  raw.PlaceName(used.two->place), used.two->position + 1,
                  legal.empty() ? "" : ", so write ", fmt::join(legal, " or ")));
}

Result<SpecDim> ScanDim(Scanner& scanner, RawSpec& raw) {
  const std::size_t begin = scanner.position();
  SpecDim dim{std::string(ScanDimName(scanner)), {}};
  if (dim.name.empty()) {
    return scanner.ErrorAt(begin,
                           "a dimension is missing here: a name of letters and digits, "
                           "then the axes that split it, like J_YZ");
  }
  for (const SpecDim& other : raw.dims) {
    if (other.name == dim.name) {
      return scanner.ErrorAt(begin, fmt::format("dimension {} is given twice; dimensions of one "
                                                "array need different names",
                                                dim.name));
    }
  }
  if (scanner.Accept("_")) {
    CHORUS_ASSIGN_OR_RETURN(dim.axes, ScanSpecAxes(scanner, raw.dims.size(), raw.seen));
  }
  return dim;
}

// The notation, before it is known whether an axis is used twice.
Result<RawSpec> ScanRawSpec(Scanner& scanner) {
  RawSpec raw;
  raw.name = std::string(ScanValueName(scanner));
  if (!scanner.Accept("[")) {
    return scanner.Error("an array needs its dimensions in brackets, like A[I_X, J]");
  }
  while (!scanner.Accept("]")) {
    if (!raw.dims.empty() && !scanner.Accept(",")) {
      return scanner.Error("the dimensions of an array are separated by commas and closed by ']'");
    }
    CHORUS_ASSIGN_OR_RETURN(SpecDim dim, ScanDim(scanner, raw));
    raw.dims.push_back(std::move(dim));
  }
  if (scanner.Accept("{")) {
    if (!scanner.Accept("U_")) {
      return scanner.Error("partial axes are written {U_X}: a sum over axis X still to be done");
    }
    CHORUS_ASSIGN_OR_RETURN(raw.partial, ScanSpecAxes(scanner, kInPartial, raw.seen));
    if (!scanner.Accept("}")) return scanner.Error("'}' is missing here");
  }
  return raw;
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
  CHORUS_ASSIGN_OR_RETURN(RawSpec raw, ScanRawSpec(scanner));
  CHORUS_RETURN_IF_ERROR(CheckUsedOnce(scanner, raw));
  return Spec::Create(std::move(raw.name), std::move(raw.dims), std::move(raw.partial));
}

std::vector<std::string> SpellingsOf(std::string_view text) {
  Scanner scanner(text);
  const Result<RawSpec> raw = ScanRawSpec(scanner);
  if (!raw.ok()) return {};
  const UsedTwice used = FindUsedTwice(*raw);
  if (used.one == nullptr) return {};
  return LegalSpellings(*raw, used);
}

std::size_t FindAxisIn(std::string_view text, std::string_view axis) {
  Scanner scanner(text);
  const Result<RawSpec> raw = ScanRawSpec(scanner);
  if (!raw.ok()) return std::string_view::npos;
  for (const SeenAxis& seen : raw->seen) {
    if (seen.axis == axis) return seen.position;
  }
  return std::string_view::npos;
}

}  // namespace chorus
