// MlpLanguageModel: predicts the next character from a window of those before it. Start here.
//
//   tokens[B, W] --embed--> x.0[B, D] --block 0--> x.1 --...--> x.L[B, D] --head--> logits[B, V]
//   --> loss block i:  x.(i+1) = x.i + gelu(x.i . win) . wout        win[D, F], wout[F, D]
//
// There is no normalisation: the parameters start so that x keeps a variance near 1 through all
// blocks (each adds 1/(2L) of it or less), which a depth of tens bears; and no bias: the rows of
// the embedding, one of which is always added, are one.
// Thread safety: pure.
#pragma once

#include <cstdint>

#include "chorus/base/status.h"
#include "chorus/graph/graph.h"

namespace chorus {

struct MlpConfig {
  std::int64_t window = 0;      // W: tokens that are seen
  std::int64_t vocabulary = 0;  // V
  std::int64_t width = 0;       // D
  std::int64_t hidden = 0;      // F
  std::int64_t blocks = 0;      // L

  friend bool operator==(const MlpConfig&, const MlpConfig&) = default;
};

// A model as a graph. Inputs: tokens[B, W], targets[B]. Parameters: embed[W, V, D],
// blocks.i.win[D, F], blocks.i.wout[F, D], head[D, V].
struct LanguageModel {
  Graph graph;
  NodeId logits = -1;  // [B, V]: a forward pass for sampling needs tokens alone
  NodeId loss = -1;    // []: mean nats a token over the global batch
};

// Errors: a size below 1 (blocks may be 0), named.
Result<LanguageModel> MlpLanguageModel(const MlpConfig& config);

// Learned numbers: W V D + 2 L D F + D V.
std::int64_t ParameterCount(const MlpConfig& config);

}  // namespace chorus
