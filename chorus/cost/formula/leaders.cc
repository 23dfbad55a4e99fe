// Algorithms whose name has numbers: ranks in groups, wherever they are.
//
//   two_level:L   neighbours in groups of L, the first of a group its leader: members give to it,
//                 leaders exchange, leaders give back. M groups
//   torus:AxB     ranks in a grid, a ring along each axis one after another
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

// The groups of "two_level:L" (the last one has what is left) or "two_level:A+B+C".
struct Groups {
  std::vector<std::int64_t> first;  // by group: its leader; one more for the end
  bool even = false;                // all of one size, on ports: rounds follow each other

  std::int64_t count() const { return std::ssize(first) - 1; }
  std::int64_t Size(std::int64_t group) const { return first[group + 1] - first[group]; }
  // The sums of a group of one are raw contributions.
  double SumWeight(const Question& q, std::int64_t group) const {
    return Size(group) == 1 ? 1 : q.accumulator_ratio;
  }
};

Result<Groups> GroupsOf(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "two_level"));
  Groups g;
  std::int64_t next = 0;
  g.first.push_back(0);
  if (q.numbers.size() == 1) {
    while (next < w.ranks) g.first.push_back(next = std::min(w.ranks, next + q.numbers[0]));
    const bool on_ports = IsRing(w) && (w.fabric == Fabric::kSwitch || w.node_size == 1);
    g.even = on_ports && w.ranks % q.numbers[0] == 0;
    return g;
  }
  for (const std::int64_t size : q.numbers) g.first.push_back(next += size);
  if (next == w.ranks) return g;
  return InvalidArgument(
      fmt::format("these groups have {} ranks, the machine {}; give sizes whose sum is {}", next,
                  w.ranks, w.ranks));
}

// Groups of one size L, M of them: what formulas need.
struct EvenGroups {
  EvenGroups(const Groups& g, const Wiring& w, const Question& q)
      : members(static_cast<double>(g.Size(0))),
        groups(static_cast<double>(g.count())),
        block(q.bytes / RanksOf(w)),
        weight(g.SumWeight(q, 0)) {}
  double members;  // L
  double groups;   // M
  double block;    // V / N
  double weight;   // of a group's sum
};

void AddRound(const Wiring& w, const Question& q, double bytes, std::vector<Phase>& phases) {
  if (bytes == 0 && q.bytes != 0) return;
  phases.push_back(
      OverRing(w, fmt::format("{:.4g}", q.bytes == 0 ? 0 : bytes / q.bytes), 1, bytes));
}

// Groups whose messages are named; where the table folds they stand for all.
struct NamedGroups {
  NamedGroups(Timetable& t, const Groups& g, const Wiring& w) : groups(g), count(g.count()) {
    const std::int64_t size = g.Size(0);
    for (std::int64_t i = 0; i < count; ++i) {
      if (g.Size(i) != size) return;
    }
    if (const std::int64_t ranks = t.FoldByShifts(size); ranks < w.ranks) count = ranks / size;
  }

  // OkStatus if there are not too many messages between leaders, so many times, and with members.
  Status Allows(Timetable& t, const Wiring& w, std::int64_t times) const {
    return t.Allows("two_level",
                    times * count * (groups.count() - 1) + 2 * w.ranks * count / groups.count());
  }

  const Groups& groups;
  std::int64_t count;
};

// After which message a leader has what has come to it, by group.
Numbers FromMembers(Timetable& t, const NamedGroups& named, double bytes) {
  const Groups& g = named.groups;
  Numbers arrived;
  for (std::int64_t i = 0; i < named.count; ++i) {
    Numbers from_members;
    for (std::int64_t rank = g.first[i] + 1; rank < g.first[i + 1]; ++rank) {
      from_members.push_back(t.Send(rank, g.first[i], bytes, {}));
    }
    arrived.push_back(t.All(from_members));
  }
  return arrived;
}

// Every leader to every other one, after what has come to it and what `at_other` says of the other;
// `bytes_of(from, to)` of groups. What comes adds to `arrived`; what went is returned.
template <typename BytesOf>
Numbers BetweenLeaders(Timetable& t, const NamedGroups& named, Numbers& arrived,
                       const Numbers& at_other, const BytesOf& bytes_of) {
  const Groups& g = named.groups;
  std::vector<Numbers> came(named.count);
  Numbers sent;
  for (std::int64_t from = 0; from < named.count; ++from) {
    Numbers went;
    for (std::int64_t to = 0; to < g.count(); ++to) {
      if (from == to) continue;
      const std::int64_t peer = to % named.count;
      const Number there = at_other.empty() ? Timetable::kNothing : at_other[peer];
      went.push_back(
          t.Send(g.first[from], g.first[to], bytes_of(from, to), {arrived[from], there}));
      came[peer].push_back(went.back());
    }
    sent.push_back(t.All(went));
  }
  for (std::int64_t i = 0; i < named.count; ++i) {
    came[i].push_back(arrived[i]);
    arrived[i] = t.All(came[i]);
  }
  return sent;
}

void ToMembers(Timetable& t, const NamedGroups& named, const Numbers& arrived, double bytes) {
  const Groups& g = named.groups;
  for (std::int64_t i = 0; i < named.count; ++i) {
    for (std::int64_t rank = g.first[i] + 1; rank < g.first[i + 1]; ++rank) {
      t.Send(g.first[i], rank, bytes, {arrived[i]});
    }
  }
}

}  // namespace

