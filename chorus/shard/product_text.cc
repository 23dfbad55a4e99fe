// The text of products: reading it, and pointing at what is wrong in it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"
#include "chorus/mesh/spelling.h"
#include "chorus/shard/product.h"
#include "chorus/shard/spelling.h"

namespace chorus {
namespace {

// What may be written for a product and before its result, the signs of papers included.
constexpr std::string_view kTimes[] = {"*", ".", "\u00b7", "\u00d7", "\u22c5", "\u2217", "\uff0a"};
constexpr std::string_view kArrows[] = {"->", "\u2192", "\u27f6"};

constexpr std::string_view kForm = "a product is written A[I, J] * B[J, K] -> C[I, K]";

// A spec and where its parts stand in the text.
struct SpecInText {
  Spec spec;
  std::size_t begin = 0;
  std::vector<std::size_t> dims;  // of each dimension
  std::size_t partial = 0;        // of "{U_..}", or its end if there is none
};

// A product as it is written.
struct ProductText {
  std::vector<SpecInText> operands;
  std::optional<SpecInText> result;
};

// Reads one spec. The places are found by reading its dimensions once more.
Result<SpecInText> ScanLocated(Scanner& scanner) {
  SpecInText located;
  located.begin = scanner.position();
  Scanner again = scanner;
  CHORUS_ASSIGN_OR_RETURN(located.spec, ScanSpec(scanner));
  ScanValueName(again);
  again.Accept("[");
  while (!again.Accept("]")) {
    AcceptComma(again);
    located.dims.push_back(again.position());
    ScanDimName(again);
    if (again.Accept("_")) CHORUS_RETURN_IF_ERROR(ScanAxes(again).status());
  }
  located.partial = again.position();
  return located;
}

template <std::size_t N>
bool AcceptOneOf(Scanner& scanner, const std::string_view (&signs)[N]) {
  return std::any_of(std::begin(signs), std::end(signs),
                     [&scanner](std::string_view sign) { return scanner.Accept(sign); });
}

std::string Letter(std::size_t k) { return std::string(1, static_cast<char>('A' + k)); }

Status CheckNames(const Scanner& scanner, const std::vector<SpecInText>& arrays) {
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    for (std::size_t before = 0; before < k; ++before) {
      if (arrays[k].spec.name() != arrays[before].spec.name()) continue;
      return scanner.ErrorAt(
          arrays[k].begin,
          fmt::format("two arrays are called {} (characters {} and {}); give them different names",
                      arrays[k].spec.name(), CharacterAt(scanner, arrays[before].begin),
                      CharacterAt(scanner, arrays[k].begin)));
    }
  }
  return OkStatus();
}

// Error if the line ends here and the text goes on.
Status CheckLineGoesOn(Scanner& scanner) {
  if (scanner.Peek() != '\n' && scanner.Peek() != '\r') return OkStatus();
  return scanner.Error("a product is written on one line, but this one ends here");
}

// A product, read; errors without a spelling where the whole of it would have to be shown.
Result<ProductText> ReadParts(Scanner& scanner) {
  ProductText text;
  do {
    CHORUS_RETURN_IF_ERROR(CheckLineGoesOn(scanner));
    if (scanner.Peek() == '(') {
      return scanner.Error("the planner chooses the order of a chain; leave parentheses out");
    }
    CHORUS_ASSIGN_OR_RETURN(SpecInText operand, ScanLocated(scanner));
    if (operand.spec.name().empty()) {
      operand.spec = operand.spec.WithName(Letter(text.operands.size()));
    }
    text.operands.push_back(std::move(operand));
    if (text.operands.size() > kMostOperands) {
      return scanner.ErrorAt(
          text.operands.back().begin,
          fmt::format("a chain has at most {} operands; multiply the first {} and go on from the "
                      "result",
                      kMostOperands, kMostOperands));
    }
  } while (AcceptOneOf(scanner, kTimes));
  CHORUS_RETURN_IF_ERROR(CheckLineGoesOn(scanner));
  if (text.operands.size() == 1) {
    return scanner.Error(fmt::format("{}: '*' is missing here", kForm));
  }
  std::vector<SpecInText> arrays = text.operands;
  if (AcceptOneOf(scanner, kArrows)) {
    CHORUS_RETURN_IF_ERROR(CheckLineGoesOn(scanner));
    CHORUS_ASSIGN_OR_RETURN(SpecInText result, ScanLocated(scanner));
    if (result.spec.name().empty()) {
      result.spec = result.spec.WithName(Letter(std::max<std::size_t>(2, arrays.size())));
    }
    arrays.push_back(result);
    text.result = std::move(result);
  }
  if (!scanner.AtEnd()) {
    return scanner.Error(fmt::format("the product ends before this; {}", kForm));
  }
  CHORUS_RETURN_IF_ERROR(CheckNames(scanner, arrays));
  return text;
}

// Operands that have `dim`.
std::int64_t Holders(const ProductText& text, const std::string& dim) {
  return std::count_if(
      text.operands.begin(), text.operands.end(),
      [&dim](const SpecInText& operand) { return operand.spec.FindDim(dim) >= 0; });
}

// The dimensions of a result that is not written: those in one operand only.
std::vector<std::string> KeptDims(const ProductText& text) {
  std::vector<std::string> dims;
  for (const SpecInText& operand : text.operands) {
    for (const std::string& dim : operand.spec.DimNames()) {
      if (Holders(text, dim) == 1) dims.push_back(dim);
    }
  }
  return dims;
}

// The partial axes of the written result over which it can be a sum: all if a dimension is summed,
// which an axis may split; else those over which an operand is a sum.
AxisNames PossibleSums(const ProductText& text) {
  AxisNames possible;
  for (const std::string& axis : text.result->spec.partial()) {
    const auto comes_out = [&](const SpecInText& operand) {
      const std::vector<std::string> dims = operand.spec.DimNames();
      return operand.spec.IsPartial(axis) ||
             std::any_of(dims.begin(), dims.end(), [&text](const std::string& dim) {
               return text.result->spec.FindDim(dim) < 0 && Holders(text, dim) > 1;
             });
    };
    if (std::any_of(text.operands.begin(), text.operands.end(), comes_out))
      possible.push_back(axis);
  }
  return possible;
}

// The written result with what it lacks and without what no operand has.
std::string LegalResult(const ProductText& text) {
  const Spec& written = text.result->spec;
  std::vector<SpecDim> dims;
  for (const SpecDim& dim : written.dims()) {
    if (Holders(text, dim.name) > 0) dims.push_back(dim);
  }
  for (const std::string& dim : KeptDims(text)) {
    if (written.FindDim(dim) < 0) dims.push_back({dim, {}});
  }
  return "-> " + Spec::Create(written.name(), std::move(dims), PossibleSums(text))->ToString();
}

// Every dimension must be kept (an operand and the result) or summed (two operands).
Status CheckDims(const Scanner& scanner, const ProductText& text) {
  const SpecInText& result = *text.result;
  for (const SpecInText& operand : text.operands) {
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const std::string& dim = operand.spec.dims()[d].name;
      if (result.spec.FindDim(dim) >= 0 || Holders(text, dim) > 1) continue;
      return scanner.ErrorAt(
          operand.dims[d],
          fmt::format("dimension {} is in {} (character {}) alone: what the result {} (character "
                      "{}) lacks is summed, and a sum needs it in two operands; write {}",
                      dim, operand.spec.name(), CharacterAt(scanner, operand.dims[d]),
                      result.spec.name(), CharacterAt(scanner, result.begin), LegalResult(text)));
    }
  }
  for (std::size_t d = 0; d < result.dims.size(); ++d) {
    const std::string& dim = result.spec.dims()[d].name;
    if (Holders(text, dim) > 0) continue;
    return scanner.ErrorAt(
        result.dims[d],
        fmt::format(
            "dimension {} of the result {} (character {}) is in no operand (the first is at "
            "character {}); write {}",
            dim, result.spec.name(), CharacterAt(scanner, result.dims[d]),
            CharacterAt(scanner, text.operands[0].begin), LegalResult(text)));
  }
  const AxisNames possible = PossibleSums(text);
  if (possible != result.spec.partial()) {
    AxisNames impossible;
    std::set_difference(result.spec.partial().begin(), result.spec.partial().end(),
                        possible.begin(), possible.end(), std::back_inserter(impossible));
    return scanner.ErrorAt(
        result.partial,
        fmt::format("{} (character {}) cannot be a sum over {}: no dimension of {} (character {}) "
                    "and the others is summed; write -> {}",
                    result.spec.name(), CharacterAt(scanner, result.begin), JoinAxes(impossible),
                    text.operands[0].spec.name(), CharacterAt(scanner, text.operands[0].begin),
                    result.spec.WithPartial(possible)->ToString()));
  }
  return OkStatus();
}

