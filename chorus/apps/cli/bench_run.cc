#include "chorus/apps/cli/bench_run.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "chorus/apps/cli/bench_agree.h"
#include "chorus/apps/cli/bench_bound.h"
#include "chorus/apps/cli/bench_buffers.h"
#include "chorus/apps/cli/bench_call.h"
#include "chorus/apps/cli/bench_checks.h"
#include "chorus/apps/cli/bench_data.h"
#include "chorus/collective/call_list.h"
#include "chorus/collective/persistent_calls.h"
#include "chorus/collective/tuning.h"

namespace chorus::cli {
namespace {

constexpr int kPersistentPlaces = 8;

CallOptions OptionsOf(const BenchSettings& settings) {
  CallOptions options;
  options.timeout = settings.timeout;
  options.schedule = settings.schedule.get();
  return options;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Bench {
 public:
  Bench(Group& group, const BenchSettings& settings, BenchBuffers buffers)
      : group_(group),
        settings_(settings),
        options_(OptionsOf(settings)),
        buffers_(std::move(buffers)) {}

  // `algorithm`: empty for what the group chooses.
  Result<BenchRow> Measure(const BenchCase& c, const std::string& algorithm) {
    options_.algorithm = algorithm;
    BenchRow row;
    row.what = c;
    row.asked = algorithm;
    CHORUS_ASSIGN_OR_RETURN(row.out_of_place, Timing(c, /*in_place=*/false));
    const std::size_t comma = ran_.find(", ");
    row.algorithm = ran_.substr(0, comma);
    if (comma != std::string::npos) row.way = ran_.substr(comma + 2);
    if (HasInPlace(c.op)) {
      CHORUS_ASSIGN_OR_RETURN(row.in_place, Timing(c, /*in_place=*/true));
    }
    CHORUS_ASSIGN_OR_RETURN(row.bound_us, MeasureBound(group_, c, buffers_));
    if (settings_.strict) {
      CHORUS_ASSIGN_OR_RETURN(row.checks, CheckStrictly(group_, c, options_));
    }
    return row;
  }

 private:
  BenchBuffers::Pair Place(const BenchCase& c, bool in_place) {
    const std::int64_t turn = turn_++;
    return in_place ? buffers_.InPlace(c, group_.rank(), turn) : buffers_.OutOfPlace(c, turn);
  }

  // One group of -m calls, as --calls says.
  Status Iterate(const BenchCase& c, bool in_place) {
    switch (settings_.calls) {
      case BenchCalls::kSync:
        if (settings_.aggregated > 1) return IterateAsync(c, in_place);
        {
          const BenchBuffers::Pair place = Place(c, in_place);
          return MakeCall(group_, c, place.in, place.out, options_);
        }
      case BenchCalls::kAsync:
        return IterateAsync(c, in_place);
      case BenchCalls::kList:
        return ListOf(c, in_place).Run();
      case BenchCalls::kPersistent:
        break;
    }
    return persistent_[static_cast<std::size_t>(turn_++) % persistent_.size()].Run();
  }

  Status IterateAsync(const BenchCase& c, bool in_place) {
    std::vector<Work> works;
    for (int k = 0; k < settings_.aggregated; ++k) {
      const BenchBuffers::Pair place = Place(c, in_place);
      works.push_back(StartCall(group_, c, place.in, place.out, options_));
    }
    Status first;
    for (Work& work : works) {
      const Status status = work.Wait();
      if (first.ok()) first = status;
    }
    return first;
  }

  // The calls of one iteration. REQUIRES: as many places as calls, since those of a list share
  // none.
  CallList ListOf(const BenchCase& c, bool in_place) {
    CallList list(group_);
    for (int k = 0; k < settings_.aggregated; ++k) {
      const BenchBuffers::Pair place = Place(c, in_place);
      AddCall(list, group_.rank(), c, place.in, place.out, options_);
    }
    return list;
  }

  // Persistent calls on different places, to take turns.
  Status Prepare(const BenchCase& c, bool in_place) {
    persistent_.clear();
    if (settings_.calls != BenchCalls::kPersistent) return OkStatus();
    for (int k = 0; k < kPersistentPlaces; ++k) {
      CHORUS_ASSIGN_OR_RETURN(PersistentCalls calls, ListOf(c, in_place).Prepare());
      persistent_.push_back(std::move(calls));
    }
    return OkStatus();
  }

  // All iterations in up to five equal parts, one after another without a pause: us a call of each.
  Result<std::vector<double>> TimedParts(const BenchCase& c, bool in_place) {
    const std::int64_t iterations = settings_.iterations;
    const std::int64_t parts = iterations % 5 == 0 ? 5 : 1;
    const std::int64_t calls = iterations / parts * settings_.aggregated;
    std::vector<double> spent_us;
    spent_us.reserve(parts);
    auto begin = std::chrono::steady_clock::now();
    for (std::int64_t part = 0; part < parts; ++part) {
      for (std::int64_t k = 0; k < iterations / parts; ++k) {
        CHORUS_RETURN_IF_ERROR(Iterate(c, in_place));
      }
      const auto end = std::chrono::steady_clock::now();
      spent_us.push_back(std::chrono::duration<double, std::micro>(end - begin).count() /
                         static_cast<double>(calls));
      begin = end;
    }
    return spent_us;
  }

  Result<std::optional<BenchTiming>> Timing(const BenchCase& c, bool in_place) {
    CHORUS_RETURN_IF_ERROR(Prepare(c, in_place));
    for (int k = 0; k < settings_.warmup; ++k) CHORUS_RETURN_IF_ERROR(Iterate(c, in_place));
    CHORUS_RETURN_IF_ERROR(group_.Barrier());
    CHORUS_ASSIGN_OR_RETURN(const std::vector<double> parts, TimedParts(c, in_place));
    const std::vector<OperationRecord> last = group_.Records(group_.rank(), 1);
    ran_ = last.empty() ? "" : last[0].algorithm;
    BenchTiming timing;
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    CHORUS_ASSIGN_OR_RETURN(
        timing.time_us, Agree(group_, sum / static_cast<double>(parts.size()), settings_.average));
    CHORUS_ASSIGN_OR_RETURN(timing.median_us, Agree(group_, Median(parts), settings_.average));
    for (int k = 0; k < settings_.checks && timing.wrong <= 0; ++k) {
      CHORUS_ASSIGN_OR_RETURN(timing.wrong, Wrong(c, in_place, static_cast<std::uint64_t>(k)));
    }
    return std::optional<BenchTiming>(timing);
  }

  // One call with new data into cleared memory; elements that are wrong on all ranks.
  Result<std::int64_t> Wrong(const BenchCase& c, bool in_place, std::uint64_t seed) {
    const int rank = group_.rank();
    const BenchBuffers::Pair place = Place(c, in_place);
    const auto width = static_cast<std::size_t>(SizeOf(c.dtype));
    std::memset(place.out, 0, static_cast<std::size_t>(CountsOf(c, rank).out) * width);
    FillInput(c, rank, seed, place.in);  // in place: over what was cleared
    CHORUS_RETURN_IF_ERROR(group_.Barrier());
    CHORUS_RETURN_IF_ERROR(MakeCall(group_, c, place.in, place.out, options_));
    return SumOverRanks(group_, CountWrong(c, rank, seed, place.out));
  }

  Group& group_;
  const BenchSettings& settings_;
  CallOptions options_;
  BenchBuffers buffers_;
  std::vector<PersistentCalls> persistent_;  // of the case that is measured
  std::int64_t turn_ = 0;                    // calls so far; picks their places
  std::string ran_;                          // as the flight recorder names what was timed last
};

Result<BenchPlace> PlaceOf(Group& group) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<std::int64_t> pids, OfAllRanks(group, getpid()));
  CHORUS_ASSIGN_OR_RETURN(const std::vector<std::int64_t> cores, OfAllRanks(group, sched_getcpu()));
  BenchPlace place;
  for (std::size_t r = 0; r < pids.size(); ++r) {
    place.devices.push_back({static_cast<int>(r), pids[r], static_cast<int>(cores[r])});
  }
  place.tuning = ChoicesOf(group).origin();
  return place;
}

}  // namespace

