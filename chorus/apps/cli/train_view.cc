#include "chorus/apps/cli/train_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace chorus::cli {
namespace {

constexpr double kSecondsBetweenPlainLines = 5;
constexpr double kSecondsBetweenDrawings = 0.1;

std::string Bar(double fraction, int cells) {
  const int full = std::clamp(static_cast<int>(fraction * cells), 0, cells);
  return fmt::format("[{:#<{}}{:-<{}}]", "", full, "", cells - full);
}

// One row of a table: a name, both numbers and the verdict.
std::string Row(const std::string& name, std::int64_t predicted, std::int64_t counted) {
  return fmt::format("  {:<34} {:>18} {:>18}   {}\n", name, Grouped(predicted), Grouped(counted),
                     predicted == counted ? "equal" : "DIFFERENT");
}

// The rank with the largest predicted number.
template <typename Quantity>
const RankReport& Most(const TrainReport& report, Quantity quantity) {
  return *std::max_element(report.ranks.begin(), report.ranks.end(),
                           [&](const RankReport& a, const RankReport& b) {
                             return quantity(a).predicted < quantity(b).predicted;
                           });
}

template <typename T>
nlohmann::json CheckedJson(const Checked<T>& checked) {
  return {{"predicted", checked.predicted.value()}, {"counted", checked.counted.value()}};
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

std::string Grouped(std::int64_t number) {
  const std::string digits = std::to_string(number < 0 ? -number : number);
  std::string out = number < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
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

void ProgressView::Finish() {
  if (drawing_) fmt::print("\n");
  drawing_ = false;
  std::fflush(stdout);
}

std::string ReportTables(const TrainReport& report) {
  if (report.ranks.empty()) return "no step was made, so nothing was counted\n";
  std::string out = fmt::format("  {:<34} {:>18} {:>18}\n", "of one step, on the rank with most",
                                "predicted", "counted");
  for (const auto& [key, unused] : report.ranks[0].sent) {
    const auto sent = [&key = key](const RankReport& rank) { return rank.sent.at(key); };
    const Checked<Bytes> most = sent(Most(report, sent));
    out += Row(fmt::format("bytes sent, {} over {}", Name(key.kind), key.axes),
               most.predicted.value(), most.counted.value());
  }
  if (report.ranks[0].sent.empty()) out += "  no collective, so no bytes\n";
  const auto products = [](const RankReport& rank) { return rank.products; };
  const Checked<Flops> flops = products(Most(report, products));
  out += Row("FLOP of matrix products", flops.predicted.value(), flops.counted.value());
  const auto peak = [](const RankReport& rank) { return rank.peak; };
  const Checked<Bytes> bytes = peak(Most(report, peak));
  out += Row("peak bytes of arrays", bytes.predicted.value(), bytes.counted.value());
  const auto unequal = std::count_if(report.ranks.begin(), report.ranks.end(),
                                     [](const RankReport& rank) { return !rank.equal(); });
  out += unequal == 0 ? fmt::format("  all {} ranks did in all {} steps what was predicted\n",
                                    report.ranks.size(), report.steps)
                      : fmt::format("  {} of {} ranks did NOT do what was predicted\n", unequal,
                                    report.ranks.size());
  return out;
}

std::string ReportJson(const TrainReport& report) {
  nlohmann::json ranks = nlohmann::json::array();
  for (const RankReport& rank : report.ranks) {
    nlohmann::json sent = nlohmann::json::array();
    for (const auto& [key, checked] : rank.sent) {
      nlohmann::json entry = CheckedJson(checked);
      entry["collective"] = Name(key.kind);
      entry["axes"] = key.axes;
      sent.push_back(entry);
    }
    ranks.push_back({{"bytes_sent_per_step", sent},
                     {"product_flops_per_step", CheckedJson(rank.products)},
                     {"peak_bytes", CheckedJson(rank.peak)},
                     {"equal", rank.equal()}});
  }
  const nlohmann::json json = {{"steps", report.steps},
                               {"seconds", report.elapsed.value()},
                               {"tokens_per_second", report.tokens_per_second},
                               {"loss_nats", report.loss},
                               {"held_out_loss_nats", report.held_out},
                               {"sample", report.sample},
                               {"equal", report.equal()},
                               {"ranks", ranks}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace chorus::cli
