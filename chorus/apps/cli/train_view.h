// What `chorus train` shows: how far a run is, and at its end what it did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chorus/train/run.h"

namespace chorus::cli {

// One line that is drawn again and again on a terminal; elsewhere a line every few seconds.
//
//   [########------------]  41%  step 615/1500  loss 1.62  held-out 1.71  13,100 char/s  0:47 of
//   1:55
class ProgressView {
 public:
  // `width` is that of the terminal in characters; 0 if it is none.
  explicit ProgressView(int width) : width_(width) {}
  void Show(const TrainProgress& progress);
  // Says what is done after the last step.
  void Say(std::string_view text);
  // Ends the line that is being drawn.
  void Finish();

 private:
  int width_;
  std::optional<double> held_out_;  // the last that was measured
  double shown_at_ = 0;             // seconds, of the last line
  bool drawing_ = false;
};

// Columns of the terminal that stdout is, 0 if it is none.
int TerminalWidth();

// "1:05"
std::string Clock(Seconds seconds);

// The tables at the end: bytes a step by collective and mesh axes, products and memory, each as
// predicted and as counted, of the rank that has most; then whether all ranks were as predicted.
std::string ReportTables(const TrainReport& report);
// The whole report, for programs; with `indent` -1 in one line.
std::string ReportJson(const TrainReport& report, int indent = 2);

}  // namespace chorus::cli
