// RunTraining: a whole training run on one rank, from the first step to the sample of text.
//
// A collective call. Thread safety: as Trainer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/tensor/rank_report.h"
#include "chorus/train/config.h"
#include "chorus/train/trainer.h"

namespace chorus {

// Where a run stands. Times are of this rank's clock, from the beginning of the first step.
struct TrainProgress {
  std::int64_t step = 0;           // steps done
  std::int64_t steps = 0;          // in all; 0 when the run has a time instead
  double fraction = 0;             // of the run that is done, in [0, 1]
  double loss = 0;                 // of the last batch, nats a character
  std::optional<double> held_out;  // measured after this step, nats a character
  Seconds elapsed;
  Seconds remaining;             // at the present speed
  double tokens_per_second = 0;  // characters learned from, over all ranks and the whole run
};

struct TrainReport {
  std::int64_t steps = 0;
  Seconds elapsed;
  double tokens_per_second = 0;
  double loss = 0;                // of the last batch
  double held_out = 0;            // at the end
  std::string sample;             // generated text, after the prompt
  std::vector<RankReport> ranks;  // empty if there was no step

  bool equal() const;  // every count of every rank is what was predicted
};

// Called on every rank after each step; printing is the caller's choice.
using TrainObserver = std::function<void(const TrainProgress&)>;

// Trains as trainer's configuration says. Rank 0's clock decides when a run that has a time is
// over, and says so to the others. The report is the same on every rank but for times. Errors:
// those of the trainer; a loss that is not finite.
Result<TrainReport> RunTraining(Trainer& trainer, const TrainConfig& config,
                                const TrainObserver& observer);

}  // namespace chorus
