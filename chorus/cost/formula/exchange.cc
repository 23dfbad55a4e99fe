// Exchanges in rounds: each rank with another one, at distance 1, 2, 4, ... or 1, 2, 3, ...
//
// If N is no power of two, recursive doubling and halving fold the surplus ranks onto neighbours,
// which wait for them and send more, so that rounds overlap: folded.cc.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

bool IsPower(const Wiring& w) { return std::int64_t{1} << FloorLog2(w.ranks) == w.ranks; }

Phase Round(const Wiring& w, const Question& q, double bytes) {
  return OverRing(w, fmt::format("{:.4g}", q.bytes == 0 ? 0 : bytes / q.bytes), 1, bytes);
}

}  // namespace

Result<Phases> PairwiseAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "pairwise"));
  return Phases{{OverRing(w, "(N - 1)/N", RanksOf(w) - 1, q.bytes / RanksOf(w))}};
}

// Round k: 2^k blocks, or what is missing.
Result<Phases> BruckAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "bruck"));
  Phases p;
  for (std::int64_t reach = 1; reach < w.ranks; reach *= 2) {
    const auto blocks = static_cast<double>(std::min(reach, w.ranks - reach));
    p.phases.push_back(Round(w, q, blocks * q.bytes / RanksOf(w)));
  }
  return p;
}

// Round k: the blocks whose distance has bit k.
Result<Phases> BruckAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "bruck"));
  Phases p;
  for (std::int64_t bit = 1; bit < w.ranks; bit *= 2) {
    const std::int64_t whole = w.ranks / (2 * bit), rest = w.ranks % (2 * bit);
    const auto blocks = static_cast<double>(whole * bit + std::max<std::int64_t>(0, rest - bit));
    p.phases.push_back(Round(w, q, blocks * q.bytes / RanksOf(w)));
  }
  return p;
}

Result<Phases> DoublingAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "recursive_doubling"));
  if (!IsPower(w)) return FoldedAllGatherTime(w, q);
  Phases p;
  for (double part = 1; part < RanksOf(w); part *= 2) {
    p.phases.push_back(Round(w, q, part * q.bytes / RanksOf(w)));
  }
  return p;
}

Result<Phases> HalvingReduceScatterTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "recursive_halving"));
  if (!IsPower(w)) return FoldedReduceScatterTime(w, q);
  Phases p;
  for (double part = RanksOf(w) / 2; part >= 1; part /= 2) {
    const double weight = p.phases.empty() ? 1 : q.accumulator_ratio;
    p.phases.push_back(Round(w, q, weight * part * q.bytes / RanksOf(w)));
  }
  return p;
}

// log2 N rounds of all.
Result<Phases> DoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "recursive_doubling"));
  if (!IsPower(w)) return FoldedDoublingAllReduceTime(w, q);
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
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "halving_doubling"));
  if (!IsPower(w)) return FoldedHalvingDoublingTime(w, q);
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
