// Conversions between f32 and the 16-bit floats.
//
// f32 -> f16, bf16 rounds to nearest, ties to even; beyond the largest finite value it gives
// infinity; a NaN stays a NaN (quiet). f16, bf16 -> f32 is exact. Rounding is done here in integer
// arithmetic: Highway 1.0.3 truncates f32 -> bf16 on CPUs without the instruction.
// Thread safety: pure except for outputs.
#pragma once

#include <cstdint>
#include <cstring>

#include "chorus/base/dtype.h"
#include "chorus/kernel/kernel_set.h"

namespace chorus {

// x (count) of `from` -> y (count) of `to`. x may be y if the dtypes are the same size.
// REQUIRES: one of them is f32, the other f32, f16 or bf16.
void Convert(KernelSet set, const void* x, DType from, void* y, DType to, std::int64_t count);

// Whether values of `dtype` are summed, and travel as partial results, in f32.
constexpr bool AccumulatesInF32(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}
// The dtype of partial results of `dtype`.
constexpr DType AccumulatorOf(DType dtype) { return AccumulatesInF32(dtype) ? DType::kF32 : dtype; }

// One element each: the definition. Bits in, bits out.
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

inline float FloatFromBF16(std::uint16_t bits) { return FloatOf(std::uint32_t{bits} << 16); }

inline std::uint16_t BF16FromFloat(float value) {
  const std::uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float FloatFromF16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t shifted = std::uint32_t{bits & 0x7fffu} << 13;
  const std::uint32_t exponent = shifted & 0x0f800000u;
  std::uint32_t result = shifted + 0x38000000u;  // exponent bias 15 -> 127
  if (exponent == 0x0f800000u) {
    result += 0x38000000u;  // infinity, NaN
  } else if (exponent == 0) {
    // Subnormal: the hidden bit is not there; let a subtraction renormalise.
    result = BitsOf(FloatOf(result + 0x00800000u) - FloatOf(0x38800000u));
  }
  return FloatOf(result | sign);
}

inline std::uint16_t F16FromFloat(float value) {
  const std::uint32_t bits = BitsOf(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000u) {
    result = 0x7e00u;
  } else if (magnitude >= 0x47800000u) {  // 65536 and more, infinity
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 lines the f16 unit up with the last bit of the f32, so the FPU
    // rounds.
    result = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    // Exponent bias 127 -> 15 (adding 2^32 - 112 * 2^23), then round at bit 13; a carry out of
    // 65520 and more runs into infinity by itself.
    result = (magnitude + 0xc8000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(result | sign);
}

}  // namespace chorus
