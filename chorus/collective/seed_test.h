// Seeds of tests that draw at random: another one every day, printed, and repeated on demand. For
// tests.
//
//   CHORUS_SEED=20423 ctest -R Conformance
#pragma once

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

namespace chorus {

inline std::uint64_t SeedOfToday() {
  if (const char* const given = std::getenv("CHORUS_SEED"); given != nullptr) {
    return std::strtoull(given, nullptr, 10);
  }
  return static_cast<std::uint64_t>(std::time(nullptr) / (24 * 3600));
}

// To be shown with a failure.
inline std::string HowToRepeat(std::uint64_t seed) {
  return "repeat it with CHORUS_SEED=" + std::to_string(seed);
}

// Sanitizers make everything several times slower, so that tests draw less.
inline constexpr bool kIsSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#else
    false;
#endif

}  // namespace chorus
