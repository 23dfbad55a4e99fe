// Trees, and exchanges over powers of two.
//
// The binomial tree is that of aligned halves of the ranks: at level k they are cut into blocks of
// 2^k, held by the root or else by the lowest rank. A holder sends to all its children at once, so
// they share its port; of equal messages all arrive together.
//
//   N = 8, root 0    0 has children 4, 2, 1; 4 has 6, 5; ...
//   broadcast        latency + 3 V/W, then latency + 2 V/W, then latency + V/W
//   reduce           level by level: 3 (latency + V/W)
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

class BinomialTree {
 public:
  BinomialTree(std::int64_t ranks, std::int64_t root) : ranks_(ranks), root_(root) {}

  // The children of a rank that holds block `block` of level `level`, largest first, as
  // (child, its level).
  std::vector<std::pair<std::int64_t, std::int64_t>> Children(std::int64_t rank,
                                                              std::int64_t level) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> children;
    for (std::int64_t k = level - 1; k >= 0; --k) {
      const std::int64_t other = (rank >> k) ^ 1;
      if ((other << k) >= ranks_) continue;
      children.emplace_back((root_ >> k) == other ? root_ : other << k, k);
    }
    return children;
  }

  std::int64_t levels() const { return CeilLog2(ranks_); }

 private:
  std::int64_t ranks_;
  std::int64_t root_;
};

// Of the subtree of `rank`: how many messages of V lie one after another, by round, on the way that
// decides. All trees of one level that are full are alike, so their answer is kept.
class Broadcast {
 public:
  Broadcast(const Wiring& w, std::int64_t root, double bytes)
      : tree_(w.ranks, root), w_(w), bytes_(bytes) {}

  // Children that share the port of each round.
  std::vector<double> Way(std::int64_t rank, std::int64_t level) const {
    const auto children = tree_.Children(rank, level);
    if (children.empty()) return {};
    std::vector<double> worst;
    double longest = -1;
    for (const auto& [child, child_level] : children) {
      std::vector<double> way = Way(child, child_level);
      const double time = Time(way);
      if (time <= longest) continue;
      longest = time;
      worst = std::move(way);
    }
    const bool mesh = w_.fabric == Fabric::kMesh;
    worst.insert(worst.begin(), mesh ? 1 : static_cast<double>(children.size()));
    return worst;
  }

  std::int64_t levels() const { return tree_.levels(); }

 private:
  double Time(const std::vector<double>& way) const {
    double time = 0;
    for (double shared : way) {
      time += w_.RingLink().latency.value() + shared * bytes_ / w_.RingLink().bandwidth.value();
    }
    return time;
  }

  BinomialTree tree_;
  const Wiring& w_;
  double bytes_;
};

Status OneLevel(const Wiring& w, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  if (w.nodes == 1 || w.node_size == 1) return OkStatus();
  return Unsupported(fmt::format(
      "{} has no formula over several nodes of several devices; chorus simulate works it out",
      algorithm));
}

}  // namespace

Result<Phases> BinomialBroadcastTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(OneLevel(w, "binomial"));
  const Broadcast broadcast(w, q.root, q.bytes);
  Phases p;
  for (double shared : broadcast.Way(q.root, broadcast.levels())) {
    p.phases.push_back(OverRing(w, fmt::format("{:g}", shared), 1, shared * q.bytes));
  }
  return p;
}

namespace {

// When the sum of a subtree is ready: its children send as soon as theirs are, and share the port
// of their parent, which is busy from the first arrival to the last.
struct Ready {
  double time = 0;      // s
  double messages = 0;  // V on the port that decides, all rounds
  double rounds = 0;
};

Ready SumReady(const Wiring& w, const Question& q, const BinomialTree& tree, std::int64_t rank,
               std::int64_t level) {
  const auto children = tree.Children(rank, level);
  std::vector<std::pair<Ready, double>> arrivals;  // when a message begins, and its bytes of V
  for (const auto& [child, child_level] : children) {
    const bool alone = tree.Children(child, child_level).empty();
    arrivals.emplace_back(SumReady(w, q, tree, child, child_level),
                          alone ? 1 : q.accumulator_ratio);
  }
  std::sort(arrivals.begin(), arrivals.end(),
            [](const auto& a, const auto& b) { return a.first.time < b.first.time; });
  const double latency = w.RingLink().latency.value();
  const double per_v = q.bytes / w.RingLink().bandwidth.value();
  const bool mesh = w.fabric == Fabric::kMesh;
  Ready done;
  bool first = true;
  for (const auto& [begin, weight] : arrivals) {
    const double starts = begin.time + latency;
    if (mesh || first || starts >= done.time) {
      const double ends = starts + weight * per_v;
      if (ends <= done.time) continue;
      done = {ends, begin.messages + weight, begin.rounds + 1};
    } else {
      done.time += weight * per_v;
      done.messages += weight;
    }
    first = false;
  }
  return done;
}

}  // namespace

