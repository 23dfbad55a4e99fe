#include "chorus/run/mapped_plan.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/run/formulas_test.h"

namespace chorus {
namespace {

Expansion ExpansionOf(const char* algorithm, OpKind op, std::int64_t n, std::int64_t root = 0) {
  return Expand(FindAlgorithm(algorithm, op).value()->Build(), n, root).value();
}

std::optional<MappedPlan> Mapped(const Expansion& e, std::int64_t rank) {
  const auto works = WorksOf(e);
  return works.has_value() ? std::optional(LowerMapped(*works, rank)) : std::nullopt;
}

std::optional<MappedPlan> Pulled(const Expansion& e, std::int64_t rank) {
  const auto works = WorksOf(e);
  return works.has_value() ? LowerPulled(*works, rank) : std::nullopt;
}

TEST(MappedPlanTest, DirectAllReduceLoadsAllInputsAndStoresAllResults) {
  const auto plan = Mapped(ExpansionOf("direct", OpKind::kAllReduce, 3), 1);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ToString(),
            "mapped all_reduce rank 1 of 3\n"
            "1@out[1], 0@out[1], 2@out[1] = scaled 0@in[1] op scaled 1@in[1] op scaled 2@in[1]; "
            "finish\n");
}

// The root copies its own block and, being named twice, a third of the other's, which moves the
// rest.
TEST(MappedPlanTest, AScatterIsSharedOut) {
  const Expansion e = ExpansionOf("direct", OpKind::kScatter, 2);
  const auto root = Mapped(e, 0);
  const auto other = Mapped(e, 1);
  ASSERT_TRUE(root.has_value() && other.has_value());
  EXPECT_EQ(root->ToString(),
            "mapped scatter rank 0 of 2\n"
            "0@out[0] = 0@in[0]\n"
            "1@out[1] = 0@in[1]; of 1048576: 0 .. 349525\n");
  EXPECT_EQ(other->ToString(),
            "mapped scatter rank 1 of 2\n"
            "1@out[1] = 0@in[1]; of 1048576: 349525 .. 1048576\n");
}

TEST(MappedPlanTest, PulledEachRankBringsItselfWhatEndsInItsBuffers) {
  const auto plan = Pulled(ExpansionOf("direct", OpKind::kAllToAll, 2), 1);
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->ToString(),
            "mapped all_to_all rank 1 of 2\n"
            "1@out[3] = 1@in[3]\n"
            "1@out[1] = 0@in[1]\n");
  EXPECT_TRUE(Pulled(ExpansionOf("direct", OpKind::kScatter, 3), 0).has_value());
  EXPECT_FALSE(Pulled(ExpansionOf("direct", OpKind::kAllReduce, 3), 0).has_value());
  EXPECT_FALSE(Pulled(ExpansionOf("ring", OpKind::kAllGather, 4), 0).has_value());
}

TEST(MappedPlanTest, AScheduleThatPassesPartialSumsOnHasNone) {
  EXPECT_FALSE(Mapped(ExpansionOf("ring", OpKind::kAllReduce, 4), 0).has_value());
  EXPECT_FALSE(Mapped(ExpansionOf("ring", OpKind::kAllGather, 4), 0).has_value());
  EXPECT_FALSE(Mapped(ExpansionOf("binomial", OpKind::kReduce, 5), 0).has_value());
}

// The works of all ranks together, carried out on formulas, give what the interpreter gives: every
// `out` is written in all its parts, once, and holds the very same formula.
void ExpectAsInterpreted(const Expansion& e) {
  std::vector<std::vector<MappedWork>> works;
  for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
    const auto plan = Mapped(e, rank);
    if (!plan.has_value()) return;
    works.push_back(plan->works);
  }
  const Formulas formulas = FormulasOf(e);
  const auto& [arithmetic, in, expected] = formulas;
  const std::size_t blocks = in[0].size();
  RankBlocks<std::string> out(in.size());
  std::vector<std::vector<std::int64_t>> written(in.size(), std::vector<std::int64_t>(blocks, 0));
  for (auto& rank : out) rank.resize(blocks);
  for (const auto& of_rank : works) {
    for (const MappedWork& work : of_rank) {
      std::string value;
      for (const MappedPlace& source : work.sources) {
        std::string x =
            in[static_cast<std::size_t>(source.rank)][static_cast<std::size_t>(source.block)].at(0);
        if (source.scaled) x = arithmetic.scale(x);
        value = value.empty() ? x : arithmetic.op(value, x);
      }
      if (work.finish) value = arithmetic.finish(value);
      for (const MappedPlace& to : work.destinations) {
        auto& cell = out[static_cast<std::size_t>(to.rank)][static_cast<std::size_t>(to.block)];
        if (!cell.empty()) {
          EXPECT_EQ(cell[0], value) << work.ToString();
        }
        cell = {value};
        written[static_cast<std::size_t>(to.rank)][static_cast<std::size_t>(to.block)] +=
            work.end - work.begin;
      }
    }
  }
  EXPECT_EQ(out, expected);
  for (std::size_t r = 0; r < out.size(); ++r) {
    for (std::size_t b = 0; b < blocks; ++b) {
      EXPECT_EQ(written[r][b], out[r][b].empty() ? 0 : MappedWork::kWhole);
    }
  }
}

TEST(MappedPlanTest, AllRanksTogetherDoWhatTheInterpreterDoes) {
  int plans = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    for (std::int64_t n = 1; n <= 9; ++n) {
      const Schedule schedule = algorithm.Build();
      for (std::int64_t root = 0; root < (HasRoot(algorithm.op) ? n : 1); ++root) {
        const auto e = Expand(schedule, n, root);
        if (!e.ok()) continue;  // not for this number of ranks
        SCOPED_TRACE(std::string(algorithm.name) + " " + std::string(Name(algorithm.op)) + " " +
                     std::to_string(n));
        plans += Mapped(*e, 0).has_value() ? 1 : 0;
        ExpectAsInterpreted(*e);
      }
    }
  }
  EXPECT_GT(plans, 100);
}

}  // namespace
}  // namespace chorus
