// Every single mutation of every proved schedule, for N up to 6 (8 if asked for), every root, out
// of place and in place: it is rejected with its first wrong step, or it is accepted and then the
// interpreter shows that it gives the same results in several linear orders.
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
//               one are known to have come; a first use of a slot waits for a use that is not; and
//               one that only keeps two messages from sharing a port
//   swap        two steps that have nothing to do with each other
// Signals at the end of an operation that is no barrier order nothing that its equation speaks of:
// what those of confirmed all_to_all are for, algorithm_test.cc shows.
const std::map<std::string, std::string> kExpected = {
    {"direct all_gather", "block 1400+0 delete 301+21 peer 1120+0 swap 0+280"},
    {"ring all_gather", "block 1400+0 delete 301+21 dependency 100+0 peer 1120+0 swap 100+180"},
    {"bidirectional_ring all_gather",
     "block 1400+0 delete 301+21 dependency 64+0 peer 1120+0 swap 64+216"},
    {"recursive_doubling all_gather",
     "block 1400+0 delete 165+21 dependency 72+82 peer 536+0 swap 64+80"},
    {"bruck all_gather", "block 1400+0 delete 217+21 dependency 42+38 peer 752+0 swap 58+138"},
    {"two_level:4 all_gather",
     "block 1400+0 delete 141+21 dependency 85+43 peer 440+0 swap 20+100"},
    {"hierarchical:2 all_gather",
     "block 928+0 delete 124+12 dependency 44+0 peer 464+0 swap 32+80"},
    {"torus:2x3 all_gather", "block 720+0 delete 78+6 dependency 42+30 peer 360+0 swap 36+36"},
    {"direct reduce_scatter",
     "block 2800+0 delete 422+0 dependency 240+80 peer 1120+0 swap 120+260"},
    {"ring reduce_scatter", "block 2800+0 delete 422+0 dependency 304+36 peer 1120+0 swap 240+140"},
    {"shifted_ring reduce_scatter",
     "block 2800+0 delete 422+0 dependency 304+36 peer 1120+0 swap 240+140"},
    {"bidirectional_ring reduce_scatter",
     "block 2800+0 delete 422+0 dependency 252+52 peer 1120+0 swap 168+212"},
    {"recursive_halving reduce_scatter",
     "block 2864+0 delete 286+0 dependency 228+186 peer 536+0 swap 112+132"},
    {"two_level:4 reduce_scatter",
     "block 2984+0 delete 262+0 dependency 188+188 peer 440+0 swap 146+74"},
    {"hierarchical:2 reduce_scatter",
     "block 1880+0 delete 200+0 dependency 152+24 peer 464+0 swap 76+100"},
    {"torus:2x3 reduce_scatter",
     "block 1500+0 delete 132+0 dependency 96+180 peer 360+0 swap 60+60"},
    {"direct all_reduce", "block 3920+0 delete 702+0 dependency 380+80 peer 2240+0 swap 160+500"},
    {"ring all_reduce", "block 3920+0 delete 702+0 dependency 444+136 peer 2240+0 swap 380+280"},
    {"one_shot all_reduce", "delete 422+0 dependency 310+150 peer 1120+0 swap 120+260"},
    {"bidirectional_ring all_reduce",
     "block 3920+0 delete 702+0 dependency 392+252 peer 2240+0 swap 272+388"},
    {"recursive_doubling all_reduce", "delete 210+0 dependency 137+89 peer 536+0 swap 112+56"},
    {"halving_doubling all_reduce",
     "block 2100+0 delete 366+0 dependency 268+156 peer 944+0 swap 168+156"},
    {"double_tree all_reduce", "block 428+0 delete 304+0 dependency 160+88 peer 880+0 swap 82+180"},
    {"two_level:4 all_reduce", "block 252+0 delete 186+0 dependency 130+48 peer 512+0 swap 84+60"},
    {"hierarchical:2 all_reduce",
     "block 2632+0 delete 312+0 dependency 240+88 peer 928+0 swap 132+156"},
    {"torus:2x3 all_reduce", "block 2100+0 delete 204+0 dependency 156+192 peer 720+0 swap 96+96"},
    {"binomial broadcast", "delete 301+21 dependency 52+0 peer 1120+0 swap 46+94"},
    {"knomial:4 broadcast", "delete 301+21 dependency 26+0 peer 1120+0 swap 14+126"},
    {"direct broadcast", "delete 301+21 peer 1120+0 swap 0+140"},
    {"scatter_gather broadcast",
     "block 7840+0 delete 1491+91 dependency 484+2072 peer 5936+0 swap 746+654"},
    {"double_tree broadcast",
     "block 728+0 delete 602+42 dependency 200+0 peer 2240+0 swap 124+338"},
    {"two_level:4 broadcast", "delete 301+21 dependency 26+0 peer 1120+0 swap 14+126"},
    {"binomial reduce", "delete 422+0 dependency 240+22 peer 1120+0 swap 186+54"},
    {"knomial:4 reduce", "delete 422+0 dependency 220+198 peer 1120+0 swap 140+100"},
    {"direct reduce", "delete 422+0 dependency 240+80 peer 1120+0 swap 120+120"},
    {"double_tree reduce", "block 1408+0 delete 844+0 dependency 480+84 peer 2240+0 swap 316+346"},
    {"direct gather", "block 1400+0 delete 301+21 peer 1120+0 swap 0+140"},
    {"knomial:2 gather", "block 1904+0 delete 301+21 dependency 52+0 peer 1120+0 swap 46+94"},
    {"direct scatter", "block 1400+0 delete 301+21 peer 1120+0 swap 0+140"},
    {"knomial:2 scatter", "block 1904+0 delete 301+21 dependency 52+0 peer 1120+0 swap 46+94"},
    {"direct all_to_all", "block 4368+0 delete 161+0 peer 560+0 swap 0+140"},
    {"confirmed all_to_all", "block 4368+0 delete 259+0 dependency 0+228 peer 936+0 swap 49+189"},
    {"pairwise all_to_all", "block 4368+0 delete 161+0 dependency 0+200 peer 560+0 swap 50+90"},
    {"bruck all_to_all", "block 5568+0 delete 119+0 dependency 21+19 peer 376+0 swap 29+69"},
    {"linear scan", "delete 132+0 dependency 85+5 peer 220+0 swap 70+20"},
    {"recursive_doubling scan", "delete 210+0 dependency 135+91 peer 436+0 swap 108+60"},
    {"linear exscan", "delete 110+0 dependency 60+30 peer 220+0 swap 50+20"},
    {"recursive_doubling exscan", "delete 180+0 dependency 112+100 peer 436+0 swap 80+60"},
    {"dissemination barrier", "delete 98+0 dependency 21+19 peer 376+0 swap 29+49"},
};

