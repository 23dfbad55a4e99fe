// KernelSet: which implementation of the local loops a rank runs.
//
// Thread safety: value type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chorus {

enum class KernelSet : std::uint8_t {
  // Straight loops over the definition, no library and no thread of any library. What every fast
  // kernel is compared with; what f64 tests and the thread sanitizer run.
  kPlain,
  // oneDNN for matrix products, Highway for the rest, chosen for this CPU at run time. f32 only:
  // f64 runs the plain loops under either name.
  kFast,
};

// "plain" or "fast".
std::string_view Name(KernelSet set);

// The inverse of Name. Empty if `name` is neither.
std::optional<KernelSet> ParseKernelSet(std::string_view name);

}  // namespace chorus
