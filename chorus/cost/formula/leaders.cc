// Algorithms whose name has numbers: ranks in groups, wherever they are.
//
//   two_level:L   neighbours in groups of L, the first of a group its leader: members give to it,
//                 leaders exchange, leaders give back. M groups
//   torus:AxB     ranks in a grid, a ring along each axis one after another
#include <fmt/format.h>

#include <numeric>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

// Groups of one size, on one switch: a port carries all that its rank sends or gets.
struct Groups {
  double members = 0;  // L
  double groups = 0;   // M
  double block = 0;    // V / N
};

Result<Groups> EvenGroups(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "two_level"));
  const bool on_ports = w.fabric == Fabric::kSwitch || w.node_size == 1;
  if (!on_ports || q.numbers.size() != 1 || q.numbers[0] < 1 || w.ranks % q.numbers[0] != 0) {
    return Unsupported(
        fmt::format("two_level has a formula for groups of one size on a switch, as two_level:L "
                    "with L a divisor of {}; chorus simulate works the others out",
                    w.ranks));
  }
  const std::int64_t groups = w.ranks / q.numbers[0];
  return Groups{static_cast<double>(q.numbers[0]), static_cast<double>(groups),
                q.bytes / static_cast<double>(w.ranks)};
}

void AddRound(const Wiring& w, const Question& q, double bytes, std::vector<Phase>& phases) {
  if (bytes == 0 && q.bytes != 0) return;
  phases.push_back(
      OverRing(w, fmt::format("{:.4g}", q.bytes == 0 ? 0 : bytes / q.bytes), 1, bytes));
}

// The sums of a group of one are raw contributions.
double SumWeight(const Groups& g, const Question& q) {
  return g.members == 1 ? 1 : q.accumulator_ratio;
}

}  // namespace

Result<Phases> LeadersAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, EvenGroups(w, q));
  Phases p;
  AddRound(w, q, (g.members - 1) * g.block, p.phases);
  AddRound(w, q, (g.groups - 1) * g.members * g.block, p.phases);
  AddRound(w, q, (g.members - 1) * (q.bytes - g.block), p.phases);
  return p;
}

Result<Phases> LeadersReduceScatterTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, EvenGroups(w, q));
  Phases p;
  AddRound(w, q, (g.members - 1) * q.bytes, p.phases);
  AddRound(w, q, (g.groups - 1) * g.members * g.block * SumWeight(g, q), p.phases);
  AddRound(w, q, (g.members - 1) * g.block, p.phases);
  return p;
}

Result<Phases> LeadersAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, EvenGroups(w, q));
  const double part = q.bytes / g.groups;
  Phases p;
  AddRound(w, q, (g.members - 1) * q.bytes, p.phases);
  AddRound(w, q, (g.groups - 1) * part * SumWeight(g, q), p.phases);
  AddRound(w, q, (g.groups - 1) * part, p.phases);
  AddRound(w, q, (g.members - 1) * q.bytes, p.phases);
  return p;
}

// The root stands for its group's leader; it sends to the other leaders and to its members at once.
Result<Phases> LeadersBroadcastTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, EvenGroups(w, q));
  Phases p;
  AddRound(w, q, (g.groups - 1 + g.members - 1) * q.bytes, p.phases);
  if (g.groups > 1) AddRound(w, q, (g.members - 1) * q.bytes, p.phases);
  return p;
}

namespace {

// Along an axis of d ranks whose later axes have `stride` ranks: d - 1 rounds of `stride` blocks.
Result<Phases> AlongAxes(const Wiring& w, const Question& q, bool sums) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "torus"));
  const std::int64_t ranks =
      std::accumulate(q.numbers.begin(), q.numbers.end(), std::int64_t{1}, std::multiplies<>());
  if (ranks != w.ranks) {
    return Unsupported(
        fmt::format("this torus has {} ranks, the machine {}; give sizes whose "
                    "product is {}",
                    ranks, w.ranks, w.ranks));
  }
  Phases p;
  std::int64_t stride = ranks;
  bool raw = sums;  // the very first round of a sum
  for (std::int64_t size : q.numbers) {
    stride /= size;
    const double bytes = static_cast<double>(stride) * q.bytes / static_cast<double>(ranks);
    auto rounds = static_cast<double>(size - 1);
    if (rounds > 0 && raw) {
      p.phases.push_back(OverRing(w, fmt::format("{}/N", stride), 1, bytes));
      rounds -= 1;
      raw = false;
    }
    if (rounds > 0) {
      const double weight = sums ? q.accumulator_ratio : 1;
      p.phases.push_back(
          OverRing(w, fmt::format("{:g} x {}/N", rounds * weight, stride), rounds, weight * bytes));
    }
  }
  return p;
}

}  // namespace

Result<Phases> GridAllGatherTime(const Wiring& w, const Question& q) {
  return AlongAxes(w, q, false);
}
Result<Phases> GridReduceScatterTime(const Wiring& w, const Question& q) {
  return AlongAxes(w, q, true);
}
Result<Phases> GridAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, AlongAxes(w, q, true));
  CHORUS_ASSIGN_OR_RETURN(const Phases gather, AlongAxes(w, q, false));
  p.phases.insert(p.phases.end(), gather.phases.begin(), gather.phases.end());
  return p;
}

}  // namespace chorus
