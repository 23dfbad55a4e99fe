// FNV-1a, the same in every build and on every machine. Not cryptographic. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace chorus {

// The hash of `text`; what was hashed before it, if anything, goes in as `hash`.
inline std::uint64_t Fnv1a(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace chorus
