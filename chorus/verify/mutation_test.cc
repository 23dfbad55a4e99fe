// Every single mutation of every proved schedule, for N up to 8, every root, out of place and in
// place: it is rejected with its first wrong step, or it is accepted and then the interpreter shows
// that it gives the same results in several linear orders.
#include <gtest/gtest.h>

#include <iostream>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/interpreter.h"
#include "chorus/verify/verify.h"

namespace chorus {
namespace {

using Value = std::int64_t;

// Calls `visit(name, mutant)` for every single mutation of `e`.
template <typename Visit>
class Mutator {
 public:
  Mutator(const Expansion& e, const Visit& visit) : e_(e), mutant_(e), visit_(visit) {}

  void Run() {
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      for (std::int64_t i = 0; i < std::ssize(e_.ranks[rank]); ++i) {
        Delete(rank, i);
        if (i + 1 < std::ssize(e_.ranks[rank])) Swap(rank, i);
        ChangePeer(rank, i);
        DropDependency(rank, i);
        ChangeBlock(rank, i);
      }
    }
  }

 private:
  // `change` makes the mutant from a copy of the steps of one rank.
  template <typename Change>
  void Mutate(std::string_view name, std::int64_t rank, const Change& change) {
    change(mutant_.ranks[rank]);
    visit_(name, mutant_);
    mutant_.ranks[rank] = e_.ranks[rank];
  }

  void Delete(std::int64_t rank, std::int64_t i) {
    Mutate("delete", rank, [&](std::vector<Step>& steps) {
      steps.erase(steps.begin() + i);
      for (Step& step : steps) {
        std::erase(step.after, i);
        for (std::int64_t& before : step.after) before -= before > i ? 1 : 0;
      }
    });
  }

  // The dependencies follow the steps they meant.
  void Swap(std::int64_t rank, std::int64_t i) {
    Mutate("swap", rank, [&](std::vector<Step>& steps) {
      std::swap(steps[i], steps[i + 1]);
      for (Step& step : steps) {
        for (std::int64_t& before : step.after) {
          before = before == i ? i + 1 : before == i + 1 ? i : before;
        }
        std::sort(step.after.begin(), step.after.end());
      }
    });
  }

  void ChangePeer(std::int64_t rank, std::int64_t i) {
    if (!e_.ranks[rank][i].IsMessage()) return;
    for (std::int64_t peer = 0; peer < e_.group_size; ++peer) {
      if (peer == e_.ranks[rank][i].peer) continue;
      Mutate("peer", rank, [&](std::vector<Step>& steps) { steps[i].peer = peer; });
    }
  }

  void DropDependency(std::int64_t rank, std::int64_t i) {
    for (std::int64_t d = 0; d < std::ssize(e_.ranks[rank][i].after); ++d) {
      Mutate("dependency", rank,
             [&](std::vector<Step>& steps) { steps[i].after.erase(steps[i].after.begin() + d); });
    }
  }

  void ChangeBlock(std::int64_t rank, std::int64_t i) {
    const std::int64_t blocks = e_.frames[rank].blocks;
    for (std::size_t c = 0; c < e_.ranks[rank][i].chunks.size(); ++c) {
      for (std::int64_t by = 1; by < blocks; ++by) {
        Mutate("block", rank, [&](std::vector<Step>& steps) {
          steps[i].chunks[c].block = (steps[i].chunks[c].block + by) % blocks;
        });
      }
    }
  }

  const Expansion& e_;
  Expansion mutant_;
  const Visit& visit_;
};

RankBlocks<Value> Inputs(const Expansion& e, const Setting& setting) {
  RankBlocks<Value> in(e.group_size);
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    in[rank].resize(setting.block_elements.size());
    for (std::int64_t b = 0; b < std::ssize(setting.block_elements); ++b) {
      if (!InHolds(e.MemberOf(rank), b)) continue;
      for (std::int64_t i = 0; i < setting.block_elements[b]; ++i) {
        in[rank][b].push_back(1 + i + 100 * b + 10'000 * rank);
      }
    }
  }
  return in;
}

// Neither commutative nor associative, so that every change of a sum shows.
Arithmetic<Value> TellTale() {
  constexpr Value kPrime = 1'000'003;
  Arithmetic<Value> arithmetic;
  arithmetic.op = [](Value a, Value b) { return (a * 31 + b * b + 7) % kPrime; };
  arithmetic.scale = [](Value x) { return (x * 3 + 1) % kPrime; };
  arithmetic.finish = [](Value x) { return -x; };
  return arithmetic;
}

struct Counts {
  std::int64_t rejected = 0;
  std::int64_t equivalent = 0;
};
using CountsByName = std::map<std::string, Counts>;

std::string ToString(const CountsByName& counts) {
  std::string text;
  for (const auto& [name, c] : counts) {
    text += (text.empty() ? "" : " ") + name + " " + std::to_string(c.rejected) + "+" +
            std::to_string(c.equivalent);
  }
  return text;
}

class Judge {
 public:
  Judge(const Expansion& original, bool in_place) : in_place_(in_place) {
    for (std::int64_t b = 0; b < original.frames[0].blocks; ++b) {
      setting_.block_elements.push_back((1 + b) % 3);  // two tiles, and an empty block
    }
    setting_.tile_elements = 1;
    setting_.in_place = in_place;
    in_ = Inputs(original, setting_);
    const auto out = Interpret(original, setting_, TellTale(), in_);
    EXPECT_TRUE(out.ok()) << out.status().ToString();
    expected_ = *out;
  }

