// Recursive doubling and halving where N is no power of two or ranks are on several levels, and
// scans: exchanges in which some ranks run ahead of others.
//
// Let P be the largest power of two up to N, M = N - P. Of the first 2 M ranks each odd one gives
// what it has to the even one before it and waits for the result; the others are the core, numbered
// v = 0 .. P - 1 in rank order. Core numbers below M stand for two ranks: they begin a round later
// and send more.
#include <algorithm>
#include <array>
#include <string_view>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

constexpr Number kNothing = Timetable::kNothing;

// Core numbers and what has come to them. Those that are named; where the table folds they stand
// for all.
struct Core {
  Core(const Wiring& w, Timetable& t)
      : levels(FloorLog2(w.ranks)),
        size(std::int64_t{1} << levels),
        surplus(w.ranks - size),
        named(surplus == 0 ? t.FoldByBits() : size),
        got(named, kNothing),
        folded(named, kNothing) {}

  // OkStatus if there are not too many messages in so many exchanges.
  Status Allows(Timetable& t, std::string_view algorithm, std::int64_t exchanges) const {
    return t.Allows(algorithm, exchanges * named + 2 * surplus);
  }

  std::int64_t RankOf(std::int64_t u) const { return u < surplus ? 2 * u : u + surplus; }
  // Ranks that the core numbers first .. first + count - 1 stand for: those below M for two.
  double StandFor(std::int64_t first, std::int64_t count) const {
    return static_cast<double>(count + std::clamp<std::int64_t>(surplus - first, 0, count));
  }
  // Core numbers that each keeps after round k of a halving: those alike modulo 2^(k+1).
  double Kept(std::int64_t k) const { return static_cast<double>(size >> (k + 1)); }
  // The ranks that those of u stand for.
  double KeptRanks(std::int64_t u, std::int64_t k) const {
    const std::int64_t stride = std::int64_t{2} << k, first = u % stride;
    const std::int64_t twice = first < surplus ? (surplus - 1 - first) / stride + 1 : 0;
    return static_cast<double>((size >> (k + 1)) + twice);
  }
  // Raw contributions travel in round 0 only, from a core number that stands for itself alone.
  double Weight(const Question& q, std::int64_t k, std::int64_t u) const {
    return k == 0 && u >= surplus ? 1 : q.accumulator_ratio;
  }

  // The odd ranks give theirs.
  void Fold(Timetable& t, double bytes) {
    for (std::int64_t u = 0; u < surplus; ++u) {
      got[u] = folded[u] = t.Send(RankOf(u) + 1, RankOf(u), bytes, {});
    }
  }
  // They get the result.
  void Unfold(Timetable& t, double bytes) {
    for (std::int64_t u = 0; u < surplus; ++u) t.Send(RankOf(u), RankOf(u) + 1, bytes, {got[u]});
  }
  // When a receiver takes what comes.
  enum class Takes : std::uint8_t {
    kAtOnce,
    kAfterRounds,  // before, but not after what is folded: that is added when there is a sum
    kAfterAll,
  };
  // All core numbers exchange with the one 2^k away. bytes_of(u): what u sends.
  template <typename BytesOf>
  void Exchange(Timetable& t, std::int64_t k, Takes takes, const BytesOf& bytes_of) {
    Numbers next = got;
    for (std::int64_t u = 0; u < named; ++u) {
      const std::int64_t other = u ^ (std::int64_t{1} << k), peer = other % named;
      const bool waits =
          takes == Takes::kAfterAll || (takes == Takes::kAfterRounds && got[peer] != folded[peer]);
      const Number taken = waits ? got[peer] : kNothing;
      next[peer] =
          t.All({got[peer], t.Send(RankOf(u), RankOf(other), bytes_of(u), {got[u], taken})});
    }
    got = std::move(next);
  }

  std::int64_t levels;
  std::int64_t size;     // P
  std::int64_t surplus;  // M
  std::int64_t named;
  Numbers got;
  Numbers folded;
};

}  // namespace

Result<Phases> FoldedAllGatherTime(const Wiring& w, const Question& q) {
  const double block = q.bytes / RanksOf(w);
  Timetable t(w);
  Core core(w, t);
  CHORUS_RETURN_IF_ERROR(core.Allows(t, "recursive_doubling", core.levels));
  core.Fold(t, block);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterAll, [&](std::int64_t u) {
      return core.StandFor(u >> k << k, std::int64_t{1} << k) * block;
    });
  }
  core.Unfold(t, q.bytes - block);
  return Listed(std::move(t), "recursive_doubling");
}

Result<Phases> FoldedReduceScatterTime(const Wiring& w, const Question& q) {
  const double block = q.bytes / RanksOf(w);
  Timetable t(w);
  Core core(w, t);
  CHORUS_RETURN_IF_ERROR(core.Allows(t, "recursive_halving", core.levels));
  core.Fold(t, q.bytes);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterRounds, [&](std::int64_t u) {
      return core.Weight(q, k, u) * core.KeptRanks(u ^ (std::int64_t{1} << k), k) * block;
    });
  }
  core.Unfold(t, block);
  return Listed(std::move(t), "recursive_halving");
}

