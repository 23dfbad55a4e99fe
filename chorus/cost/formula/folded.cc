// Recursive doubling and halving where N is no power of two or ranks are on several levels, and
// scans: exchanges in which some ranks run ahead of others.
//
// Let P be the largest power of two up to N, M = N - P. Of the first 2 M ranks each odd one gives
// what it has to the even one before it and waits for the result; the others are the core, numbered
// v = 0 .. P - 1 in rank order. Core numbers below M stand for two ranks: they begin a round later
// and send more.
#include <algorithm>

#include "chorus/cost/formula/phases.h"
#include "chorus/cost/formula/timetable.h"

namespace chorus {
namespace {

using Number = Timetable::Number;
using Numbers = Timetable::Numbers;

Numbers Joined(Numbers a, const Numbers& b) {
  Append(a, b);
  return a;
}

// Core numbers and what has come to them.
struct Core {
  explicit Core(const Wiring& w)
      : levels(FloorLog2(w.ranks)),
        size(std::int64_t{1} << levels),
        surplus(w.ranks - size),
        got(size),
        folded(size) {}

  std::int64_t RankOf(std::int64_t u) const { return u < surplus ? 2 * u : u + surplus; }
  double StandsFor(std::int64_t u) const { return u < surplus ? 2 : 1; }
  // Raw contributions travel in round 0 only, from a core number that stands for itself alone.
  double Weight(const Question& q, std::int64_t k, std::int64_t u) const {
    return k == 0 && u >= surplus ? 1 : q.accumulator_ratio;
  }

  // The odd ranks give theirs.
  void Fold(Timetable& t, double bytes) {
    for (std::int64_t u = 0; u < surplus; ++u) {
      folded[u] = {t.Send(RankOf(u) + 1, RankOf(u), bytes, {})};
      got[u] = folded[u];
    }
  }
  // They get the result.
  void Unfold(Timetable& t, double bytes) {
    for (std::int64_t u = 0; u < surplus; ++u) t.Send(RankOf(u), RankOf(u) + 1, bytes, got[u]);
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
    std::vector<Numbers> next = got;
    for (std::int64_t u = 0; u < size; ++u) {
      const std::int64_t other = u ^ (std::int64_t{1} << k);
      Numbers after = got[u];
      if (takes == Takes::kAfterRounds) Append(after, WithoutFold(other));
      if (takes == Takes::kAfterAll) Append(after, got[other]);
      next[other].push_back(t.Send(RankOf(u), RankOf(other), bytes_of(u), after));
    }
    got = std::move(next);
  }
  // What has come to u, if it is more than what is folded.
  Numbers WithoutFold(std::int64_t u) const {
    Numbers rest = got[u];
    if (rest.size() == folded[u].size()) return {};
    return rest;
  }

  std::int64_t levels;
  std::int64_t size;     // P
  std::int64_t surplus;  // M
  std::vector<Numbers> got;
  std::vector<Numbers> folded;
};

// Blocks of the core numbers that u keeps after round k of a halving: those alike modulo 2^(k+1).
double Kept(const Core& core, std::int64_t u, std::int64_t k, bool by_rank) {
  const std::int64_t stride = std::int64_t{2} << k;
  double blocks = 0;
  for (std::int64_t q = u % stride; q < core.size; q += stride) {
    blocks += by_rank ? core.StandsFor(q) : 1;
  }
  return blocks;
}

}  // namespace

Result<Phases> FoldedAllGatherTime(const Wiring& w, const Question& q) {
  const double block = q.bytes / RanksOf(w);
  Timetable t(w, q);
  Core core(w);
  core.Fold(t, block);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterAll, [&](std::int64_t u) {
      double blocks = 0;
      const std::int64_t first = u >> k << k;
      for (std::int64_t j = 0; j < std::int64_t{1} << k; ++j) blocks += core.StandsFor(first + j);
      return blocks * block;
    });
  }
  core.Unfold(t, q.bytes - block);
  return t.Longest("recursive_doubling");
}

Result<Phases> FoldedReduceScatterTime(const Wiring& w, const Question& q) {
  const double block = q.bytes / RanksOf(w);
  Timetable t(w, q);
  Core core(w);
  core.Fold(t, q.bytes);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterRounds, [&](std::int64_t u) {
      return core.Weight(q, k, u) * Kept(core, u ^ (std::int64_t{1} << k), k, true) * block;
    });
  }
  core.Unfold(t, block);
  return t.Longest("recursive_halving");
}

