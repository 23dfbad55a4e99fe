#include "chorus/apps/cli/train_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "chorus/apps/cli/rank_table.h"

namespace chorus::cli {
namespace {

constexpr double kSecondsBetweenPlainLines = 5;
constexpr double kSecondsBetweenDrawings = 0.1;

std::string Bar(double fraction, int cells) {
  const int full = std::clamp(static_cast<int>(fraction * cells), 0, cells);
  return fmt::format("[{:#<{}}{:-<{}}]", "", full, "", cells - full);
}

}  // namespace

int TerminalWidth() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string Clock(Seconds seconds) {
  const std::int64_t whole = std::lround(seconds.value());
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

void ProgressView::Show(const TrainProgress& progress) {
  if (progress.held_out.has_value()) held_out_ = progress.held_out;
  const std::string step = progress.steps > 0
                               ? fmt::format("step {}/{}", progress.step, progress.steps)
                               : fmt::format("step {}", progress.step);
  const std::string held_out =
      held_out_.has_value() ? fmt::format("  held-out {:.3f}", *held_out_) : "";
  // The first step also pages memory in and warms the kernels up: it foretells nothing.
  const std::string left =
      progress.step > 1 ? fmt::format(", {} left", Clock(progress.remaining)) : "";
  const std::string text = fmt::format(
      "{:3.0f}%  {}  loss {:.3f}{}  {} char/s  {} elapsed{}", 100 * progress.fraction, step,
      progress.loss, held_out, Grouped(static_cast<std::int64_t>(progress.tokens_per_second)),
      Clock(progress.elapsed), left);
  const double now = progress.elapsed.value();
  const double pause = width_ > 0 ? kSecondsBetweenDrawings : kSecondsBetweenPlainLines;
  const bool due = progress.step == 1 || progress.held_out.has_value() ||
                   progress.fraction >= 1.0 || now - shown_at_ >= pause;
  if (!due) return;
  shown_at_ = now;
  if (width_ > 0) {
    const int cells = std::clamp(width_ - static_cast<int>(text.size()) - 6, 0, 30);
    const std::string line = cells >= 8 ? Bar(progress.fraction, cells) + " " + text : text;
    fmt::print("\r{:<{}.{}}", line, width_ - 1, width_ - 1);
    drawing_ = true;
  } else {
    fmt::print("{}\n", text);
  }
  std::fflush(stdout);
}

void ProgressView::Say(std::string_view text) {
  Finish();
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void ProgressView::Finish() {
  if (drawing_) fmt::print("\n");
  drawing_ = false;
  std::fflush(stdout);
}

std::string ReportTables(const TrainReport& report) {
  if (report.ranks.empty()) return "no step was made, so nothing was counted\n";
  return RankTable(report.ranks, "step");
}

std::string ReportJson(const TrainReport& report, int indent) {
  const nlohmann::json json = {{"steps", report.steps},
                               {"seconds", report.elapsed.value()},
                               {"tokens_per_second", report.tokens_per_second},
                               {"loss_nats", report.loss},
                               {"held_out_loss_nats", report.held_out},
                               {"sample", report.sample},
                               {"equal", report.equal()},
                               {"ranks", RanksJson(report.ranks, "step")}};
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace chorus::cli
