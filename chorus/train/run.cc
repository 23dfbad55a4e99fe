#include "chorus/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "chorus/collective/tuning.h"
#include "chorus/program/account.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

using Clock = std::chrono::steady_clock;

Seconds Since(Clock::time_point start) {
  return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
}

// Predicts what a step of the program does on the trainer's rank.
RankReport Predict(Trainer& trainer) {
  const StepProgram& program = trainer.programs().step;
  const DimSizes& sizes = trainer.programs().sizes;
  const Mesh& mesh = trainer.runtime().mesh();
  const int rank = trainer.runtime().rank();
  const Choices& choices = ChoicesOf(trainer.runtime().world());
  RankReport report;
  for (const auto& [key, bytes] : PredictTraffic(program, mesh, sizes, rank, choices)) {
    report.sent[key].predicted = bytes;
  }
  report.products.predicted = ProductFlops(program, mesh, sizes, rank);
  report.peak.predicted = PeakMemory(program, mesh, sizes, rank).peak;
  return report;
}

void Count(const RunCounters& counters, RankReport& report) {
  for (const auto& [key, traffic] : counters.traffic) {
    report.sent[key].counted = Bytes(traffic.bytes_sent);
  }
  report.products.counted = counters.products;
  report.peak.counted = counters.peak;
}

// The numbers of a report in one row, so that ranks can send them; the keys are the same
// everywhere.
std::vector<std::int64_t> Flatten(const RankReport& report) {
  std::vector<std::int64_t> row;
  for (const auto& [key, sent] : report.sent) {
    row.push_back(sent.predicted.value());
    row.push_back(sent.counted.value());
  }
  row.insert(row.end(),
             {report.products.predicted.value(), report.products.counted.value(),
              report.peak.predicted.value(), report.peak.counted.value(), report.unlike_steps});
  return row;
}

RankReport Unflatten(const RankReport& keys, const std::int64_t* row) {
  RankReport report = keys;
  for (auto& [key, sent] : report.sent) {
    sent.predicted = Bytes(*row++);
    sent.counted = Bytes(*row++);
  }
  report.products = {Flops(row[0]), Flops(row[1])};
  report.peak = {Bytes(row[2]), Bytes(row[3])};
  report.unlike_steps = row[4];
  return report;
}

Result<std::vector<RankReport>> GatherReports(const RankReport& mine, Group& world) {
  const std::vector<std::int64_t> row = Flatten(mine);
  std::vector<std::int64_t> rows(row.size() * static_cast<std::size_t>(world.size()));
  CHORUS_RETURN_IF_ERROR(world.AllGather(row, rows));
  std::vector<RankReport> reports;
  reports.reserve(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) {
    reports.push_back(Unflatten(mine, rows.data() + static_cast<std::size_t>(r) * row.size()));
  }
  return reports;
}

// How far the run has come before its next step. When it has a time, rank 0 says, so that all ranks
// stop at the same step.
Result<double> Fraction(const LoopConfig& loop, std::int64_t done, Seconds elapsed, Group& world) {
  if (!loop.seconds.has_value()) {
    return loop.steps == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(loop.steps);
  }
  std::vector<double> fraction = {std::min(1.0, elapsed.value() / *loop.seconds)};
  CHORUS_RETURN_IF_ERROR(world.Broadcast(fraction, 0));
  return fraction[0];
}

}  // namespace

bool RankReport::equal() const {
  return products.equal() && peak.equal() && unlike_steps == 0 &&
         std::all_of(sent.begin(), sent.end(),
                     [](const auto& entry) { return entry.second.equal(); });
}

bool TrainReport::equal() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankReport& rank) { return rank.equal(); });
}

Result<TrainReport> RunTraining(Trainer& trainer, const TrainConfig& config,
                                const TrainObserver& observer) {
  const LoopConfig& loop = config.loop;
  Group& world = trainer.runtime().world();
  RankReport mine = Predict(trainer);
  TrainReport report;
  RunCounters first;
  const Clock::time_point start = Clock::now();
  CHORUS_ASSIGN_OR_RETURN(double fraction, Fraction(loop, 0, Seconds(0), world));
  while (fraction < 1.0) {
    const std::int64_t step = ++report.steps;
    CHORUS_ASSIGN_OR_RETURN(report.loss,
                            trainer.Step(step, config.learning_rate.At(step, fraction)));
    if (!std::isfinite(report.loss)) {
      return InvalidArgument(
          fmt::format("the loss of step {} is {}: the run has diverged; try a smaller [optimizer] "
                      "learning_rate than {}",
                      step, report.loss, config.learning_rate.peak));
    }
    if (step == 1) first = trainer.counters();
    if (!(trainer.counters() == first)) ++mine.unlike_steps;

    TrainProgress progress;
    progress.elapsed = Since(start);
    CHORUS_ASSIGN_OR_RETURN(fraction, Fraction(loop, step, progress.elapsed, world));
    if (step % loop.evaluate_every == 0 && fraction < 1.0) {
      CHORUS_ASSIGN_OR_RETURN(progress.held_out, trainer.HeldOutLoss(loop.evaluate_samples));
    }
    progress.step = step;
    progress.steps = loop.seconds.has_value() ? 0 : loop.steps;
    progress.fraction = fraction;
    progress.loss = report.loss;
    progress.remaining = Seconds(progress.elapsed.value() * (1.0 / fraction - 1.0));
    progress.tokens_per_second = static_cast<double>(step * loop.batch) / progress.elapsed.value();
    observer(progress);
    report.elapsed = progress.elapsed;
    report.tokens_per_second = progress.tokens_per_second;
  }
  if (report.steps > 0) Count(first, mine);
  CHORUS_ASSIGN_OR_RETURN(report.held_out, trainer.HeldOutLoss(loop.evaluate_samples));
  CHORUS_ASSIGN_OR_RETURN(report.sample,
                          trainer.Generate(loop.prompt, loop.sample_characters, loop.temperature));
  if (report.steps > 0) {
    CHORUS_ASSIGN_OR_RETURN(report.ranks, GatherReports(mine, world));
  }
  return report;
}

}  // namespace chorus
