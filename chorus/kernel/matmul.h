// Matmul: c = op(a) . op(b) + beta c on row-major blocks in local memory.
//
//   op(a) (M,K), op(b) (K,N) -> c (M,N)     2 M N K floating-point operations
//
// kFast f32 is oneDNN's sgemm (packs its operands, JIT for this CPU); everything else is a blocked
// triple loop. Sizes may be odd or zero: K = 0 leaves beta c, M = 0 or N = 0 leaves nothing to do.
//
// Thread safety: pure except for its outputs; several threads may call it on different outputs.
#pragma once

#include <cstdint>

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

  constexpr Flops flops() const { return Flops(2 * m * n * k); }
};

// Effect: c = op(a) . op(b) if `accumulate` is false, else c += op(a) . op(b). When not
// accumulating c may hold anything, NaN included. Adds the operations carried out to `executed`,
// here and nowhere else, so that a product done twice is counted twice. REQUIRES: all blocks are
// dense, and c overlaps neither a nor b.
template <typename T>
void Matmul(KernelSet set, const MatmulShape& shape, const T* a, const T* b, T* c, bool accumulate,
            Flops& executed);

// How many threads one fast Matmul called from this thread may use. A library that runs a team per
// call oversubscribes a machine on which several ranks share the cores, so ranks say
// max(1, usable cores / ranks on this host). Effect: on the calling thread only, until called
// again.
void SetMatmulThreads(int threads);

}  // namespace chorus