std::string NameOf(const Algorithm& algorithm) {
  return std::string(algorithm.name) + " " + std::string(Name(algorithm.op));
}

class MutationTest : public testing::TestWithParam<int> {
 protected:
  // The counts of all mutations for N = 1 .. most.
  static CountsByName Count(const Algorithm& algorithm, std::int64_t most);
};

CountsByName MutationTest::Count(const Algorithm& algorithm, std::int64_t most) {
  const Schedule schedule = algorithm.Build();
  CountsByName total;
  for (std::int64_t n = 1; n <= most; ++n) {
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
  return total;
}

TEST_P(MutationTest, IsRejectedOrEquivalent) {
  const Algorithm& algorithm = AllAlgorithms()[static_cast<std::size_t>(GetParam())];
  const CountsByName total = Count(algorithm, 6);
  ASSERT_TRUE(kExpected.contains(NameOf(algorithm)));
  EXPECT_EQ(ToString(total), kExpected.at(NameOf(algorithm)));
}

// Half a minute; --gtest_also_run_disabled_tests asks for it.
TEST_P(MutationTest, DISABLED_IsRejectedOrEquivalentUpTo8) {
  const Algorithm& algorithm = AllAlgorithms()[static_cast<std::size_t>(GetParam())];
  EXPECT_FALSE(Count(algorithm, 8).empty());
}

std::string AlgorithmName(const testing::TestParamInfo<int>& info) {
  const Algorithm& algorithm = AllAlgorithms()[static_cast<std::size_t>(info.param)];
  std::string name = std::string(algorithm.name) + "_" + std::string(Name(algorithm.op));
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, MutationTest,
                         testing::Range(0, static_cast<int>(AllAlgorithms().size())),
                         AlgorithmName);

}  // namespace
}  // namespace chorus
