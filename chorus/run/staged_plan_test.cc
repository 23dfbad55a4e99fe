#include "chorus/run/staged_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/run/formulas_test.h"

namespace chorus {
namespace {

Expansion ExpansionFromRank0(const char* algorithm, OpKind op, std::int64_t n) {
  return Expand(FindAlgorithm(algorithm, op).value()->Build(), n, 0).value();
}

std::optional<StagedPlan> Staged(const Expansion& e, std::int64_t rank) {
  const auto works = WorksOf(e);
  return works.has_value() ? std::optional(LowerStaged(*works, rank)) : std::nullopt;
}

TEST(StagedPlanTest, AResultForOneRankGoesBackIntoTheSlotOfItsInput) {
  const auto plan = Staged(ExpansionFromRank0("direct", OpKind::kAllReduce, 2), 0);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ToString(),
            "staged all_reduce rank 0 of 2, 1 slots\n"
            "fill slot[0] = in[1]\n"
            "work 1@slot[0], out[0] = scaled in[0] op scaled 1@slot[0]; finish\n"
            "take out[1] = slot[0]\n");
  // What rank 1 reads and overwrites, this rank takes before it fills the slot anew.
  const std::vector<StagedPlan::Reader> readers = {{1, StagePhase::kWork}, {0, StagePhase::kTake}};
  EXPECT_EQ(plan->fill_readers, readers);
  EXPECT_TRUE(plan->work_readers.empty());
  EXPECT_EQ(plan->sent, (std::vector<std::int64_t>{0, 1}));
}

TEST(StagedPlanTest, AResultForSeveralRanksHasASlotOfItsOwn) {
  const auto plan = Staged(ExpansionFromRank0("direct", OpKind::kAllReduce, 3), 1);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ToString(),
            "staged all_reduce rank 1 of 3, 3 slots\n"
            "fill slot[0] = in[0]\n"
            "fill slot[2] = in[2]\n"
            "work slot[1], out[1] = scaled 0@slot[1] op scaled in[1] op scaled 2@slot[1]; finish\n"
            "take out[0] = 0@slot[0]\n"
            "take out[2] = 2@slot[2]\n");
}

TEST(StagedPlanTest, ACopyNeedsNoWork) {
  const auto plan = Staged(ExpansionFromRank0("direct", OpKind::kAllGather, 2), 0);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ToString(),
            "staged all_gather rank 0 of 2, 1 slots\n"
            "fill slot[0], out[0] = in[0]\n"
            "take out[1] = 1@slot[0]\n");
}

TEST(StagedPlanTest, AScheduleThatPassesPartialSumsOnHasNone) {
  EXPECT_FALSE(Staged(ExpansionFromRank0("ring", OpKind::kAllReduce, 4), 0).has_value());
}

