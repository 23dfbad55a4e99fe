#include "chorus/apps/cli/rank_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "chorus/kernel/matmul.h"
#include "chorus/probe/cores.h"

namespace chorus::cli {
namespace {

// One row of a table: a name, both numbers and the verdict.
std::string Row(const std::string& name, std::int64_t predicted, std::int64_t counted) {
  return fmt::format("  {:<34} {:>18} {:>18}   {}\n", name, Grouped(predicted), Grouped(counted),
                     predicted == counted ? "equal" : "DIFFERENT");
}

// The rank with the largest predicted number.
template <typename Quantity>
const RankReport& Most(const std::vector<RankReport>& ranks, Quantity quantity) {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [&](const RankReport& a, const RankReport& b) {
                             return quantity(a).predicted < quantity(b).predicted;
                           });
}

template <typename T>
nlohmann::json CheckedJson(const Checked<T>& checked) {
  return {{"predicted", checked.predicted.value()}, {"counted", checked.counted.value()}};
}

}  // namespace

std::string Grouped(std::int64_t number) {
  const std::string digits = std::to_string(number < 0 ? -number : number);
  std::string out = number < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string RankTable(const std::vector<RankReport>& ranks, std::string_view run) {
  std::string out =
      fmt::format("  {:<34} {:>18} {:>18}\n", fmt::format("of one {}, on the rank with most", run),
                  "predicted", "counted");
  for (const auto& [key, unused] : ranks[0].sent) {
    const auto sent = [&key = key](const RankReport& rank) { return rank.sent.at(key); };
    const Checked<Bytes> most = sent(Most(ranks, sent));
    out += Row(fmt::format("bytes sent, {} over {}", Name(key.kind), key.axes),
               most.predicted.value(), most.counted.value());
  }
  if (ranks[0].sent.empty()) out += "  no collective, so no bytes\n";
  const auto products = [](const RankReport& rank) { return rank.products; };
  const Checked<Flops> flops = products(Most(ranks, products));
  out += Row("FLOP of matrix products", flops.predicted.value(), flops.counted.value());
  const auto peak = [](const RankReport& rank) { return rank.peak; };
  const Checked<Bytes> bytes = peak(Most(ranks, peak));
  out += Row("peak bytes of arrays", bytes.predicted.value(), bytes.counted.value());
  const auto unequal = std::count_if(ranks.begin(), ranks.end(),
                                     [](const RankReport& rank) { return !rank.equal(); });
  out += unequal == 0 ? fmt::format("  all {} ranks did in all {} {}s what was predicted\n",
                                    ranks.size(), ranks[0].runs, run)
                      : fmt::format("  {} of {} ranks did NOT do what was predicted\n", unequal,
                                    ranks.size());
  return out;
}

nlohmann::json RanksJson(const std::vector<RankReport>& ranks, std::string_view run) {
  nlohmann::json json = nlohmann::json::array();
  for (const RankReport& rank : ranks) {
    nlohmann::json sent = nlohmann::json::array();
    for (const auto& [key, checked] : rank.sent) {
      nlohmann::json entry = CheckedJson(checked);
      entry["collective"] = Name(key.kind);
      entry["axes"] = key.axes;
      sent.push_back(entry);
    }
    json.push_back({{fmt::format("bytes_sent_per_{}", run), sent},
                    {fmt::format("product_flops_per_{}", run), CheckedJson(rank.products)},
                    {"peak_bytes", CheckedJson(rank.peak)},
                    {"equal", rank.equal()}});
  }
  return json;
}

void ShareCores(std::int64_t ranks) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;  // the user has said
  SetMatmulThreads(std::max(1, UsableCores() / static_cast<int>(ranks)));
}

}  // namespace chorus::cli
