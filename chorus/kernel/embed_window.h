// EmbedWindow: each sample is a window of token numbers; its vector is the sum of one row of the
// table per position. It is the product of the window's one-hot code with the table, without ever
// multiplying by a zero.
//
//   tokens (B, W_all)   table (W, V, D)   ->   x (B, D)
//   x[b] = sum over w of table[w, tokens[b, w0+w] - v0]      tokens outside [v0, v0+V) add nothing
//
// W and V may be a shard of the positions [w0, w0+W) and of the vocabulary [v0, v0+V); the sums of
// all shards add up to the sum of the whole table: x is then partial over those mesh axes.
// Thread safety: pure except for their outputs.
#pragma once

#include <cstdint>

#include "chorus/kernel/kernel_set.h"

namespace chorus {

struct EmbedWindowShape {
  std::int64_t samples = 0;           // B
  std::int64_t token_positions = 0;   // W_all, columns of `tokens`
  std::int64_t positions = 0;         // W of this shard of the table
  std::int64_t position_begin = 0;    // w0
  std::int64_t vocabulary = 0;        // V of this shard
  std::int64_t vocabulary_begin = 0;  // v0
  std::int64_t width = 0;             // D
};

// Effect: x = the sums, whatever x held. REQUIRES: w0 + W <= W_all.
template <typename T>
void EmbedWindow(KernelSet set, const EmbedWindowShape& shape, const std::int32_t* tokens,
                 const T* table, T* x);

// dtable[w, v] = sum of dx[b] over the samples b whose token at position w0+w is v0+v: dx (B, D) ->
// dtable (W, V, D), whatever dtable held. Samples are added in ascending order.
template <typename T>
void EmbedWindowGradient(KernelSet set, const EmbedWindowShape& shape, const std::int32_t* tokens,
                         const T* dx, T* dtable);

}  // namespace chorus
