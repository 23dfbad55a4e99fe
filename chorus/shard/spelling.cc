#include "chorus/shard/spelling.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/spelling.h"
#include "chorus/shard/product.h"

namespace chorus {
namespace {

// What stands between two arrays.
enum class LooseSign { kProduct, kArrow, kAssignment };

constexpr bool IsWordOfTex(std::string_view word) {
  return word == "to" || word == "rightarrow" || word == "Rightarrow" || word == "mapsto";
}

// Skips up to where an array may begin. `at` is moved there.
LooseSign SkipSigns(std::string_view text, std::size_t& at) {
  LooseSign sign = LooseSign::kProduct;
  while (at < text.size() && !IsAlnum(text[at]) && text[at] != '[' && text[at] != '(') {
    const std::string_view rest = text.substr(at);
    if (rest[0] == '\\') {
      std::size_t end = 1;
      while (end < rest.size() && (IsUpper(rest[end]) || IsLower(rest[end]))) ++end;
      if (IsWordOfTex(rest.substr(1, end - 1))) sign = LooseSign::kArrow;
      at += end;
      continue;
    }
    constexpr std::string_view kArrowBytes = "\xe2\x86";          // U+2190 to U+21BF
    constexpr std::string_view kLongArrowBytes = "\xe2\x9f\xb6";  // U+27F6
    if (rest[0] == '>' || rest.substr(0, 2) == kArrowBytes ||
        rest.substr(0, 3) == kLongArrowBytes) {
      sign = LooseSign::kArrow;
    } else if (rest[0] == '=' && sign == LooseSign::kProduct) {
      sign = LooseSign::kAssignment;
    }
    ++at;
  }
  return sign;
}

struct LooseProduct {
  std::vector<LooseSpec> operands;
  std::optional<LooseSpec> result;
};

LooseProduct ReadProductLoosely(std::string_view text) {
  LooseProduct product;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = at;
    const LooseSign sign = SkipSigns(text, at);
    if (at >= text.size()) break;
    const bool listed = text.substr(end, at - end).find(',') != std::string_view::npos;
    LooseSpec array = ReadLoosely(text, at);
    at = std::max(at + 1, array.end);
    if (listed && !array.bracket) continue;  // a dimension without its brackets
    const bool assigned = sign == LooseSign::kAssignment && product.operands.size() == 1;
    if (assigned && !product.result) {
      product.result = std::move(product.operands[0]);  // "C = A * B"
      product.operands = {std::move(array)};
    } else if (sign != LooseSign::kProduct && !product.result && !product.operands.empty()) {
      product.result = std::move(array);
      break;
    } else {
      product.operands.push_back(std::move(array));
    }
  }
  // Where two arrays have their dimensions, what has none is a sign in words, like "x" or "times".
  const auto bare = [](const LooseSpec& array) { return !array.bracket; };
  const auto written =
      product.operands.size() - static_cast<std::size_t>(std::count_if(
                                    product.operands.begin(), product.operands.end(), bare));
  if (written >= 2) {
    product.operands.erase(std::remove_if(product.operands.begin(), product.operands.end(), bare),
                           product.operands.end());
  }
  return product;
}

// The dimensions that one operand has alone: those of a result that is not written.
std::vector<SpecDim> DimsOfOne(const std::vector<Spec>& operands) {
  std::vector<SpecDim> dims;
  for (const Spec& operand : operands) {
    for (const SpecDim& dim : operand.dims()) {
      const auto has = [&dim](const Spec& other) { return other.FindDim(dim.name) >= 0; };
      if (std::count_if(operands.begin(), operands.end(), has) == 1) dims.push_back({dim.name, {}});
    }
  }
  return dims;
}

// What is written of the result, where an operand has it, and what must be in it.
Spec ResultOf(const LooseSpec& written, const std::string& name,
              const std::vector<Spec>& operands) {
  std::vector<SpecDim> dims;
  for (const SpecDim& dim : written.spec.dims()) {
    const auto has = [&dim](const Spec& operand) { return operand.FindDim(dim.name) >= 0; };
    if (std::any_of(operands.begin(), operands.end(), has)) dims.push_back(dim);
  }
  for (const SpecDim& dim : DimsOfOne(operands)) {
    const auto is = [&dim](const SpecDim& other) { return other.name == dim.name; };
    if (std::none_of(dims.begin(), dims.end(), is)) dims.push_back(dim);
  }
  return *Spec::Create(name, std::move(dims), written.spec.partial());
}

}  // namespace

std::string FreeLetter(char first, const std::vector<std::string>& taken) {
  for (char letter = first; letter <= 'Z'; ++letter) {
    std::string name(1, letter);
    if (std::find(taken.begin(), taken.end(), name) == taken.end()) return name;
  }
  return ToldApart(std::string(1, first), taken);
}

std::string NearestProduct(std::string_view text, bool (*accepts)(std::string_view)) {
  LooseProduct loose = ReadProductLoosely(text);
  if (loose.operands.empty()) return "";
  if (loose.operands.size() > kMostOperands) {
    loose.operands.resize(kMostOperands);
    loose.result.reset();
  }
  std::vector<std::string> names;
  std::vector<Spec> operands;
  for (std::size_t k = 0; k < loose.operands.size(); ++k) {
    const LooseSpec& array = loose.operands[k];
    const auto letter = static_cast<char>('A' + static_cast<int>(k));
    std::string name = array.spec.name();
    const bool taken = std::find(names.begin(), names.end(), name) != names.end();
    if (name.empty() || taken) {
      std::vector<std::string> all = names;  // not that of an array to come either
      for (const LooseSpec& other : loose.operands) all.push_back(other.spec.name());
      name = FreeLetter(letter, all);
    }
    names.push_back(name);
    if (array.bracket) {
      operands.push_back(array.spec.WithName(name));
    } else {  // a chain of matrices
      const auto first = static_cast<char>('I' + static_cast<int>(k));
      operands.push_back(
          Spec::Whole(name, {std::string(1, first), std::string(1, static_cast<char>(first + 1))}));
    }
  }
  if (operands.size() == 1) {
    const std::vector<std::string> dims = operands[0].DimNames();
    std::vector<std::string> second = {FreeLetter('K', dims)};
    if (!dims.empty()) second.insert(second.begin(), dims.back());
    names.push_back(FreeLetter('B', names));
    operands.push_back(Spec::Whole(names.back(), second));
  }
  const Product open{operands, Spec(), std::nullopt};
  if (loose.result) {
    std::string name = loose.result->spec.name();
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) {
      name = FreeLetter(
          static_cast<char>('A' + static_cast<int>(std::max<std::size_t>(2, operands.size()))),
          names);
    }
    const Spec result = ResultOf(*loose.result, name, operands);
    for (const Spec& wanted : {result, *result.WithPartial({})}) {
      std::string spelling = Product{operands, Spec(), wanted}.ToString();
      if (accepts(spelling)) return spelling;
    }
  }
  std::string spelling = open.ToString();
  return accepts(spelling) ? spelling : "";
}

}  // namespace chorus
