// What parallel training moves: how many collectives a step, of how many bytes.
//
// Bytes are of the whole array of each collective, summed; what a rank really sends is that times
// WireShare: 2(n - 1)/n for an all_reduce, (n - 1)/n for an all_gather or reduce_scatter. Summed
// over ranks an all_reduce moves 2(n - 1) times its array. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

namespace chorus {

struct StepTraffic {
  std::int64_t all_reduces = 0;
  std::int64_t all_gathers = 0;
  std::int64_t reduce_scatters = 0;
  double reduced_bytes = 0;   // of the arrays of all_reduces
  double gathered_bytes = 0;  // of the arrays of all_gathers and reduce_scatters
  std::int64_t calls() const { return all_reduces + all_gathers + reduce_scatters; }
  // What one of n ranks sends.
  double WireBytes(double n) const { return (2 * reduced_bytes + gathered_bytes) * (n - 1) / n; }
};

// Data parallel: one all_reduce of the gradients. ZeRO stage 1: reduce_scatter and all_gather of
// all; 2: reduce_scatter layer by layer, one all_gather; 3 (FSDP): all_gather of each layer in the
// forward and in the backward, reduce_scatter of each. Stage 0 is plain data parallel.
// REQUIRES: stage 0 to 3.
StepTraffic ZeroStep(int stage, double parameter_bytes, std::int64_t layers);

// Tensor parallel: two all_reduces of the activations a layer forward, two backward.
StepTraffic TensorStep(double activation_bytes, std::int64_t layers, bool with_backward);
// With sequence parallel each all_reduce is an all_gather and a reduce_scatter: the same bytes.
StepTraffic SequenceStep(double activation_bytes, std::int64_t layers, bool with_backward);

// Pipeline of n stages: n - 1 transfers of the activations forward.
double PipelineForwardBytes(double activation_bytes, std::int64_t stages);
// Layers of each stage when each has `chunks` pieces: stage s has s, s + stages, ... REQUIRES:
// layers divisible by stages x chunks.
std::vector<std::vector<std::int64_t>> InterleavedLayers(std::int64_t layers, std::int64_t stages,
                                                         std::int64_t chunks);
// Microbatches whose activations the first stage holds at most in 1F1B.
std::int64_t InFlight(std::int64_t stages, std::int64_t microbatches);

// What one rank sends in the all_to_all of its tokens to k experts each, uniform over `ranks`.
double ExpertDispatchBytes(double tokens, double k, double ranks, double width, double element);

}  // namespace chorus
