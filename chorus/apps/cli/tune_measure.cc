#include "chorus/apps/cli/tune_measure.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "chorus/apps/cli/bench_agree.h"
#include "chorus/apps/cli/bench_buffers.h"
#include "chorus/apps/cli/bench_call.h"

namespace chorus::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSizes[] = {8,        64,        512,     4 << 10,
                                   32 << 10, 256 << 10, 2 << 20, kLargestTuned};
constexpr int kSizeCount = 8;
constexpr int kRounds = 5;
constexpr double kFarBehind = 3;
constexpr int kMostCalls = 2000;
constexpr std::chrono::seconds kTimeout{20};

class Tuner {
 public:
  Tuner(Group& group, BenchBuffers buffers) : group_(group), buffers_(std::move(buffers)) {}

  // us of one call, the slowest rank's mean of `calls`.
  Result<double> Time(const BenchCase& c, const Algorithm& algorithm, int calls) {
    CallOptions options;
    options.algorithm = std::string(algorithm.name);
    options.timeout = kTimeout;
    CHORUS_RETURN_IF_ERROR(group_.Barrier());
    const auto begin = Clock::now();
    for (int k = 0; k < calls; ++k) {
      const BenchBuffers::Pair place = buffers_.OutOfPlace(c, turn_++);
      CHORUS_RETURN_IF_ERROR(MakeCall(group_, c, place.in, place.out, options));
    }
    const std::chrono::duration<double, std::micro> spent = Clock::now() - begin;
    return Agree(group_, spent.count() / calls, BenchAverage::kMaximum);
  }

  // Times the candidates at one size in turn, each for `budget_us` in all, and appends what they
  // took. Those that fell far behind are removed.
  Status Compare(const BenchCase& c, std::vector<const Algorithm*>& candidates, double budget_us,
                 std::vector<TunedTime>& times) {
    std::vector<int> calls;
    std::vector<double> best(candidates.size(), 1e300);
    for (const Algorithm* algorithm : candidates) {
      CHORUS_RETURN_IF_ERROR(Time(c, *algorithm, 1).status());  // makes the plan
      CHORUS_ASSIGN_OR_RETURN(const double once, Time(c, *algorithm, 1));
      const double fit = budget_us / kRounds / std::max(once, 0.05);
      calls.push_back(static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(kMostCalls))));
    }
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        CHORUS_ASSIGN_OR_RETURN(const double us, Time(c, *candidates[i], calls[i]));
        best[i] = std::min(best[i], us);
      }
    }
    const double fastest = *std::min_element(best.begin(), best.end());
    std::vector<const Algorithm*> kept;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      times.push_back({c.op, c.ranks, Bytes(c.bytes), candidates[i], best[i]});
      if (best[i] <= kFarBehind * fastest) kept.push_back(candidates[i]);
    }
    candidates = std::move(kept);
    return OkStatus();
  }

 private:
  Group& group_;
  BenchBuffers buffers_;
  std::int64_t turn_ = 0;
};

}  // namespace

Result<std::vector<TunedTime>> MeasureAlgorithms(Group& group,
                                                 std::chrono::duration<double> budget) {
  int measurements = 0;
  for (const OpKind op : kAllOpKinds) {
    measurements += static_cast<int>(Candidates(op, group.size()).size()) * kSizeCount;
  }
  std::vector<TunedTime> times;
  if (measurements == 0 || group.size() < 2) return times;
  const double each_us = budget.count() * 1e6 / measurements;
  CHORUS_ASSIGN_OR_RETURN(
      BenchBuffers buffers,
      BenchBuffers::Create(group, kSizes[kSizeCount - 1], /*unaligned=*/0, BenchMemory::kOrdinary));
  Tuner tuner(group, std::move(buffers));
  const Clock::time_point begin = Clock::now();
  for (const OpKind op : kAllOpKinds) {
    std::vector<const Algorithm*> candidates = Candidates(op, group.size());
    if (candidates.empty()) continue;
    // On a machine that is busy with other things calls take longer than they should: then the
    // larger sizes are left to the built-in rule.
    const Clock::time_point op_begin = Clock::now();
    const double op_us = each_us * kSizeCount * static_cast<double>(candidates.size());
    for (const std::int64_t size : kSizes) {
      const std::chrono::duration<double, std::micro> spent = Clock::now() - op_begin;
      const bool late = spent.count() > 1.5 * op_us || Clock::now() - begin > budget;
      CHORUS_ASSIGN_OR_RETURN(const double any_late,
                              Agree(group, late ? 1 : 0, BenchAverage::kMaximum));
      if (any_late > 0) break;
      BenchCase c;
      c.op = op;
      c.ranks = group.size();
      c.bytes = std::max(FitBytes(c, size), FitBytes(c, SizeOf(c.dtype) * c.ranks));
      CHORUS_RETURN_IF_ERROR(tuner.Compare(c, candidates, each_us, times));
    }
  }
  return times;
}

}  // namespace chorus::cli