Result<Phases> BinomialReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(OneLevel(w, "binomial"));
  if (w.ranks == 1) return Phases{};
  const BinomialTree tree(w.ranks, q.root);
  const Ready ready = SumReady(w, q, tree, q.root, tree.levels());
  return Phases{{OverRing(w, fmt::format("{:g}", ready.messages), ready.rounds,
                          ready.messages * q.bytes / ready.rounds)}};
}

// Up a binomial tree and down again, a message at a time: log2 N rounds of V each way. It moves
// log2 N times what a ring does for long arrays; a pipelined tree does not.
Result<Phases> TreeAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(OneLevel(w, "tree"));
  return Phases{
      {OverRing(w, "2 ceil(log2 N)", 2 * static_cast<double>(CeilLog2(w.ranks)), q.bytes)}};
}

// Two binary trees in pipeline, each with half of V, a rank being inner in one and a leaf in the
// other: every port carries V up and V down. Source: Sanders, Speck, Traeff, "Two-tree algorithms
// for full bandwidth broadcast, reduction and scan", 2009.
Result<Phases> DoubleTreeAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "double_binary_tree"));
  if (w.ranks == 1) return Phases{};
  const double rounds = 2 * static_cast<double>(CeilLog2(w.ranks));
  Phase phase = OverRing(w, "2", rounds, 2 * q.bytes / rounds);
  if (w.nodes > 1) phase.bandwidth = std::min(w.NodeBandwidth(), w.link.bandwidth);
  return Phases{{phase}};
}

// Halves to a peer at distance 1, quarters at distance 2, ...; then back. After the first round of
// the sums partial sums travel. If N is no power of two, ranks are folded, which overlaps with that
// round.
Result<Phases> HalvingDoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(OneLevel(w, "halving_doubling"));
  const std::int64_t log = FloorLog2(w.ranks);
  if (std::int64_t{1} << log != w.ranks) {
    return Unsupported(
        fmt::format("halving_doubling has a formula for powers of two, not {} ranks; chorus "
                    "simulate works it out",
                    w.ranks));
  }
  Phases p;
  for (std::int64_t k = 1; k <= log; ++k) {
    const double part = 1 / static_cast<double>(std::int64_t{1} << k);
    const double sum = part * (k == 1 ? 1 : q.accumulator_ratio);
    p.phases.push_back(OverRing(w, fmt::format("{:g}", sum), 1, q.bytes * sum));
    p.phases.push_back(OverRing(w, fmt::format("{:g}", part), 1, q.bytes * part));
  }
  return p;
}

// One half of it: all_gather by doubling, reduce_scatter by halving. Powers of two only.
Result<Phases> HalvingTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(OneLevel(w, "halving_doubling"));
  const std::int64_t log = FloorLog2(w.ranks);
  if (std::int64_t{1} << log != w.ranks) {
    return Unsupported(
        fmt::format("halving_doubling of {} is for powers of two, not {} ranks; {} or {} are", q.op,
                    w.ranks, std::int64_t{1} << log, std::int64_t{2} << log));
  }
  Phases p;
  for (std::int64_t k = 1; k <= log; ++k) {
    const double part = 1 / static_cast<double>(std::int64_t{1} << k);
    p.phases.push_back(OverRing(w, fmt::format("{:g}", part), 1, q.bytes * part));
  }
  return p;
}

Result<Phases> DisseminationBarrierTime(const Wiring& w, const Question&) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "dissemination"));
  return Phases{{OverRing(w, "0", static_cast<double>(CeilLog2(w.ranks)), 0)}};
}

}  // namespace chorus
