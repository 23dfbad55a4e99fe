#include "chorus/base/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chorus {

std::int64_t Shape::elements() const { return elements(0, rank()); }

std::int64_t Shape::elements(int begin, int end) const {
  std::int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= (*this)[i];
  return product;
}

std::string Shape::ToString() const { return fmt::format("[{}]", fmt::join(sizes_, ", ")); }

}  // namespace chorus
