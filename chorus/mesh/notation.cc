#include "chorus/mesh/notation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "chorus/mesh/spelling.h"

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
  std::vector<std::size_t> dim_positions;
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

// The uses of the first axis that is used more than once, in order; empty if there is none.
std::vector<std::size_t> FindUsedAgain(const RawSpec& raw) {
  const auto uses = [&raw](std::size_t of) {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < raw.seen.size(); ++k) {
      if (raw.seen[k].axis == raw.seen[of].axis) found.push_back(k);
    }
    return found;
  };
  for (std::size_t k = 0; k < raw.seen.size(); ++k) {
    std::vector<std::size_t> found = uses(k);
    if (found.size() > 1) return found;
  }
  return {};
}

// `raw` with the axis of use `kept` there alone, and every other axis that is used more than once
// at the same place if it is there too, else where it comes first.
std::string WithUse(const RawSpec& raw, std::size_t kept) {
  const auto place_of = [&](const std::string& axis) {
    std::size_t stays = raw.seen.size();
    for (std::size_t k = raw.seen.size(); k-- > 0;) {
      if (raw.seen[k].axis != axis) continue;
      const bool was_beside =
          stays < raw.seen.size() && raw.seen[stays].place == raw.seen[kept].place;
      if (!was_beside || raw.seen[k].place == raw.seen[kept].place) stays = k;
    }
    return axis == raw.seen[kept].axis ? kept : stays;
  };
  std::vector<SpecDim> dims = raw.dims;
  AxisNames partial;
  for (SpecDim& dim : dims) dim.axes.clear();
  for (std::size_t k = 0; k < raw.seen.size(); ++k) {
    const SeenAxis& use = raw.seen[k];
    if (place_of(use.axis) != k) continue;
    (use.place == kInPartial ? partial : dims[use.place].axes).push_back(use.axis);
  }
  return Spec::Create(raw.name, std::move(dims), std::move(partial))->ToString();
}

// What each of the uses alone would look like.
std::vector<std::string> LegalSpellings(const RawSpec& raw, const std::vector<std::size_t>& uses) {
  std::vector<std::string> legal;
  for (const std::size_t use : uses) {
    std::string spelling = WithUse(raw, use);
    if (std::find(legal.begin(), legal.end(), spelling) == legal.end()) {
      legal.push_back(std::move(spelling));
    }
  }
  return legal;
}

// Error if an axis is used more than once: names all places, points at the second, and shows what
// each of them alone would look like.
Status CheckUsedOnce(const Scanner& scanner, const RawSpec& raw) {
  const std::vector<std::size_t> uses = FindUsedAgain(raw);
  if (uses.empty()) return OkStatus();
  std::string places;
  for (std::size_t k = 0; k < uses.size(); ++k) {
    const SeenAxis& use = raw.seen[uses[k]];
    const bool last = k + 1 == uses.size();
    places += fmt::format("{}{} (character {})",
                          k == 0 ? ""
                          : last ? " and "
                                 : ", ",
                          raw.PlaceName(use.place), CharacterAt(scanner, use.position));
  }
  const SeenAxis& second = raw.seen[uses[1]];
  return scanner.ErrorAt(
      second.position,
      fmt::format("axis {} is used {}: {}; an axis can be used once, so write {}", second.axis,
                  uses.size() == 2 ? "twice" : fmt::format("{} times", uses.size()), places,
                  fmt::join(LegalSpellings(raw, uses), " or ")));
}

Result<SpecDim> ScanDim(Scanner& scanner, RawSpec& raw) {
  const std::size_t begin = scanner.position();
  SpecDim dim{std::string(ScanDimName(scanner)), {}};
  if (dim.name.empty()) {
    return scanner.ErrorAt(begin,
                           "a dimension is missing here: a name of letters and digits, "
                           "then the axes that split it, like J_YZ");
  }
  for (std::size_t d = 0; d < raw.dims.size(); ++d) {
    if (raw.dims[d].name != dim.name) continue;
    return scanner.ErrorAt(
        begin, fmt::format("dimension {} is given twice; dimensions of one array need different "
                           "names (characters {} and {})",
                           dim.name, CharacterAt(scanner, raw.dim_positions[d]),
                           CharacterAt(scanner, begin)));
  }
  raw.dim_positions.push_back(begin);
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
    if (!raw.dims.empty() && !AcceptComma(scanner)) {
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
    if (Scanner next = scanner; AcceptComma(next)) {
      return scanner.Error("partial axes are written together, like {U_XY}");
    }
    if (!scanner.Accept("}")) return scanner.Error("'}' is missing here");
    if (scanner.Peek() == '{') {
      return scanner.Error("partial axes are written together, like {U_XY}");
    }
  }
  return raw;
}

}  // namespace

bool AcceptComma(Scanner& scanner) {
  return scanner.Accept(",") || scanner.Accept("\uff0c") || scanner.Accept("\u3001");
}

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
  Scanner line = scanner;
  Result<RawSpec> read = ScanRawSpec(scanner);
  if (!read.ok()) {
    const LooseSpec meant = ReadLoosely(line.TakeLine());
    if (!meant.IsOfUse()) return read.status();
    return WithSpelling(read.status(), meant.spec.ToString());
  }
  RawSpec raw = *std::move(read);
  CHORUS_RETURN_IF_ERROR(CheckUsedOnce(scanner, raw));
  return Spec::Create(std::move(raw.name), std::move(raw.dims), std::move(raw.partial));
}

std::vector<std::string> SpellingsOf(std::string_view text) {
  if (Spec::Parse(text).ok()) return {};
  Scanner scanner(text);
  const Result<RawSpec> raw = ScanRawSpec(scanner);
  if (raw.ok()) {
    const std::vector<std::size_t> uses = FindUsedAgain(*raw);
    if (!uses.empty()) return LegalSpellings(*raw, uses);
  }
  const LooseSpec meant = ReadLoosely(text);
  if (!meant.IsOfUse()) return {};
  return {meant.spec.ToString()};
}

std::size_t CharacterAt(const Scanner& scanner, std::size_t position) {
  const ErrorPlace place = *PlaceOf(scanner.ErrorAt(position, "here"));
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return 1 + static_cast<std::size_t>(std::count_if(
                 place.line.begin(), place.line.begin() + static_cast<std::ptrdiff_t>(place.column),
                 begins));
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
