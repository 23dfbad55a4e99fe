// Matmul: c = op(a) . op(b) + beta c on blocks of row-major arrays in local memory.
//
//   op(a) (M,K), op(b) (K,N) -> c (M,N)     2 M N K floating-point operations
//
// kFast f32 is oneDNN's sgemm and kFast bf16 its matrix primitive (both pack their operands, JIT
// for this CPU); everything else is a blocked triple loop. bf16 is summed in f32 and rounded once,
// to nearest even. Sizes may be odd or zero: K = 0 leaves beta c, M = 0 or N = 0 leaves nothing to
// do.
//
// Thread safety: pure except for its outputs; several threads may call it on different outputs.
#pragma once

#include <cstdint>

#include "chorus/base/dtype.h"
#include "chorus/base/units.h"
#include "chorus/kernel/kernel_set.h"

namespace chorus {

struct MatmulShape {
  std::int64_t m = 0;  // rows of c
  std::int64_t n = 0;  // columns of c
  std::int64_t k = 0;  // length of the contraction
  // false: a is stored (M,K), b is stored (K,N). true: stored transposed, (K,M) and (N,K).
  bool transpose_a = false;
  bool transpose_b = false;
  // Elements from the start of a stored row to that of the next; 0: rows are dense.
  std::int64_t row_a = 0;
  std::int64_t row_b = 0;
  std::int64_t row_c = 0;

  constexpr std::int64_t RowA() const { return row_a > 0 ? row_a : transpose_a ? m : k; }
  constexpr std::int64_t RowB() const { return row_b > 0 ? row_b : transpose_b ? k : n; }
  constexpr std::int64_t RowC() const { return row_c > 0 ? row_c : n; }
  constexpr Flops flops() const { return Flops(2 * m * n * k); }
};

// Effect: c = op(a) . op(b) if `accumulate` is false, else c += op(a) . op(b). When not
// accumulating c may hold anything, NaN included; elements between its rows are not touched. Adds
// the operations carried out to `executed`, here and nowhere else, so that a product done twice is
// counted twice. REQUIRES: c overlaps neither a nor b; rows are no shorter than what is in them.
template <typename T>
void Matmul(KernelSet set, const MatmulShape& shape, const T* a, const T* b, T* c, bool accumulate,
            Flops& executed);
// The same of elements of `dtype`. REQUIRES: f32, f64 or bf16.
void Matmul(KernelSet set, DType dtype, const MatmulShape& shape, const void* a, const void* b,
            void* c, bool accumulate, Flops& executed);
// a and b are bf16, c is f32: for sums that go on and are rounded later.
void MatmulBF16ToF32(KernelSet set, const MatmulShape& shape, const void* a, const void* b,
                     float* c, bool accumulate, Flops& executed);

// How many threads one fast Matmul called from this thread may use. A library that runs a team per
// call oversubscribes a machine on which several ranks share the cores, so ranks say
// max(1, usable cores / ranks on this host). Effect: on the calling thread only, until called
// again.
void SetMatmulThreads(int threads);

}  // namespace chorus