bool Accepts(std::string_view text) {
  Scanner scanner(text);
  const Result<ProductText> read = ReadParts(scanner);
  return read.ok() && (!read->result || CheckDims(scanner, *read).ok());
}

Result<ProductText> Read(Scanner& scanner) {
  Scanner all = scanner;
  Result<ProductText> text = ReadParts(scanner);
  if (text.ok() || text.status().message().find(", so write ") != std::string::npos) return text;
  const std::string nearest = NearestProduct(all.TakeWhile([](char) { return true; }), Accepts);
  if (nearest.empty()) return text;
  return WithSpelling(text.status(), nearest);
}

// Errors are those of Spec::Check, with the place.
Status CheckAxes(const Scanner& scanner, const SpecInText& located, const Mesh& mesh) {
  const auto lacks = [&mesh](const std::string& axis) { return !mesh.HasAxis(axis); };
  for (std::size_t d = 0; d < located.dims.size(); ++d) {
    const SpecDim& dim = located.spec.dims()[d];
    if (std::any_of(dim.axes.begin(), dim.axes.end(), lacks)) {
      return scanner.ErrorAt(located.dims[d], located.spec.Check(mesh).message());
    }
  }
  const AxisNames& partial = located.spec.partial();
  if (std::any_of(partial.begin(), partial.end(), lacks)) {
    return scanner.ErrorAt(located.partial, located.spec.Check(mesh).message());
  }
  return OkStatus();
}

