// Exchanges in rounds: each rank with another one, at distance 1, 2, 4, ... or 1, 2, 3, ...
//
// If N is no power of two, recursive doubling and halving fold the surplus ranks onto neighbours,
// which wait for them and send more. Where that makes the messages of a pair differ in size, or one
// of a pair wait and the other not (odd N), they overlap with the next round's, and there is no
// closed form.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

bool IsPower(const Wiring& w) { return std::int64_t{1} << FloorLog2(w.ranks) == w.ranks; }

// `folds`: surplus ranks do no harm if all of them come in pairs.
Status NeedsPower(const Wiring& w, const Question& q, std::string_view algorithm, bool folds) {
  if (IsPower(w) || (folds && w.ranks % 2 == 0)) return OkStatus();
  const std::int64_t below = std::int64_t{1} << FloorLog2(w.ranks);
  return Unsupported(fmt::format(
      "{} of {} has a formula for powers of two{}, not for {} ranks; {} or {} are, and chorus "
      "simulate works it out",
      algorithm, q.op, folds ? " and other even numbers of ranks" : "", w.ranks, below, 2 * below));
}

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
  CHORUS_RETURN_IF_ERROR(NeedsPower(w, q, "recursive_doubling", false));
  Phases p;
  for (double part = 1; part < RanksOf(w); part *= 2) {
    p.phases.push_back(Round(w, q, part * q.bytes / RanksOf(w)));
  }
  return p;
}

Result<Phases> HalvingReduceScatterTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "recursive_halving"));
  CHORUS_RETURN_IF_ERROR(NeedsPower(w, q, "recursive_halving", false));
  Phases p;
  for (double part = RanksOf(w) / 2; part >= 1; part /= 2) {
    const double weight = p.phases.empty() ? 1 : q.accumulator_ratio;
    p.phases.push_back(Round(w, q, weight * part * q.bytes / RanksOf(w)));
  }
  return p;
}

// log2 P rounds of all, P the power of two up to N; two more where ranks are folded.
Result<Phases> DoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "recursive_doubling"));
  CHORUS_RETURN_IF_ERROR(NeedsPower(w, q, "recursive_doubling", q.accumulator_ratio == 1));
  const auto rounds = static_cast<double>(FloorLog2(w.ranks));
  if (q.accumulator_ratio == 1) {
    const double all = rounds + (IsPower(w) ? 0 : 2);
    return Phases{{OverRing(w, fmt::format("{:g}", all), all, q.bytes)}};
  }
  Phases p{{OverRing(w, "1", 1, q.bytes)}};
  if (rounds > 1) {
    p.phases.push_back(OverRing(w, fmt::format("{:g}", q.accumulator_ratio * (rounds - 1)),
                                rounds - 1, q.accumulator_ratio * q.bytes));
  }
  return p;
}

// Halves to a peer at distance 1, quarters at distance 2, ...; then back. If N is no power of two,
// the ranks above the largest one hand all they have to a partner and get all back.
Result<Phases> HalvingDoublingAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "halving_doubling"));
  CHORUS_RETURN_IF_ERROR(NeedsPower(w, q, "halving_doubling", q.accumulator_ratio == 1));
  Phases p;
  double part = 0.5;
  for (std::int64_t k = 1; k <= FloorLog2(w.ranks); ++k, part /= 2) {
    const double weight = k == 1 ? 1 : q.accumulator_ratio;
    p.phases.push_back(Round(w, q, weight * part * q.bytes));
    p.phases.push_back(Round(w, q, part * q.bytes));
  }
  if (!IsPower(w)) p.phases.push_back(OverRing(w, "2", 2, q.bytes));
  return p;
}

}  // namespace chorus
