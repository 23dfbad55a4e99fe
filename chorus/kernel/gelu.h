// Gelu: the activation of the residual blocks, in its tanh form.
//
//   u = sqrt(2/pi) (x + 0.044715 x^3),   y = x (1 + tanh u) / 2        x (N) -> y (N)
//
// Source: Hendrycks and Gimpel, "Gaussian error linear units", 2016, the approximation of
// section 2. kFast f32 writes (1 + tanh u)/2 as 1/(1 + exp(-2u)) with Highway's exp, within a few
// units in the last place of the plain loop. Thread safety: pure except for their outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

// y = gelu(x). y may be x.
template <typename T>
void Gelu(KernelSet set, const T* x, T* y, std::int64_t n);

// dx = dy gelu'(x). dx may be dy or x.
template <typename T>
void GeluGradient(KernelSet set, const T* x, const T* dy, T* dx, std::int64_t n);

}  // namespace chorus
