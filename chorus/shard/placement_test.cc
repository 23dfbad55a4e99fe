#include "chorus/shard/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "chorus/program/account.h"
#include "chorus/shard/plan_time.h"
#include "chorus/shard/ways.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

Result<MeshPlacement> Place(const char* machine, const char* mesh) {
  return MeshPlacement::Create(*MachineNamed(machine, Catalogue::BuiltIn()), *Mesh::Parse(mesh));
}

TEST(Placement, TheLastAxisIsInsideTheNode) {
  const MeshPlacement placement = *Place("h100-8x4", "X=4,Y=8");
  EXPECT_EQ(placement.Describe("Y"),
            "Y (8): in a node over its switch, 450 GB/s a rank, per direction");
  EXPECT_EQ(placement.Describe("X"), "X (4): 1 a node on 4 nodes, 50 GB/s a rank, per direction");
  // Both together: 8 of a node share its 8 NICs.
  const Wiring both = *placement.WiringOver({"X", "Y"});
  EXPECT_EQ(both.node_size, 8);
  EXPECT_EQ(both.nodes, 4);
  EXPECT_EQ(both.nics, 8);
  EXPECT_EQ(MeshPlacement::RankBandwidth(both), BytesPerSecond(50e9));
  // The other way round X is inside, and so is half of Y.
  const MeshPlacement turned = *Place("h100-8x4", "Y=8,X=4");
  EXPECT_THAT(turned.Describe("X"), HasSubstr("in a node"));
  EXPECT_THAT(turned.Describe("Y"), HasSubstr("Y (8): 2 a node on 4 nodes"));
  EXPECT_EQ(
      Place("h100-8x2", "X=2,Y=6").status().message(),
      "on h100-8x2 the ranks along X of X=2,Y=6 lie unevenly on its nodes of 8; give the mesh "
      "axes whose sizes divide a node");
}

TEST(Placement, AxesLieOnBoxesOfATorus) {
  const MeshPlacement cube = *Place("v4-4x4x4", "X=16,Y=4");
  EXPECT_EQ(cube.WiringOver({"X"})->axes, (std::vector<TorusAxis>{{4, true}, {4, true}}));
  EXPECT_EQ(cube.WiringOver({"Y"})->axes, (std::vector<TorusAxis>{{4, true}}));
  EXPECT_THAT(cube.Describe("X"), HasSubstr("X (16): 4 around x 4 around on the torus"));
  // Half of an axis is a line.
  EXPECT_EQ(Place("v4-4x4x4", "Y=2")->WiringOver({"Y"})->axes,
            (std::vector<TorusAxis>{{2, false}}));
  EXPECT_EQ(
      Place("v4-4x4x4", "X=16,Z=2,Y=2").status().message(),
      "on v4-4x4x4 the ranks along Z of X=16,Z=2,Y=2 are no neighbours; give the mesh the axes "
      "of the torus, in their order");
  EXPECT_THAT(Place("h100-8", "X=9").status().message(),
              HasSubstr("the mesh X=9 has 9 ranks, but h100-8 has 8 devices"));
}

// Y is inside a node, X between nodes: an all_reduce over Y is fast, and a detour over X is not.
TEST(MeshPlacement, LeavesASlowIdleAxisAlone) {
  const MeshPlacement placement = *Place("h100-8x16", "X=16,Y=8");
  WayLimits limits;
  limits.placement = &placement;
  const auto answer = ExplainProduct(*ParseProduct("A[I_X, J] * B[J, K]{U_Y} -> C[I_X, K]"),
                                     placement.mesh(), {{"I", 16384}, {"J", 256}, {"K", 2048}},
                                     DType::kBF16, *TariffOn(placement), limits);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->plans[0].rule, "X splits I, Y repeats: all_reduce over Y of B");
}

TEST(MeshPlacement, TariffIsThatOfTheSlowestAxis) {
  // 989e12 FLOP/s in bf16; in a node 450e9 B/s, between nodes a NIC of 50e9 B/s.
  const Tariff node = *TariffOn(*Place("h100-8", "X=8"));
  EXPECT_NEAR(node.flops_per_byte, 989e12 / 450e9, 1e-9);
  const Tariff nodes = *TariffOn(*Place("h100-8x4", "X=4,Y=8"));
  EXPECT_NEAR(nodes.flops_per_byte, 989e12 / 50e9, 1e-9);
  const Wiring between = *Place("h100-8x4", "X=4,Y=8")->WiringOver({"X"});
  EXPECT_GT(nodes.latency_bytes, 0);
  EXPECT_DOUBLE_EQ(nodes.latency_bytes, between.RingLink().latency.value() * 50e9);
  EXPECT_EQ(TariffOn(*Place("h100-8", "X=1"))->latency_bytes, Tariff().latency_bytes);
}