// Error at the first dimension of an operand without a size; shows sizes of all of them.
Status CheckAllSizes(const Scanner& scanner, const ProductText& text, const DimSizes& sizes) {
  std::vector<std::string> dims;
  for (const SpecInText& operand : text.operands) {
    const std::vector<std::string> names = operand.spec.DimNames();
    dims.insert(dims.end(), names.begin(), names.end());
  }
  for (const SpecInText& operand : text.operands) {
    for (std::size_t d = 0; d < operand.dims.size(); ++d) {
      const std::string& dim = operand.spec.dims()[d].name;
      if (sizes.count(dim) > 0) continue;
      return scanner.ErrorAt(operand.dims[d], NoSizeText(operand.spec, dim, sizes, dims));
    }
  }
  return OkStatus();
}

}  // namespace

std::string Product::ToString() const {
  std::string text;
  for (const Spec& operand : operands) text += (text.empty() ? "" : " * ") + operand.ToString();
  if (wanted) text += " -> " + wanted->ToString();
  return text;
}

Result<Product> ParseProduct(std::string_view text) {
  Scanner scanner(text);
  CHORUS_ASSIGN_OR_RETURN(const ProductText read, Read(scanner));
  Product product;
  for (const SpecInText& operand : read.operands) product.operands.push_back(operand.spec);
  if (read.result) {
    CHORUS_RETURN_IF_ERROR(CheckDims(scanner, read));
    product.result = Spec::Whole(read.result->spec.name(), read.result->spec.DimNames());
    product.wanted = read.result->spec;
    return product;
  }
  // The first letter after as many as there are operands that none of them has.
  std::size_t letter = std::max<std::size_t>(2, read.operands.size());
  const auto taken = [&](const Spec& spec) { return spec.name() == Letter(letter); };
  while (std::any_of(product.operands.begin(), product.operands.end(), taken)) ++letter;
  const std::string name = Letter(letter);
  product.result = Spec::Whole(name, KeptDims(read));
  return product;
}

std::vector<std::string> ProductSpellings(std::string_view text) {
  if (Accepts(text)) return {};
  std::string nearest = NearestProduct(text, Accepts);
  if (nearest.empty()) return {};
  return {std::move(nearest)};
}

Status CheckProduct(std::string_view text, const Mesh& mesh, const DimSizes& sizes) {
  Scanner scanner(text);
  CHORUS_ASSIGN_OR_RETURN(const ProductText read, Read(scanner));
  for (const SpecInText& operand : read.operands) {
    CHORUS_RETURN_IF_ERROR(CheckAxes(scanner, operand, mesh));
  }
  if (read.result) CHORUS_RETURN_IF_ERROR(CheckAxes(scanner, *read.result, mesh));
  return CheckAllSizes(scanner, read, sizes);
}

}  // namespace chorus
