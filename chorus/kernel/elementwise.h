// Elementwise loops: x (N), y (N) -> y (N).
//
// kFast f32 is Highway; everything else is the plain loop. Both add in the same order, so they give
// the same bits. Thread safety: pure except for their outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

// y += x. x may be y.
template <typename T>
void Add(KernelSet set, const T* x, T* y, std::int64_t n);

// out = a + b. out may be a or b.
template <typename T>
void AddTo(KernelSet set, const T* a, const T* b, T* out, std::int64_t n);

// y += factor x, rounded once where the CPU has a fused multiply-add, twice elsewhere.
template <typename T>
void Axpy(KernelSet set, T factor, const T* x, T* y, std::int64_t n);

// out = factor x. out may be x.
template <typename T>
void Scale(KernelSet set, T factor, const T* x, T* out, std::int64_t n);

}  // namespace chorus