std::vector<ProductWay> WaysOn(const char* text, const MeshPlacement& placement,
                               const DimSizes& sizes) {
  const Product product = *ParseProduct(text);
  const Tariff tariff = *TariffOn(placement);
  const auto plans = PlanChain(product.operands, product.result, product.wanted, placement.mesh(),
                               sizes, DType::kBF16, tariff);
  EXPECT_TRUE(plans.ok()) << plans.status().message();
  const auto ways = WaysOf(product, *plans, placement.mesh(), sizes, DType::kBF16, Tariff(),
                           {&placement, std::nullopt});
  EXPECT_TRUE(ways.ok()) << ways.status().message();
  return *ways;
}

// The first without loops over chunks.
const ProductWay& Plain(const std::vector<ProductWay>& ways) {
  return *std::find_if(ways.begin(), ways.end(),
                       [](const ProductWay& way) { return !way.plan.steps[0].loop; });
}

// The gather of the lecture notes: 34 MB... here 2 x 8192 x 8192 bytes over 8 GPUs of a node at 450
// GB/s: 7/8 of 134 MB takes 261 us, the product 4 x 8192^3 / 8 ... of rank 0 is in the roofline.
TEST(PlanTime, IsThatOfTheFormulas) {
  const MeshPlacement node = *Place("h100-8", "X=8");
  const DimSizes sizes = {{"I", 8192}, {"J", 8192}, {"K", 8192}};
  const std::vector<ProductWay> ways = WaysOn("A[I_X, J] * B[J_X, K] -> C[I_X, K]", node, sizes);
  const PlanTime& time = *Plain(ways).time;
  EXPECT_EQ(Plain(ways).plan.rule, "X splits I: all_gather J over X of B");
  EXPECT_NEAR(time.moves.value(), 7.0 / 8 * 2 * 8192 * 8192 / 450e9, 20e-6);
  EXPECT_GT(time.moves.value(), 7.0 / 8 * 2 * 8192 * 8192 / 450e9);
  EXPECT_NEAR(time.compute.value(), 2.0 * 8192 * 8192 * 8192 / 8 / 989e12, 1e-9);
  EXPECT_EQ(time.Overlapped(), std::max(time.compute, time.moves));
  for (std::size_t i = 1; i < ways.size(); ++i) {
    EXPECT_LE(ways[i - 1].time->Elapsed(), ways[i].time->Elapsed());
  }
  // Without a loop one thing is done after another; with it the gather hides behind the product.
  EXPECT_NEAR(time.Elapsed().value(), time.OneAfterAnother().value(), 1e-12);
  EXPECT_TRUE(ways[0].plan.steps[0].loop.has_value()) << ways[0].plan.rule;
  EXPECT_LT(ways[0].time->Elapsed(), time.Elapsed());
  EXPECT_GE(ways[0].time->Elapsed(), ways[0].time->Overlapped());
}

// The same product where the axis is between nodes is slower by the ratio of the links, and may be
// done another way.
TEST(PlanTime, AnAxisBetweenNodesIsSlower) {
  const MeshPlacement across = *Place("h100-8x4", "X=4,Y=8");
  const MeshPlacement inside = *Place("h100-8x4", "Y=8,X=4");
  const DimSizes sizes = {{"I", 4096}, {"J", 8192}, {"K", 8192}};
  const char* text = "A[I_X, J] * B[J_X, K_Y] -> C[I_X, K_Y]";
  const auto gathers = [&](const MeshPlacement& placement) {
    for (const ProductWay& way : WaysOn(text, placement, sizes)) {
      if (way.plan.steps[0].loop) continue;
      if (way.plan.rule.find("all_gather J over X of B") != std::string::npos) {
        return way.time->moves.value();
      }
    }
    return 0.0;
  };
  EXPECT_GT(gathers(inside), 0);
  EXPECT_NEAR(gathers(across) / gathers(inside), 9, 1);
}

TEST(PlanTime, APermuteIsOneMessage) {
  const MeshPlacement node = *Place("h100-8", "X=2,Y=4");
  const StepProgram program = *StepProgram::Parse(
      "bound\n  a[I_XY, J]: bf16 input\noperations\n"
      "  b[I_YX, J]: bf16 activation = permute(a, XY)\noutputs b\n");
  const DimSizes sizes = {{"I", 8192}, {"J", 8192}};
  const PlanTime time = *TimeOf(program, node, sizes);
  EXPECT_EQ(time.ops[0].why, "one message a rank");
  EXPECT_NEAR(time.moves.value(), 2.0 * 8192 * 8192 / 8 / 450e9, 3e-6);
}