// All ranks carry out their plans on formulas, a random rank doing a random pass that may be done,
// for more tiles than are in flight. A reader that the plan forgot would find the next tile's.
class StagedRun {
 public:
  StagedRun(const Expansion& e, bool in_place, unsigned seed)
      : formulas_(FormulasOf(e)), in_place_(in_place), random_(seed) {
    for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
      plans_.push_back(Staged(e, rank).value());
    }
    tiles_.resize(plans_.size());
    in_.assign(kTiles, formulas_.in);
    out_.assign(kTiles, RankBlocks<std::string>(plans_.size()));
    for (auto& tile : out_) {
      for (auto& rank : tile) rank.resize(formulas_.in[0].size());
    }
    slots_.resize(plans_.size());
    for (auto& of_rank : slots_) {
      of_rank.resize(static_cast<std::size_t>(kDepth * plans_[0].slots));
    }
  }

  void Run() {
    std::uniform_int_distribution<std::size_t> any_rank(0, plans_.size() - 1);
    std::uniform_int_distribution<std::size_t> any_phase(0, kStagePhases - 1);
    int in_vain = 0;
    for (std::size_t left = plans_.size() * kStagePhases * kTiles; left > 0;) {
      const std::size_t rank = any_rank(random_);
      const std::size_t phase = any_phase(random_);
      if (!CanPass(rank, phase)) {
        ASSERT_LT(++in_vain, 100000) << "nothing can go on";
        continue;
      }
      in_vain = 0;
      Pass(rank, phase);
      --left;
    }
    for (std::size_t tile = 0; tile < kTiles; ++tile) {
      RankBlocks<std::string> expected = formulas_.out;
      for (auto& rank : expected) {
        for (auto& block : rank) {
          for (std::string& x : block) x += Tag(tile);
        }
      }
      EXPECT_EQ(out_[tile], expected) << "tile " << tile;
    }
  }

 private:
  static constexpr std::size_t kTiles = 5;
  static constexpr std::int64_t kDepth = 2;

  static std::string Tag(std::size_t tile) { return " of tile " + std::to_string(tile); }

  const std::vector<StagedPass>& PassesOf(std::size_t rank, std::size_t phase) const {
    const StagedPlan& plan = plans_[rank];
    if (phase == 0) return plan.fills;
    return phase == 1 ? plan.works : plan.takes;
  }

  std::size_t Passed(std::int64_t rank, StagePhase phase) const {
    return tiles_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(phase)];
  }

  bool CanPass(std::size_t rank, std::size_t phase) const {
    const std::size_t tile = tiles_[rank][phase];
    if (tile == (phase == 0 ? kTiles : tiles_[rank][phase - 1])) return false;
    for (const StagedPass& pass : PassesOf(rank, phase)) {
      for (const StagedPlace& source : pass.sources) {
        if (source.is_staged() && Passed(source.by, source.since) <= tile) return false;
      }
    }
    if (phase == 2) return true;
    const auto& readers = phase == 0 ? plans_[rank].fill_readers : plans_[rank].work_readers;
    return std::all_of(readers.begin(), readers.end(), [&](const StagedPlan::Reader& reader) {
      return Passed(reader.rank, reader.phase) + kDepth > tile;
    });
  }

  std::string& At(const StagedPlace& place, std::int64_t block, std::size_t rank,
                  std::size_t tile) {
    if (place.is_staged()) {
      return slots_[static_cast<std::size_t>(place.rank)]
                   [tile % kDepth * static_cast<std::size_t>(plans_[0].slots) +
                    static_cast<std::size_t>(place.slot)];
    }
    const bool is_in = place.buffer == BufferKind::kIn;
    auto& cell = (is_in ? in_ : out_)[tile][rank][static_cast<std::size_t>(block)];
    if (cell.empty()) cell.emplace_back();
    return cell[0];
  }

  void Pass(std::size_t rank, std::size_t phase) {
    const std::size_t tile = tiles_[rank][phase]++;
    for (const StagedPass& pass : PassesOf(rank, phase)) {
      std::string value;
      for (const StagedPlace& source : pass.sources) {
        std::string x = At(source, pass.block, rank, tile);
        // The tag of the tile stays outside of the formula.
        if (source.buffer == BufferKind::kIn && !source.is_staged()) x += Tag(tile);
        const std::size_t tag = x.find(" of tile");
        ASSERT_NE(tag, std::string::npos) << plans_[rank].ToString() << "reads what is not there";
        ASSERT_EQ(x.substr(tag), Tag(tile)) << plans_[rank].ToString() << "reads another tile";
        x.resize(tag);
        if (source.scaled) x = formulas_.arithmetic.scale(x);
        value = value.empty() ? x : formulas_.arithmetic.op(value, x);
      }
      if (pass.finish) value = formulas_.arithmetic.finish(value);
      for (const StagedPlace& to : pass.destinations) {
        At(to, pass.block, rank, tile) = value + Tag(tile);
        // In place the input is gone.
        auto& input = in_[tile][rank][static_cast<std::size_t>(pass.block)];
        if (in_place_ && !to.is_staged() && !input.empty()) input[0] = "overwritten";
      }
    }
  }

  const Formulas formulas_;
  const bool in_place_;
  std::mt19937 random_;
  std::vector<StagedPlan> plans_;
  std::vector<std::array<std::size_t, kStagePhases>> tiles_;  // passed, by rank
  std::vector<RankBlocks<std::string>> in_;                   // by tile
  std::vector<RankBlocks<std::string>> out_;
  std::vector<std::vector<std::string>> slots_;  // by rank
};

TEST(StagedPlanTest, AllRanksTogetherDoWhatTheInterpreterDoesInWhateverOrder) {
  int plans = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (std::int64_t n = 1; n <= 6; ++n) {
      for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
        const auto e = Expand(algorithm.Build(), n, root);
        if (!e.ok() || !Staged(*e, 0).has_value()) continue;
        SCOPED_TRACE(std::string(algorithm.name) + " " + std::string(Name(algorithm.op)) + " " +
                     std::to_string(n));
        StagedRun(*e, plans % 2 == 0, static_cast<unsigned>(plans)).Run();
        ++plans;
      }
    }
  }
  EXPECT_GT(plans, 60);
}

}  // namespace
}  // namespace chorus