std::string_view Name(BenchCalls calls) {
  switch (calls) {
    case BenchCalls::kSync:
      return "sync";
    case BenchCalls::kAsync:
      return "async";
    case BenchCalls::kList:
      return "list";
    case BenchCalls::kPersistent:
      break;
  }
  return "persistent";
}

std::vector<ReduceOp> BenchSettings::ReducesOf(OpKind op, DType dtype) const {
  if (!Reduces(op)) return {ReduceOp::kSum};
  std::vector<ReduceOp> chosen = reduces.empty() ? AllBenchReduces(dtype) : reduces;
  // There is no average over the ranks up to one.
  if (IsScan(op)) std::erase(chosen, ReduceOp::kAvg);
  return chosen;
}

std::vector<int> BenchSettings::RootsOf(OpKind op) const {
  if (!HasRoot(op) || !all_roots) return {root};
  std::vector<int> all;
  for (int r = 0; r < ranks; ++r) all.push_back(r);
  return all;
}

Result<BenchReport> RunBench(Group& group, const BenchSettings& settings, OpKind op,
                             const BenchListener& listener) {
  const bool speaks = group.rank() == 0;
  CHORUS_ASSIGN_OR_RETURN(const BenchPlace place, PlaceOf(group));
  if (speaks) listener.on_start(op, place);
  std::int64_t largest = op == OpKind::kBarrier ? 0 : settings.sizes.back();
  // Calls of a list share no place.
  const bool is_list = settings.calls >= BenchCalls::kList;
  if (is_list) largest = settings.aggregated * BenchBuffers::Stride(largest);
  CHORUS_ASSIGN_OR_RETURN(
      BenchBuffers buffers,
      BenchBuffers::Create(group, largest, settings.unaligned, settings.memory));
  Bench bench(group, settings, std::move(buffers));
  BenchReport report;
  std::vector<std::int64_t> sizes = settings.sizes;
  if (op == OpKind::kBarrier) sizes = {0};
  for (const DType dtype : settings.dtypes) {
    for (const ReduceOp reduce : settings.ReducesOf(op, dtype)) {
      for (const int root : settings.RootsOf(op)) {
        for (const std::int64_t size : sizes) {
          BenchCase c{op, dtype, reduce, root, group.size(), 0};
          c.bytes = FitBytes(c, size);
          for (const std::string& algorithm : settings.algorithms) {
            CHORUS_ASSIGN_OR_RETURN(const BenchRow row, bench.Measure(c, algorithm));
            if (speaks) listener.on_row(row);
            report.rows.push_back(row);
          }
        }
      }
    }
  }
  return report;
}

}  // namespace chorus::cli
