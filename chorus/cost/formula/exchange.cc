// Exchanges in rounds: each rank with another one, at distance 1, 2, 4, ... or 1, 2, 3, ...
//
// If N is no power of two, recursive doubling and halving fold the surplus ranks onto neighbours,
// which wait for them and send more, so that rounds overlap; so do they where peers inside a node
// are nearer than others: folded.cc.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

// True if all ranks do the same at the same time.
bool InRounds(const Wiring& w) {
  return IsRing(w) && std::int64_t{1} << FloorLog2(w.ranks) == w.ranks;
}

Phase Round(const Wiring& w, const Question& q, double bytes) {
  return OverRing(w, fmt::format("{:.4g}", q.bytes == 0 ? 0 : bytes / q.bytes), 1, bytes);
}

// Where rounds do not keep step: in round k every rank sends bytes_of(k) to the rank `step_of(k)`
// further, when all of the rounds before has come.
template <typename StepOf, typename BytesOf>
Result<Phases> Rounds(const Wiring& w, std::string_view name, std::int64_t rounds,
                      const StepOf& step_of, const BytesOf& bytes_of) {
  Timetable t(w);
  const std::int64_t ranks = t.FoldByShifts();
  CHORUS_RETURN_IF_ERROR(t.Allows(name, rounds * ranks));
  Timetable::Numbers came(ranks, Timetable::kNothing);
  for (std::int64_t k = 0; k < rounds; ++k) {
    Timetable::Numbers next = came;
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t to = (r + step_of(k)) % w.ranks;
      next[to % ranks] = t.All({came[to % ranks], t.Send(r, to, bytes_of(k), {came[r]})});
    }
    came = std::move(next);
  }
  return Listed(std::move(t), name);
}

}  // namespace

// Every rank goes on to the next peer when it has sent to this one and received.
Result<Phases> PairwiseAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "pairwise"));
  const double block = q.bytes / RanksOf(w);
  if (IsRing(w)) return Phases{{OverRing(w, "(N - 1)/N", RanksOf(w) - 1, block)}};
  Timetable t(w);
  const std::int64_t ranks = t.FoldByShifts();
  CHORUS_RETURN_IF_ERROR(t.Allows("pairwise", ranks * (w.ranks - 1)));
  // With the peer before; by rank.
  Timetable::Numbers sent(ranks, Timetable::kNothing), came = sent;
  for (std::int64_t step = 1; step < w.ranks; ++step) {
    Timetable::Numbers now_sent(ranks), now_came(ranks);
    for (std::int64_t r = 0; r < ranks; ++r) {
      const std::int64_t to = (r + step) % w.ranks, peer = to % ranks;
      const auto message = t.Send(r, to, block, {sent[r], came[r], sent[peer], came[peer]});
      now_sent[r] = now_came[peer] = message;
    }
    sent = std::move(now_sent);
    came = std::move(now_came);
  }
  return Listed(std::move(t), "pairwise");
}

// Round k: 2^k blocks, or what is missing.
Result<Phases> BruckAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "bruck"));
  const auto bytes_of = [&](std::int64_t k) {
    const std::int64_t reach = std::int64_t{1} << k;
    return static_cast<double>(std::min(reach, w.ranks - reach)) * q.bytes / RanksOf(w);
  };
  const std::int64_t rounds = CeilLog2(w.ranks);
  if (!IsRing(w)) {
    const auto to_the_left = [&](std::int64_t k) { return w.ranks - (std::int64_t{1} << k); };
    return Rounds(w, "bruck", rounds, to_the_left, bytes_of);
  }
  Phases p;
  for (std::int64_t k = 0; k < rounds; ++k) p.phases.push_back(Round(w, q, bytes_of(k)));
  return p;
}

// Round k: the blocks whose distance has bit k.
Result<Phases> BruckAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "bruck"));
  const auto bytes_of = [&](std::int64_t k) {
    const std::int64_t bit = std::int64_t{1} << k;
    const std::int64_t whole = w.ranks / (2 * bit), rest = w.ranks % (2 * bit);
    const auto blocks = static_cast<double>(whole * bit + std::max<std::int64_t>(0, rest - bit));
    return blocks * q.bytes / RanksOf(w);
  };
  const std::int64_t rounds = CeilLog2(w.ranks);
  if (!IsRing(w)) {
    const auto to_the_right = [](std::int64_t k) { return std::int64_t{1} << k; };
    return Rounds(w, "bruck", rounds, to_the_right, bytes_of);
  }
  Phases p;
  for (std::int64_t k = 0; k < rounds; ++k) p.phases.push_back(Round(w, q, bytes_of(k)));
  return p;
}

Result<Phases> DoublingAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "recursive_doubling"));
  if (!InRounds(w)) return FoldedAllGatherTime(w, q);
  Phases p;
  for (double part = 1; part < RanksOf(w); part *= 2) {
    p.phases.push_back(Round(w, q, part * q.bytes / RanksOf(w)));
  }
  return p;
}

Result<Phases> HalvingReduceScatterTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "recursive_halving"));
  if (!InRounds(w)) return FoldedReduceScatterTime(w, q);
  Phases p;
  for (double part = RanksOf(w) / 2; part >= 1; part /= 2) {
    const double weight = p.phases.empty() ? 1 : q.accumulator_ratio;
    p.phases.push_back(Round(w, q, weight * part * q.bytes / RanksOf(w)));
  }
  return p;
}

// log2 N rounds of all.
Result<Phases> DoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "recursive_doubling"));
  if (!InRounds(w)) return FoldedDoublingAllReduceTime(w, q);
  const auto rounds = static_cast<double>(FloorLog2(w.ranks));
  if (q.accumulator_ratio == 1) {
    return Phases{{OverRing(w, fmt::format("{:g}", rounds), rounds, q.bytes)}};
  }
  Phases p{{OverRing(w, "1", 1, q.bytes)}};
  if (rounds > 1) {
    p.phases.push_back(OverRing(w, fmt::format("{:g}", q.accumulator_ratio * (rounds - 1)),
                                rounds - 1, q.accumulator_ratio * q.bytes));
  }
  return p;
}

// Halves to a peer at distance 1, quarters at distance 2, ...; then back.
Result<Phases> HalvingDoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "halving_doubling"));
  if (!InRounds(w)) return FoldedHalvingDoublingTime(w, q);
  Phases p;
  double part = 0.5;
  for (std::int64_t k = 1; k <= FloorLog2(w.ranks); ++k, part /= 2) {
    const double weight = k == 1 ? 1 : q.accumulator_ratio;
    p.phases.push_back(Round(w, q, weight * part * q.bytes));
    p.phases.push_back(Round(w, q, part * q.bytes));
  }
  return p;
}

}  // namespace chorus
