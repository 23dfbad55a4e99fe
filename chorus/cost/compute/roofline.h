// The compute side: what a product or a layer takes on one device, and when communication hides
// behind it.
//
// C is the peak rate of a device in FLOP/s, H its memory bandwidth, W the bandwidth of the
// network. Intensity is FLOP per byte moved; above the ridge C / H a device computes, below it
// waits for memory. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/topology/hardware.h"

namespace chorus {

// A device as the roofline sees it.
struct Roof {
  FlopsPerSecond peak;
  BytesPerSecond memory;
  double Ridge() const { return peak.value() / memory.value(); }  // FLOP/B
};
// Errors: the catalogue has no peak or no memory bandwidth of it.
Result<Roof> RoofOf(const Hardware& hardware);

struct Workload {
  std::string name;
  double flops = 0;
  double bytes = 0;  // read and written in memory
  double Intensity() const { return flops / bytes; }
  double ComputeSeconds(const Roof& roof) const { return flops / roof.peak.value(); }
  double MemorySeconds(const Roof& roof) const { return bytes / roof.memory.value(); }
  // The longer of the two: they overlap.
  double Seconds(const Roof& roof) const;
};

// x (B, D) times w (D, F) -> y (B, F), each element of `element` bytes, each moved once.
Workload ProductWork(double b, double d, double f, double element);

// Of a layer: x (B, S, D), heads of D / heads, F inside the feed-forward; gated adds a third
// product. `context` keys and values are read from a cache; 0: S of them, as in prefill.
struct LayerShape {
  double batch = 1;
  double sequence = 1;  // tokens that are worked on: 1 in decoding
  double width = 0;
  double inner = 0;
  double heads = 1;
  double key_heads = 1;  // fewer than heads: grouped queries
  double context = 0;
  bool gated = false;
  double element = 2;  // bytes
};
// query, key, value, attention (scores and values in one pass over the cache), output, up, (gate),
// down: forward. The backward of each has twice the FLOP.
std::vector<Workload> LayerWork(const LayerShape& shape);

// FLOP per byte of the weights alone: what the lecture notes call intensity. Decoding a batch of b:
// 2 b / element. Prefill of b sequences of s: 2 b s / element.
double DecodeLinearIntensity(double batch, double element);
double PrefillLinearIntensity(double batch, double sequence, double element);
// The scores alone, 2 s^2 FLOP a column, over q, k and v as read: 2 s / (3 element). With the
// product with v and the output it is s / element, and that is what LayerWork counts.
double PrefillScoreIntensity(double sequence, double element);
// One query a sequence over its own cache: 2 FLOP for each element of keys and of values, each read
// once: 2 / element. Batches do not help, grouped queries do: times heads / key_heads.
double DecodeAttentionIntensity(double heads_per_key_head, double element);

// X (B, D) Y (D split over n, F) -> Z (B, F): gather the weight, or reduce the output. Bytes of
// `element`; W as the formula of the network has it (of both directions on a torus).
struct SplitProduct {
  double compute = 0;         // s
  double communication = 0;   // s
  double Overlapped() const;  // s: the longer
};
SplitProduct GatherWeight(double b, double d, double f, double element, FlopsPerSecond c,
                          BytesPerSecond w);
SplitProduct ReduceOutput(double b, double d, double f, double n, double element, FlopsPerSecond c,
                          BytesPerSecond w);

// Conditions under which a strategy is bound by computing, in bf16:
double LeastBatchToGather(FlopsPerSecond c, BytesPerSecond w);               // tokens: B > C/W
double MostRanksToReduce(double d, FlopsPerSecond c, BytesPerSecond w);      // X < D / (2 C/W)
double LeastTokensForFsdp(FlopsPerSecond c, BytesPerSecond w, double axes);  // a device: C/(W axes)
double MostRanksForTensor(double f, FlopsPerSecond c, BytesPerSecond w, double axes);  // F W axes/C

// What of `communication` is left when it may run behind `compute`, of which `share` (0 to 1) is
// there to hide it.
double Exposed(double communication, double compute, double share);

}  // namespace chorus
