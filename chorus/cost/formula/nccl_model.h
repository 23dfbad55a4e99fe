// NCCL's own model of its time: launch + hops x latency of a hop + bytes / bandwidth, for each of
// its protocols; the fastest counts.
//
//   LL        8 bytes of data with 8 of flags: least latency, half the bandwidth
//   LL128     120 of 128 bytes are data: middle latency, nearly all bandwidth
//   Simple    whole slices, then a flag: most latency, all bandwidth
//
// Figures: NVIDIA/nccl 2.30.7, src/graph/tuning.cc (latencies, protocol factors) and our guess of
// channels x speed of a channel by generation, as its logs show them. Its constants rank
// algorithms well but are too fast by up to a third in the middle, where a link is not yet full;
// `saturation` is added for that: sqrt(13 us x bytes / bandwidth), set from one measurement (8
// A100, all_reduce of 16 MiB, 213.3 us). Thread safety: pure.
#pragma once

#include "chorus/cost/formula/formula.h"

namespace chorus {

struct NcclTime {
  std::string_view protocol;  // "LL", "LL128", "Simple"
  Seconds launch;
  Seconds hops;
  Seconds bandwidth;
  Seconds saturation;
  BytesPerSecond effective;  // of the bytes asked for: algorithm bandwidth
  Seconds total() const { return launch + hops + bandwidth + saturation; }
};

// ring, tree and sharp (NVLS) of all_reduce, ring of all_gather, reduce_scatter, broadcast and
// reduce, direct of all_to_all. Errors: kUnsupported for hardware NCCL has no tables of, and for
// other algorithms.
Result<NcclTime> NcclModel(const Wiring& wiring, const Question& question,
                           std::string_view algorithm);

}  // namespace chorus
