#include "chorus/verify/fault.h"

#include <fmt/format.h>

namespace chorus {

std::string Fault::ToString() const {
  return fmt::format("rank {}, {}: {}; expected {}", rank, step, why, expected);
}

}  // namespace chorus
