// --metrics FILE of chorus train: JSON lines of what a run does, step by step, that a page can draw
// while it goes on.
#pragma once

#include <fstream>
#include <string>

#include "chorus/base/status.h"
#include "chorus/train/run.h"

namespace chorus::cli {

// Lines {"step", "loss_nats", "held_out_loss_nats" where it was measured, "seconds",
// "tokens_per_second"}, one a step, and at the end the report as chorus train --json prints it, in
// one line. Thread safety: none.
class MetricsFile {
 public:
  // Begins an empty file in the place of what was there. Errors: `path` cannot be written.
  static Result<MetricsFile> Open(const std::string& path);

  // Each line is in the file when Write returns, so that others can read a run that goes on.
  void Write(const TrainProgress& progress);
  // The last line. Errors: something could not be written.
  Status Close(const TrainReport& report);

 private:
  MetricsFile(std::string path, std::ofstream out) : path_(std::move(path)), out_(std::move(out)) {}

  std::string path_;
  std::ofstream out_;
};

}  // namespace chorus::cli
