// CrossEntropy: how surprised rows of logits are by their targets, in nats.
//
//   logits (B, V), targets (B)  ->  sum over b of loss[b],
//                                   loss[b] = log sum_v exp(logits[b,v]) - logits[b, targets[b]]
//   gradient of scale times it:     dlogits[b,v] = scale (softmax(logits[b])[v] - [v ==
//   targets[b]])
//
// The row's maximum is subtracted first, so no exp overflows; row sums are f64 under both dtypes.
// A NaN logit makes its row's loss NaN. Thread safety: pure except for their outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

// The sum of the losses of all rows; 0 for no rows.
// REQUIRES: vocabulary >= 1, 0 <= targets[b] < vocabulary.
template <typename T>
double CrossEntropySum(KernelSet set, std::int64_t samples, std::int64_t vocabulary,
                       const T* logits, const std::int32_t* targets);

// dlogits may be logits. REQUIRES: as above.
template <typename T>
void CrossEntropyGradient(KernelSet set, std::int64_t samples, std::int64_t vocabulary,
                          const T* logits, const std::int32_t* targets, double scale, T* dlogits);

}  // namespace chorus
