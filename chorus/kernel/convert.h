// Conversions between f32 and the narrow floats: f16, bf16, f8e4m3, f8e5m2.
//
// From f32 they round to nearest, ties to even; a NaN stays a NaN (quiet). Beyond the largest
// finite value f16 and bf16 give infinity; f8 saturates: it gives that largest value (448, 57344),
// and an infinity stays one in e5m2 and becomes 448 in e4m3, which has none. To f32 they are exact.
// bf16 is rounded in integer arithmetic, since Highway 1.0.3 truncates on CPUs without the
// instruction, and the instruction flushes subnormals. One element each: small_float.h.
// Thread safety: pure except for outputs.
#pragma once

#include <cstdint>

#include "chorus/base/dtype.h"
#include "chorus/kernel/kernel_set.h"

namespace chorus {

// x (count) of `from` -> y (count) of `to`. x may be y if the dtypes are the same size.
// REQUIRES: one of them is f32, the other f32 or narrow.
void Convert(KernelSet set, const void* x, DType from, void* y, DType to, std::int64_t count);

// Whether values of `dtype` are summed, and travel as partial results, in f32.
constexpr bool AccumulatesInF32(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF8E4M3 ||
         dtype == DType::kF8E5M2;
}
// The dtype of partial results of `dtype`.
constexpr DType AccumulatorOf(DType dtype) { return AccumulatesInF32(dtype) ? DType::kF32 : dtype; }

}  // namespace chorus
