// What kind of processor this is, where speed depends on it and cannot be asked of the kernel.
#pragma once

namespace chorus {

// One of AMD's. Storing to a line that another core has read costs it far more than storing past
// the caches does (docs/decisions/0136).
inline bool IsAmd() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace chorus
