#include "chorus/apps/answer/dims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "chorus/base/nearest.h"

namespace chorus::answer {
namespace {

// More than any model has; products of four still are numbers, and four of them whole ones.
constexpr std::int64_t kMostOfDim = 1'000'000'000'000'000;

// The divisor of `whole` that is nearest to `size`, in proportion.
std::int64_t NearestDivisor(std::int64_t size, std::int64_t whole) {
  std::int64_t best = 1;
  const auto off = [&](std::int64_t divisor) {
    return static_cast<double>(std::max(size, divisor)) /
           static_cast<double>(std::min(size, divisor));
  };
  for (std::int64_t low = 1; low <= whole / low; ++low) {
    if (whole % low != 0) continue;
    for (const std::int64_t divisor : {low, whole / low}) {
      if (off(divisor) < off(best)) best = divisor;
    }
  }
  return best;
}

}  // namespace

Result<Dims> Dims::Read(const std::string& text, const std::vector<std::string>& needed,
                        const std::vector<std::string>& optional) {
  Dims dims;
  if (!text.empty()) {
    Result<DimSizes> sizes = ParseDimSizes(text);
    if (!sizes.ok()) return sizes.status().WithContext("--dims");
    dims.sizes_ = *std::move(sizes);
  }
  std::vector<std::string> known = needed;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const auto& [name, size] : dims.sizes_) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return InvalidArgument(fmt::format("--dims has {}; {}", name, NearestAdvice(name, known)));
    }
    if (size < 1 || size > kMostOfDim) {
      return InvalidArgument(fmt::format("--dims has {}={}; give 1 to {}", name, size, kMostOfDim));
    }
  }
  for (const std::string& name : needed) {
    if (dims.Has(name)) continue;
    return InvalidArgument(
        fmt::format("--dims lacks {}; it needs {}{}{}", name, fmt::join(needed, ", "),
                    optional.empty() ? "" : " and may have ", fmt::join(optional, ", ")));
  }
  return dims;
}

double Dims::operator()(std::string_view name, double otherwise) const {
  const auto found = sizes_.find(name);
  return found == sizes_.end() ? otherwise : static_cast<double>(found->second);
}

void Dims::Break(const std::string& message) {
  if (broken_.ok()) broken_ = InvalidArgument("--dims has " + message);
}

Dims& Dims::AtMost(std::string_view name, std::int64_t most, std::string_view why) {
  const auto found = sizes_.find(name);
  if (found == sizes_.end() || found->second <= most) return *this;
  Break(fmt::format("{}={}, but {}; give {}", name, found->second, why,
                    most == 1 ? "1" : fmt::format("1 to {}", most)));
  return *this;
}

Dims& Dims::AtMost(std::string_view name, std::string_view other, std::string_view why) {
  const auto found = sizes_.find(other);
  return found == sizes_.end()
             ? *this
             : AtMost(name, found->second, fmt::format("{}={}: {}", other, found->second, why));
}

Dims& Dims::Divides(std::string_view name, std::string_view whole) {
  const auto part = sizes_.find(name), all = sizes_.find(whole);
  if (part == sizes_.end() || all == sizes_.end() || all->second % part->second == 0) return *this;
  Break(fmt::format("{}={}, which does not divide {}={}; the nearest that does is {}={}", name,
                    part->second, whole, all->second, name,
                    NearestDivisor(part->second, all->second)));
  return *this;
}

Dims& Dims::Needs(std::string_view name, const std::vector<std::string>& others) {
  if (!Has(name)) return *this;
  for (const std::string& other : others) {
    if (Has(other)) continue;
    Break(fmt::format("{}, which says nothing without {}; give {}", name, other,
                      fmt::join(others, ", ")));
  }
  return *this;
}

}  // namespace chorus::answer