TEST(Ways, KeepWithinMemoryAndSayTheLeast) {
  const Product product = *ParseProduct("A[I, J_X] * B[J, K] -> C[I, K]");
  const Mesh mesh = *Mesh::Parse("X=4");
  const DimSizes sizes = {{"I", 64}, {"J", 64}, {"K", 8}};
  const auto ask = [&](std::optional<Bytes> most) {
    return ExplainProduct(product, mesh, sizes, DType::kF32, Tariff(), {nullptr, most});
  };
  // A of 4 KiB and B of 2 stay; slicing B takes half a KiB, C 2. Gathering A takes 16 and 16 more
  // to pack it.
  const auto any = ask(std::nullopt);
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->plans[0].rule, "X splits J: slice J over X of B, all_reduce over X of C");
  const Bytes peak = PeakMemory(any->program, mesh, sizes, 0).peak;
  EXPECT_EQ(peak, Bytes((8 + 4 + 1 + 4) * 512));
  const auto tight = ask(peak);
  ASSERT_TRUE(tight.ok());
  EXPECT_LT(tight->plans.size(), any->plans.size());
  const auto none = ask(Bytes(1000));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(),
              HasSubstr("cannot be done within 1000 bytes a rank; the way that needs least takes"));
}

// The last rank of a line sends to the first over all links of the other direction, so both ways
// round gain nothing there; on a ring they do.
// The last rank of a line sends to the first over all links of the other direction, so both ways
// round gain nothing there; on a ring they do.
TEST(Ways, OnALineNothingMovesFasterThanItsLinks) {
  const DimSizes sizes = {{"I", 8192}, {"J", 8192}, {"K", 8192}};
  const Product product = *ParseProduct("A[I_X, J] * B[J_X, K] -> C[I_X, K]");
  for (const auto& [name, mesh, wraps] :
       {std::tuple{"v5e-4", "X=4", false}, std::tuple{"v4-4x4x4", "W=4,Z=4,X=4", true}}) {
    const Result<MeshPlacement> placement = Place(name, mesh);
    ASSERT_TRUE(placement.ok()) << placement.status().message();
    const auto plans = *PlanChain(product.operands, product.result, product.wanted,
                                  placement->mesh(), sizes, DType::kBF16, Tariff());
    const auto gathers_b = [](const ChainPlan& plan) {
      const ComputePlan& how = plan.steps[0].plan;
      return how.CountMoves() == 1 && how.operand_moves[1].moves.size() == 1;
    };
    const auto found = std::find_if(plans.begin(), plans.end(), gathers_b);
    ASSERT_NE(found, plans.end()) << name;
    ChainPlan plan = *found;
    const double link = placement->WiringOver({"X"})->link.bandwidth.value();
    const double bytes = 2.0 * 8192 * 8192;
    int seen = 0;
    for (const ChunkLoop& loop : LoopsOf(plan.steps[0].plan, placement->mesh(), sizes)) {
      if (loop.of != ChunkLoop::Of::kRight) continue;
      plan.steps[0].loop = loop;
      const PlanTime time = *TimeOf(*ProgramOf(product, plan, DType::kBF16), *placement, sizes);
      const double ways = wraps && loop.directions == 2 ? 2 : 1;
      EXPECT_NEAR(time.moves.value(), bytes * 3 / 4 / link / ways, 1e-9) << name;
      seen += 1;
    }
    EXPECT_GT(seen, 5) << name;
  }
}

TEST(Ways, AreKeptAsProvenance) {
  const auto answer =
      ExplainProduct(*ParseProduct("A[I, J_X] * B[J, K] -> C[I, K]"), *Mesh::Parse("X=4"),
                     {{"I", 64}, {"J", 64}, {"K", 64}}, DType::kF32, Tariff());
  ASSERT_TRUE(answer.ok());
  const StepProgram& program = answer->program;
  const auto product =
      std::find_if(program.ops().begin(), program.ops().end(),
                   [](const ProgramOp& op) { return op.compute == GraphOp::kContract; });
  ASSERT_NE(product, program.ops().end());
  const std::vector<Alternative>& rejected = product->why.rejected;
  ASSERT_GE(rejected.size(), 2U);
  EXPECT_EQ(rejected[0].what, answer->plans[1].rule);
  EXPECT_GT(rejected[0].peak, Bytes(0));
  EXPECT_EQ(*StepProgram::Parse(program.ToString()), program);
}

}  // namespace
}  // namespace chorus