Result<Phases> FoldedHalvingDoublingTime(const Wiring& w, const Question& q) {
  Timetable t(w);
  Core core(w, t);
  CHORUS_RETURN_IF_ERROR(core.Allows(t, "halving_doubling", 2 * core.levels));
  const double block = q.bytes / static_cast<double>(core.size);
  core.Fold(t, q.bytes);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterAll,
                  [&](std::int64_t u) { return core.Weight(q, k, u) * core.Kept(k) * block; });
  }
  for (std::int64_t k = core.levels - 1; k >= 0; --k) {
    core.Exchange(t, k, Core::Takes::kAtOnce, [&](std::int64_t) { return core.Kept(k) * block; });
  }
  core.Unfold(t, q.bytes);
  return Listed(std::move(t), "halving_doubling");
}

// A sum has two places, used in turn, and so has what arrives: a rank takes what comes in round k
// when it has added that of round k - 2 and sent in round k - 1, and adds when it has sent that
// sum's place.
Result<Phases> FoldedDoublingAllReduceTime(const Wiring& w, const Question& q) {
  Timetable t(w);
  Core core(w, t);
  CHORUS_RETURN_IF_ERROR(core.Allows(t, "recursive_doubling", core.levels));
  core.Fold(t, q.bytes);
  const std::vector<Numbers> none(core.levels, Numbers(core.named, kNothing));
  auto added = none, sent = none;
  for (std::int64_t k = 0; k < core.levels; ++k) {
    Numbers came(core.named);
    for (std::int64_t u = 0; u < core.named; ++u) {
      const std::int64_t other = u ^ (std::int64_t{1} << k), peer = other % core.named;
      const std::array<Number, 3> after = {
          k == 0 ? core.folded[u] : added[k - 1][u],
          k == 0 ? core.folded[peer] : sent[k - 1][peer],
          k > 1 ? added[k - 2][peer] : kNothing,
      };
      sent[k][u] = came[peer] =
          t.Send(core.RankOf(u), core.RankOf(other), core.Weight(q, k, u) * q.bytes, after);
    }
    for (std::int64_t u = 0; u < core.named; ++u) {
      // The result goes where the first round's may come from.
      const Number place = k + 1 == core.levels ? sent[0][u] : k > 0 ? sent[k - 1][u] : kNothing;
      added[k][u] = t.All({came[u], k == 0 ? core.folded[u] : added[k - 1][u], place});
    }
  }
  core.got = added.back();
  core.Unfold(t, q.bytes);
  return Listed(std::move(t), "recursive_doubling");
}

// Round k: rank r sends the sum of up to 2^k ranks to r + 2^k. Sums have two places each, as above.
// An exscan keeps what came apart from what it passes on, and passes on only what is needed.
Result<Phases> DoublingScanTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "recursive_doubling"));
  const bool inclusive = q.op == "scan";
  Timetable t(w);
  const std::int64_t rounds = CeilLog2(w.ranks);
  const std::int64_t all_steps = (std::int64_t{1} << rounds) - 1;
  CHORUS_RETURN_IF_ERROR(t.Allows("recursive_doubling", rounds * w.ranks - all_steps));
  // By round and rank: messages after which it has come, is added to what is passed on, is added to
  // what is kept (exscan), was sent.
  const std::vector<Numbers> none(rounds, Numbers(w.ranks, kNothing));
  auto came = none, passed = none, kept = none, sent = none;
  Numbers latest(w.ranks, kNothing);  // of passed
  for (std::int64_t k = 0; k < rounds; ++k) {
    const std::int64_t step = std::int64_t{1} << k;
    for (std::int64_t r = 0; r + step < w.ranks; ++r) {
      const Number passed_there = k > 1 ? passed[k - 2][r + step] : kNothing;
      const Number kept_there = k > 1 ? kept[k - 2][r + step] : kNothing;
      const double weight = k == 0 || r == 0 ? 1 : q.accumulator_ratio;
      sent[k][r] = came[k][r + step] =
          t.Send(r, r + step, weight * q.bytes, {latest[r], passed_there, kept_there});
    }
    for (std::int64_t r = step; r < w.ranks; ++r) {
      const std::int64_t next = inclusive ? r : r + 2 * step;
      if (next < w.ranks) {
        const Number before = k > 0 ? passed[k - 1][r] : kNothing;
        passed[k][r] = latest[r] = t.All({came[k][r], before, k > 0 ? sent[k - 1][r] : kNothing});
      }
      if (!inclusive && k > 0) {
        kept[k][r] = t.All({came[k][r], came[k - 1][r], kept[k - 1][r]});
      }
    }
  }
  return Listed(std::move(t), "recursive_doubling");
}

}  // namespace chorus
