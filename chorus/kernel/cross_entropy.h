// CrossEntropy: how surprised a row of logits is by its target, in nats.
//
//   logits (B, V), targets (B)  ->  loss (B),   loss[b] = log sum_v exp(logits[b,v]) - logits[b, t]
//   gradient:  dlogits[b,v] = dloss[b] (softmax(logits[b])[v] - [v == targets[b]])
//
// The row's maximum is subtracted first, so no exp overflows; row sums are f64 under both dtypes.
// A NaN logit makes its row's loss NaN. Thread safety: pure except for their outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

// REQUIRES: vocabulary >= 1, 0 <= targets[b] < vocabulary.
template <typename T>
void CrossEntropy(KernelSet set, std::int64_t samples, std::int64_t vocabulary, const T* logits,
                  const std::int32_t* targets, T* loss);

// dlogits may be logits. REQUIRES: as above.
template <typename T>
void CrossEntropyGradient(KernelSet set, std::int64_t samples, std::int64_t vocabulary,
                          const T* logits, const std::int32_t* targets, const T* dloss, T* dlogits);

}  // namespace chorus
