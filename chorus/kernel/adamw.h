// AdamW: one update of one parameter shard, in one pass over its memory.
//
//   m = b1 m + (1-b1) g            v = b2 v + (1-b2) g^2
//   w = w - lr (m / (1-b1^t) / (sqrt(v / (1-b2^t)) + eps) + decay w)
//
// Weight decay is decoupled: it scales w, not g. Source: Loshchilov and Hutter, "Decoupled weight
// decay regularization", ICLR 2019, algorithm 2. Elementwise, so a shard's update is the same
// whatever the layout. Thread safety: pure except for its outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

struct AdamWRule {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
};

// Effect: updates w, m, v (each N elements) by gradient g (N). `step` counts from 1.
// REQUIRES: step >= 1; the four arrays do not overlap.
template <typename T>
void AdamW(KernelSet set, const AdamWRule& rule, std::int64_t step, const T* g, T* w, T* m, T* v,
           std::int64_t n);

}  // namespace chorus
