#include "bench/simulate/random_schedule.h"

#include <fmt/format.h>

#include <cmath>

#include "chorus/base/random.h"

namespace chorus::bench {
namespace {

// Numbers drawn one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::string_view name) : stream_(seed, name) {}
  std::int64_t Below(std::int64_t n) {
    return static_cast<std::int64_t>(stream_.Below(static_cast<std::uint64_t>(n), next_++));
  }
  double Between(double low, double high) {
    return low * std::pow(high / low, stream_.Uniform(next_++));
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace

RandomSchedule MakeSchedule(std::int64_t ranks, std::uint64_t seed) {
  Draws draw(seed, "schedule");
  const std::int64_t blocks = 2 + draw.Below(4), messages = 5 + draw.Below(56);
  std::string body;
  std::vector<std::vector<std::string>> steps(ranks);  // labels, by rank
  // "after a, b": up to two earlier steps of the rank.
  const auto after = [&](std::int64_t rank) {
    std::string text;
    for (std::int64_t i = draw.Below(3); i > 0 && !steps[rank].empty(); --i) {
      const std::string& label =
          steps[rank][draw.Below(static_cast<std::int64_t>(steps[rank].size()))];
      if (text.find(label + ",") == std::string::npos) text += label + ", ";
    }
    return text.empty() ? text : " after " + text.substr(0, text.size() - 2);
  };
  for (std::int64_t m = 0; m < messages; ++m) {
    const std::int64_t from = draw.Below(ranks);
    const std::int64_t to = (from + 1 + draw.Below(ranks - 1)) % ranks;
    const std::int64_t first = draw.Below(blocks);
    const std::int64_t count = 1 + draw.Below(blocks - first);
    std::string sent, taken;
    for (std::int64_t b = first; b < first + count; ++b) {
      sent += fmt::format("{}in[{}]", b == first ? "" : ", ", b);
      taken += fmt::format("{}tmp[{} : {}]", b == first ? "" : ", ", m, b);
    }
    body += fmt::format("  s{0}: send {1} to {2} as {0}{3} if r == {4}\n", m, sent, to, after(from),
                        from);
    body += fmt::format("  v{0}: recv {1} from {2} as {0}{3} if r == {4}\n", m, taken, from,
                        after(to), to);
    steps[from].push_back(fmt::format("s{}", m));
    steps[to].push_back(fmt::format("v{}", m));
  }
  std::string text =
      fmt::format("schedule random all_reduce\n  blocks {}\n  order any\n  tmp {}\nbegin\n{}end\n",
                  blocks, messages, body);
  std::vector<double> bytes;
  for (std::int64_t b = 0; b < blocks; ++b) bytes.push_back(std::floor(draw.Between(1e3, 1e7)));
  Result<Schedule> schedule = Schedule::Parse(text);
  return {std::move(text), *std::move(schedule), std::move(bytes)};
}

Topology MakeTopology(std::int64_t ranks, std::uint64_t seed) {
  Draws draw(seed, "topology");
  Topology::Definition d;
  d.link = {Seconds(draw.Between(1e-7, 1e-5)), BytesPerSecond(draw.Between(1e9, 1e11))};
  d.nic = {Seconds(draw.Between(1e-6, 2e-5)), BytesPerSecond(draw.Between(1e9, 2e10))};
  d.node_size = ranks;
  switch (draw.Below(4)) {
    case 0:
      break;
    case 1:
      d.fabric = Fabric::kMesh;
      break;
    case 2: {
      d.fabric = Fabric::kTorus;
      const bool wraps = draw.Below(2) == 0;
      const std::int64_t length = (ranks + 1) / 2;
      d.axes = {{length, wraps && length >= kLeastToWrap}, {2, false}};
      d.node_size = 2 * length;
      break;
    }
    default:
      // Leaf switches of two nodes each, whose uplinks carry half or less of what comes from below.
      d.node_size = 1 + draw.Below(2);
      d.leaf_nodes = 2;
      d.nodes = 2 * ((ranks + 2 * d.node_size - 1) / (2 * d.node_size));
      d.nics = 1;
      d.oversubscription = 1 + static_cast<double>(draw.Below(4));
      break;
  }
  return *Topology::Make(d);
}

}  // namespace chorus::bench