Result<Phases> FoldedHalvingDoublingTime(const Wiring& w, const Question& q) {
  Timetable t(w, q);
  Core core(w);
  const double block = q.bytes / static_cast<double>(core.size);
  core.Fold(t, q.bytes);
  for (std::int64_t k = 0; k < core.levels; ++k) {
    core.Exchange(t, k, Core::Takes::kAfterAll, [&](std::int64_t u) {
      return core.Weight(q, k, u) * Kept(core, u ^ (std::int64_t{1} << k), k, false) * block;
    });
  }
  for (std::int64_t k = core.levels - 1; k >= 0; --k) {
    core.Exchange(t, k, Core::Takes::kAtOnce,
                  [&](std::int64_t u) { return Kept(core, u, k, false) * block; });
  }
  core.Unfold(t, q.bytes);
  return t.Longest("halving_doubling");
}

// A sum has two places, used in turn, and so has what arrives: a rank takes what comes in round k
// when it has added that of round k - 2 and sent in round k - 1, and adds when it has sent that
// sum's place.
Result<Phases> FoldedDoublingAllReduceTime(const Wiring& w, const Question& q) {
  Timetable t(w, q);
  Core core(w);
  core.Fold(t, q.bytes);
  std::vector<std::vector<Numbers>> added(core.levels, std::vector<Numbers>(core.size));
  std::vector<std::vector<Numbers>> sent = added;
  for (std::int64_t k = 0; k < core.levels; ++k) {
    std::vector<Number> came(core.size);
    for (std::int64_t u = 0; u < core.size; ++u) {
      const std::int64_t other = u ^ (std::int64_t{1} << k);
      Numbers after = k == 0 ? core.folded[u] : added[k - 1][u];
      if (k == 0) Append(after, core.folded[other]);
      if (k > 1) Append(after, added[k - 2][other]);
      if (k > 0) Append(after, sent[k - 1][other]);
      came[other] =
          t.Send(core.RankOf(u), core.RankOf(other), core.Weight(q, k, u) * q.bytes, after);
      sent[k][u] = {came[other]};
    }
    for (std::int64_t u = 0; u < core.size; ++u) {
      added[k][u] = Joined({came[u]}, k == 0 ? core.folded[u] : added[k - 1][u]);
      if (k + 1 == core.levels) {
        Append(added[k][u], sent[0][u]);  // the result goes where the first round's may come from
      } else if (k > 0) {
        Append(added[k][u], sent[k - 1][u]);
      }
    }
  }
  core.got = added.back();
  core.Unfold(t, q.bytes);
  return t.Longest("recursive_doubling");
}

// Round k: rank r sends the sum of up to 2^k ranks to r + 2^k. Sums have two places each, as above.
// An exscan keeps what came apart from what it passes on, and passes on only what is needed.
Result<Phases> DoublingScanTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "recursive_doubling"));
  const bool inclusive = q.op == "scan";
  Timetable t(w, q);
  const std::int64_t rounds = CeilLog2(w.ranks);
  // By round and rank: messages after which it has come, is added to what is passed on, is added to
  // what is kept (exscan), was sent.
  const std::vector<std::vector<Numbers>> none(rounds, std::vector<Numbers>(w.ranks));
  auto came = none, passed = none, kept = none, sent = none;
  for (std::int64_t k = 0; k < rounds; ++k) {
    const std::int64_t step = std::int64_t{1} << k;
    for (std::int64_t r = 0; r + step < w.ranks; ++r) {
      Numbers after;
      for (std::int64_t before = 0; before < k; ++before) Append(after, passed[before][r]);
      if (k > 1) Append(after, passed[k - 2][r + step]);
      if (k > 1) Append(after, kept[k - 2][r + step]);
      const double weight = k == 0 || r == 0 ? 1 : q.accumulator_ratio;
      sent[k][r] = {t.Send(r, r + step, weight * q.bytes, after)};
      came[k][r + step] = sent[k][r];
    }
    for (std::int64_t r = step; r < w.ranks; ++r) {
      const std::int64_t next = inclusive ? r : r + 2 * step;
      if (next < w.ranks) {
        passed[k][r] = came[k][r];
        if (k > 0) Append(passed[k][r], Joined(passed[k - 1][r], sent[k - 1][r]));
      }
      if (!inclusive && k > 0) {
        kept[k][r] = Joined(came[k][r], Joined(came[k - 1][r], kept[k - 1][r]));
      }
    }
  }
  return t.Longest("recursive_doubling");
}

}  // namespace chorus
