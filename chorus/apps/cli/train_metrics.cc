#include "chorus/apps/cli/train_metrics.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "chorus/apps/cli/train_view.h"

namespace chorus::cli {

Result<MetricsFile> MetricsFile::Open(const std::string& path) {
  std::ofstream out(path, std::ios::trunc);
  if (!out) {
    return InvalidArgument(
        fmt::format("--metrics {} cannot be written; give a file in a folder that is there", path));
  }
  return MetricsFile(path, std::move(out));
}

void MetricsFile::Write(const TrainProgress& progress) {
  nlohmann::ordered_json line = {{"step", progress.step}, {"loss_nats", progress.loss}};
  if (progress.held_out.has_value()) line["held_out_loss_nats"] = *progress.held_out;
  line["seconds"] = progress.elapsed.value();
  line["tokens_per_second"] = progress.tokens_per_second;
  out_ << line.dump() << std::endl;
}

Status MetricsFile::Close(const TrainReport& report) {
  out_ << ReportJson(report, -1) << std::endl;
  if (!out_)
    return ResourceExhausted(fmt::format("--metrics {} could not be written to the end", path_));
  return OkStatus();
}

}  // namespace chorus::cli
