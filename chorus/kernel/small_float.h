// Floats of 8 and 16 bits with fewer exponent bits than an f32: f16, f8e4m3, f8e5m2. One element
// each: the definition that the vector forms of convert-inl.h follow lane by lane.
//
//   f32   s eeeeeeee mmmmmmm...      to narrow: 1. take the magnitude's bits
//                                               2. round at bit 23 - kMantissaBits, to nearest even
//                                               3. exchange the exponent's bias 127 for kBias
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <cstring>

namespace chorus {

inline std::uint32_t BitsOf(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float FloatOf(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// What is not the same for all: the layout, and what lies beyond the largest finite value. All
// magnitudes are bits of an f32 (kLargest) or of the narrow float (the others).
struct F16Layout {
  using Element = std::uint16_t;
  static constexpr int kMantissaBits = 10;
  static constexpr std::uint32_t kBias = 15;
  static constexpr bool kSaturates = false;  // 65520 and more become infinity
  static constexpr bool kHasInfinity = true;
  static constexpr std::uint32_t kLargest = 0x477fe000u;
  static constexpr std::uint32_t kInfinity = 0x7c00u;
  static constexpr std::uint32_t kNaN = 0x7e00u;
};

struct F8E4M3Layout {
  using Element = std::uint8_t;
  static constexpr int kMantissaBits = 3;
  static constexpr std::uint32_t kBias = 7;
  static constexpr bool kSaturates = true;
  static constexpr bool kHasInfinity = false;
  static constexpr std::uint32_t kLargest = 0x43e00000u;  // 448
  static constexpr std::uint32_t kInfinity = 0x7eu;       // instead of one: the largest
  static constexpr std::uint32_t kNaN = 0x7fu;
};

struct F8E5M2Layout {
  using Element = std::uint8_t;
  static constexpr int kMantissaBits = 2;
  static constexpr std::uint32_t kBias = 15;
  static constexpr bool kSaturates = true;
  static constexpr bool kHasInfinity = true;
  static constexpr std::uint32_t kLargest = 0x47600000u;  // 57344
  static constexpr std::uint32_t kInfinity = 0x7cu;
  static constexpr std::uint32_t kNaN = 0x7eu;
};

// Constants that follow from a layout.
template <typename Layout>
struct SmallFloat {
  using Element = typename Layout::Element;
  static constexpr int kShift = 23 - Layout::kMantissaBits;
  static constexpr int kSignShift = 32 - 8 * static_cast<int>(sizeof(Element));
  static constexpr std::uint32_t kMagnitudeMask = 0x7fffffffu >> kSignShift;
  // Added to the shifted bits of a narrow float to exchange the bias.
  static constexpr std::uint32_t kRebias = (127 - Layout::kBias) << 23;
  static constexpr std::uint32_t kSmallestNormal = kRebias + (1u << 23);  // as an f32
  // The f32 whose last bit is worth as much as the last bit of a subnormal: added to one it lines
  // the two up, so that the FPU rounds to nearest even.
  static constexpr std::uint32_t kAligner = (127 + 1 - Layout::kBias - Layout::kMantissaBits + 23)
                                            << 23;

  static float Widen(Element bits) {
    const std::uint32_t sign = (std::uint32_t{bits} << kSignShift) & 0x80000000u;
    const std::uint32_t magnitude = std::uint32_t{bits} & kMagnitudeMask;
    const std::uint32_t shifted = magnitude << kShift;
    std::uint32_t result = shifted + kRebias;
    if (magnitude < (1u << Layout::kMantissaBits)) {
      // Subnormal: the hidden bit is not there; a subtraction renormalises.
      result = BitsOf(FloatOf(result + (1u << 23)) - FloatOf(kSmallestNormal));
    } else if (magnitude > Layout::kInfinity) {
      result = 0x7fc00000u | shifted;  // a quiet NaN
    } else if (magnitude == Layout::kInfinity && Layout::kHasInfinity) {
      result = 0x7f800000u;
    }
    return FloatOf(result | sign);
  }

  static Element Narrow(float value) {
    const std::uint32_t bits = BitsOf(value);
    const std::uint32_t sign = (bits >> kSignShift) & (kMagnitudeMask + 1);
    std::uint32_t magnitude = bits & 0x7fffffffu;
    std::uint32_t result = 0;
    if (magnitude > 0x7f800000u) {
      // As the instruction of x86 has it: quiet, with what fits of the payload.
      result = Layout::kNaN | ((magnitude >> kShift) & ((1u << Layout::kMantissaBits) - 1));
    } else if (magnitude == 0x7f800000u) {
      result = Layout::kInfinity;
    } else {
      if (Layout::kSaturates && magnitude > Layout::kLargest) magnitude = Layout::kLargest;
      if (magnitude < kSmallestNormal) {
        result = BitsOf(FloatOf(magnitude) + FloatOf(kAligner)) - kAligner;
      } else {
        const std::uint32_t odd = (magnitude >> kShift) & 1u;
        result = (magnitude - kRebias + ((1u << (kShift - 1)) - 1) + odd) >> kShift;
        if (result > Layout::kInfinity) result = Layout::kInfinity;
      }
    }
    return static_cast<Element>(result | sign);
  }
};

using F16 = SmallFloat<F16Layout>;
using F8E4M3 = SmallFloat<F8E4M3Layout>;
using F8E5M2 = SmallFloat<F8E5M2Layout>;

// bfloat16: the upper half of an f32, rounded to nearest even.
struct BF16 {
  using Element = std::uint16_t;
  static float Widen(Element bits) { return FloatOf(std::uint32_t{bits} << 16); }
  static Element Narrow(float value) {
    const std::uint32_t bits = BitsOf(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<Element>((bits >> 16) | 0x40u);
    return static_cast<Element>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
};

}  // namespace chorus
