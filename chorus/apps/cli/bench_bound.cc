#include "chorus/apps/cli/bench_bound.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

#include "chorus/apps/cli/bench_agree.h"
#include "chorus/kernel/reduce.h"

namespace chorus::cli {
namespace {

constexpr int kTimes = 7;

// Below this, time is that of crossing between cores and not of moving bytes.
constexpr std::int64_t kLeastBytes = 4096;

// Reads `bytes` at `data`, wherever it lies, once.
std::uint64_t ReadAll(const std::byte* data, std::int64_t bytes) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i + 4 <= bytes; i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, data + i, sizeof(word));
    sum += word;
  }
  return sum;
}

// Reads `traffic.read` bytes at `in` and writes `traffic.written` at `out`: what both have in
// common as a copy, or for a reduction of f32 as the sum of two halves into both halves.
void Move(const BenchCase& c, const BenchTraffic& traffic, const std::byte* in, std::byte* out,
          bool streaming, std::uint64_t& sink) {
  const std::int64_t both = std::min(traffic.read, traffic.written);
  const std::int64_t half = both / 2 / 64 * 64;
  if (Reduces(c.op) && half > 0) {
    const std::array<ReduceSource, 2> sources = {
        {{in, DType::kF32, false}, {in + half, DType::kF32, false}}};
    const std::array<void*, 2> dsts = {out, out + half};
    ReduceArgs args;
    args.sources = sources;
    args.dsts = dsts;
    args.count = half / 4;
    args.streamed = streaming ? dsts.size() : 0;
    Reduce(KernelSet::kFast, args);
  } else {
    const std::array<void*, 1> dsts = {out};
    Copy(dsts, in, both, streaming ? 1 : 0);
  }
  sink += ReadAll(in + both, traffic.read - both);
  // More is written than read: each input goes to several places.
  for (std::int64_t done = both; both > 0 && done < traffic.written; done += both) {
    const std::array<void*, 1> dsts = {out + done};
    Copy(dsts, in, std::min(both, traffic.written - done), streaming ? 1 : 0);
  }
}

}  // namespace

Result<double> MeasureBound(Group& group, const BenchCase& c, BenchBuffers& buffers) {
  const BenchTraffic traffic = LeastTraffic(c);
  if (c.bytes < kLeastBytes) return 0.0;
  double best = 0;
  std::uint64_t sink = 0;
  for (const bool streaming : {false, true}) {
    std::vector<double> times;
    for (int k = 0; k < kTimes; ++k) {
      const BenchBuffers::Pair place = buffers.OutOfPlace(c, k);
      // A call lasts long against the clock only from some size on: several in a row.
      const int calls = static_cast<int>(std::clamp<std::int64_t>(
          (std::int64_t{1} << 20) / (traffic.read + traffic.written), 1, 200));
      CHORUS_RETURN_IF_ERROR(group.Barrier());
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) Move(c, traffic, place.in, place.out, streaming, sink);
      const std::chrono::duration<double, std::micro> spent =
          std::chrono::steady_clock::now() - begin;
      times.push_back(spent.count() / calls);
    }
    std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
    // The sink is never negative, so this adds nothing; it keeps the reads from being left out.
    const double mine = times[kTimes / 2] + (sink == ~std::uint64_t{0} ? 1 : 0);
    CHORUS_ASSIGN_OR_RETURN(const double slowest, Agree(group, mine, BenchAverage::kMaximum));
    best = best > 0 ? std::min(best, slowest) : slowest;
  }
  return best;
}

}  // namespace chorus::cli
