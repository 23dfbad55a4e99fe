#include "chorus/train/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace chorus {
namespace {

using Clock = std::chrono::steady_clock;

Seconds Since(Clock::time_point start) {
  return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
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

bool TrainReport::equal() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const RankReport& rank) { return rank.equal(); });
}

Result<TrainReport> RunTraining(Trainer& trainer, const TrainConfig& config,
                                const TrainObserver& observer) {
  const LoopConfig& loop = config.loop;
  Group& world = trainer.runtime().world();
  RankReport mine = Predict(trainer.step());
  TrainReport report;
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
    mine.Count(trainer.step().counters());

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
  CHORUS_ASSIGN_OR_RETURN(report.held_out, trainer.HeldOutLoss(loop.evaluate_samples));
  CHORUS_ASSIGN_OR_RETURN(report.sample,
                          trainer.Generate(loop.prompt, loop.sample_characters, loop.temperature));
  if (report.steps > 0) {
    CHORUS_ASSIGN_OR_RETURN(report.ranks, GatherReports(mine, world));
  }
  return report;
}

}  // namespace chorus