Result<Phases> LeadersAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, GroupsOf(w, q));
  const EvenGroups e(g, w, q);
  if (g.even) {
    Phases p;
    AddRound(w, q, (e.members - 1) * e.block, p.phases);
    AddRound(w, q, (e.groups - 1) * e.members * e.block, p.phases);
    AddRound(w, q, (e.members - 1) * (q.bytes - e.block), p.phases);
    return p;
  }
  Timetable t(w);
  const NamedGroups named(t, g, w);
  CHORUS_RETURN_IF_ERROR(named.Allows(t, w, 1));
  Numbers arrived = FromMembers(t, named, e.block);
  BetweenLeaders(t, named, arrived, {}, [&](std::int64_t from, std::int64_t) {
    return static_cast<double>(g.Size(from)) * e.block;
  });
  ToMembers(t, named, arrived, q.bytes - e.block);
  return Listed(std::move(t), "two_level");
}

Result<Phases> LeadersReduceScatterTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, GroupsOf(w, q));
  const EvenGroups e(g, w, q);
  if (g.even) {
    Phases p;
    AddRound(w, q, (e.members - 1) * q.bytes, p.phases);
    AddRound(w, q, (e.groups - 1) * e.members * e.block * e.weight, p.phases);
    AddRound(w, q, (e.members - 1) * e.block, p.phases);
    return p;
  }
  Timetable t(w);
  const NamedGroups named(t, g, w);
  CHORUS_RETURN_IF_ERROR(named.Allows(t, w, 1));
  Numbers arrived = FromMembers(t, named, q.bytes);
  BetweenLeaders(t, named, arrived, {}, [&](std::int64_t from, std::int64_t to) {
    return static_cast<double>(g.Size(to)) * e.block * g.SumWeight(q, from);
  });
  ToMembers(t, named, arrived, e.block);
  return Listed(std::move(t), "two_level");
}

Result<Phases> LeadersAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, GroupsOf(w, q));
  const EvenGroups e(g, w, q);
  const double part = q.bytes / e.groups;
  if (g.even) {
    Phases p;
    AddRound(w, q, (e.members - 1) * q.bytes, p.phases);
    AddRound(w, q, (e.groups - 1) * part * e.weight, p.phases);
    AddRound(w, q, (e.groups - 1) * part, p.phases);
    AddRound(w, q, (e.members - 1) * q.bytes, p.phases);
    return p;
  }
  Timetable t(w);
  const NamedGroups named(t, g, w);
  CHORUS_RETURN_IF_ERROR(named.Allows(t, w, 2));
  Numbers arrived = FromMembers(t, named, q.bytes);
  const Numbers sent = BetweenLeaders(t, named, arrived, {}, [&](std::int64_t from, std::int64_t) {
    return part * g.SumWeight(q, from);
  });
  // A leader takes finished sums when it has sent all of its own.
  BetweenLeaders(t, named, arrived, sent, [&](std::int64_t, std::int64_t) { return part; });
  ToMembers(t, named, arrived, q.bytes);
  return Listed(std::move(t), "two_level");
}

// The root stands for its group's leader; it sends to the other leaders and to its members at once.
Result<Phases> LeadersBroadcastTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(const Groups g, GroupsOf(w, q));
  const EvenGroups e(g, w, q);
  if (g.even) {
    Phases p;
    AddRound(w, q, (e.groups - 1 + e.members - 1) * q.bytes, p.phases);
    if (g.count() > 1) AddRound(w, q, (e.members - 1) * q.bytes, p.phases);
    return p;
  }
  Timetable t(w);
  CHORUS_RETURN_IF_ERROR(t.Allows("two_level", w.ranks - 1));
  // Groups of one size within nodes end as long after they begin: the one that begins last counts.
  struct Begun {
    std::int64_t first = 0;  // of one of them
    Numbers has;             // of all
  };
  std::map<std::int64_t, Begun> within;  // by size
  const auto spread = [&](std::int64_t holder, std::int64_t first, std::int64_t size, Number has) {
    for (std::int64_t rank = first; rank < first + size; ++rank) {
      if (rank != holder) t.Send(holder, rank, q.bytes, {has});
    }
  };
  for (std::int64_t i = 0; i < g.count(); ++i) {
    const std::int64_t first = g.first[i], end = g.first[i + 1];
    if (first <= q.root && q.root < end) {
      spread(q.root, first, g.Size(i), Timetable::kNothing);
      continue;
    }
    const Number has = t.Send(q.root, first, q.bytes, {});
    if (first / w.node_size == (end - 1) / w.node_size) {
      within[g.Size(i)].first = first;
      within[g.Size(i)].has.push_back(has);
    } else {
      spread(first, first, g.Size(i), has);
    }
  }
  for (const auto& [size, begun] : within) {
    spread(begun.first, begun.first, size, t.All(begun.has));
  }
  return Listed(std::move(t), "two_level");
}

namespace {

// Along an axis of d ranks whose later axes have `stride` ranks: d - 1 rounds of `stride` blocks.
Result<Phases> AlongAxes(const Wiring& w, const Question& q, bool sums) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "torus"));
  const std::int64_t ranks =
      std::accumulate(q.numbers.begin(), q.numbers.end(), std::int64_t{1}, std::multiplies<>());
  if (ranks != w.ranks) {
    return InvalidArgument(
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