  void Visit(std::string_view name, const Expansion& mutant) {
    const Verdict verdict = Prove(mutant, in_place_);
    if (!verdict.ok()) {
      EXPECT_FALSE(verdict.fault->step.empty());
      EXPECT_FALSE(verdict.fault->why.empty());
      EXPECT_TRUE(verdict.fault->rank >= 0 && verdict.fault->rank < mutant.group_size);
      ++counts_[std::string(name)].rejected;
      return;
    }
    for (Pick pick : {Pick::kFirst, Pick::kLast, Pick::kRandom}) {
      for (std::uint64_t seed = 0; seed < (pick == Pick::kRandom ? 2U : 1U); ++seed) {
        Setting setting = setting_;
        setting.pick = pick;
        setting.seed = seed;
        const auto out = Interpret(mutant, setting, TellTale(), in_);
        ASSERT_TRUE(out.ok()) << name << ": " << out.status().ToString();
        ASSERT_EQ(*out, expected_) << name << " was accepted and gives another result";
      }
    }
    ++counts_[std::string(name)].equivalent;
  }

  const CountsByName& counts() const { return counts_; }

 private:
  bool in_place_;
  Setting setting_;
  RankBlocks<Value> in_, expected_;
  CountsByName counts_;
};

// Rejected + equivalent, by mutation. What is equivalent is looked at when it changes:
//   delete      in place, the copy of a block onto itself
//   dependency  one that others imply: both operands of every sum are waited for, though all but
//               one are known to have come; a first use of a slot waits for a use that is not
//   swap        two steps that have nothing to do with each other
// Signals at the end of an operation that is no barrier order nothing that its equation speaks of:
// what those of confirmed all_to_all are for, algorithm_test.cc shows.
const std::map<std::string, std::string> kExpected = {
    {"direct all_gather", "block 4368+0 delete 708+36 peer 3696+0 swap 0+672"},
    {"ring all_gather", "block 4368+0 delete 708+36 dependency 266+0 peer 3696+0 swap 266+406"},
    {"direct reduce_scatter",
     "block 9240+0 delete 1010+0 dependency 602+224 peer 3696+0 swap 294+644"},
    {"ring reduce_scatter",
     "block 9240+0 delete 1010+0 dependency 802+66 peer 3696+0 swap 602+336"},
    {"shifted_ring reduce_scatter",
     "block 9240+0 delete 1010+0 dependency 802+66 peer 3696+0 swap 602+336"},
    {"direct all_reduce",
     "block 12936+0 delete 1682+0 dependency 938+224 peer 7392+0 swap 364+1246"},
    {"ring all_reduce", "block 12936+0 delete 1682+0 dependency 1138+332 peer 7392+0 swap 938+672"},
    {"one_shot all_reduce", "delete 1010+0 dependency 770+392 peer 3696+0 swap 294+644"},
    {"binomial broadcast", "delete 708+36 dependency 160+0 peer 3696+0 swap 124+212"},
    {"binomial reduce", "delete 1010+0 dependency 602+80 peer 3696+0 swap 460+142"},
    {"dissemination barrier", "delete 188+0 dependency 66+19 peer 964+0 swap 59+94"},
    {"direct gather", "block 4368+0 delete 708+36 peer 3696+0 swap 0+336"},
    {"direct scatter", "block 4368+0 delete 708+36 peer 3696+0 swap 0+336"},
    {"direct all_to_all", "block 17136+0 delete 372+0 peer 1848+0 swap 0+336"},
    {"confirmed all_to_all", "block 17136+0 delete 560+0 dependency 0+567 peer 2812+0 swap 94+430"},
    {"linear scan", "delete 240+0 dependency 161+7 peer 560+0 swap 126+42"},
    {"linear exscan", "delete 210+0 dependency 119+63 peer 560+0 swap 98+42"},
};

std::string NameOf(const Algorithm& algorithm) {
  return std::string(algorithm.name) + " " + std::string(Name(algorithm.op));
}

class MutationTest : public testing::TestWithParam<int> {};

TEST_P(MutationTest, IsRejectedOrEquivalent) {
  const Algorithm& algorithm = AllAlgorithms()[static_cast<std::size_t>(GetParam())];
  const Schedule schedule = algorithm.Build();
  CountsByName total;
  for (std::int64_t n = 1; n <= 8; ++n) {
    if (!algorithm.Fits(n).ok()) continue;
    for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
      const Expansion e = *Expand(schedule, n, root);
      for (bool in_place : {false, true}) {
        if (in_place && !HasInPlace(algorithm.op)) continue;
        Judge judge(e, in_place);
        const auto visit = [&](std::string_view name, const Expansion& mutant) {
          judge.Visit(name, mutant);
        };
        Mutator(e, visit).Run();
        for (const auto& [name, counts] : judge.counts()) {
          total[name].rejected += counts.rejected;
          total[name].equivalent += counts.equivalent;
        }
      }
    }
  }
  std::cout << NameOf(algorithm) << ": " << ToString(total) << " (rejected + equivalent)\n";
  ASSERT_TRUE(kExpected.contains(NameOf(algorithm)));
  EXPECT_EQ(ToString(total), kExpected.at(NameOf(algorithm)));
}

std::string AlgorithmName(const testing::TestParamInfo<int>& info) {
  const Algorithm& algorithm = AllAlgorithms()[static_cast<std::size_t>(info.param)];
  return std::string(algorithm.name) + "_" + std::string(Name(algorithm.op));
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MutationTest,
                         testing::Range(0, static_cast<int>(AllAlgorithms().size())),
                         AlgorithmName);

}  // namespace
}  // namespace chorus
