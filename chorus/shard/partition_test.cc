#include "chorus/shard/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/program/interpreter.h"

namespace chorus {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Spec ParsedSpec(const char* text) { return *Spec::Parse(text); }

// loss = sum over B and F of gelu(x . w) c: one product, one thing that is not linear.
struct OneLayer {
  Graph graph;
  NodeId loss = -1;

  OneLayer() {
    const NodeId x = *graph.AddInput("x", {"B", "D"}, ElementKind::kFloat);
    const NodeId c = *graph.AddInput("c", {"B", "F"}, ElementKind::kFloat);
    const NodeId w = *graph.AddParameter("w", {"D", "F"}, 0.5);
    const NodeId h = *graph.Add(GraphOp::kContract, "h", {x, w}, {"B", "F"});
    const NodeId a = *graph.Add(GraphOp::kGelu, "a", {h}, {"B", "F"});
    loss = *graph.Add(GraphOp::kContract, "loss", {a, c}, {});
  }
};

const DimSizes kLayerSizes = {{"B", 8}, {"D", 4}, {"F", 6}};

Result<Partition> Make(const ShardingTable& table, const char* mesh) {
  const OneLayer model;
  return PartitionStep(*Differentiate(model.graph, model.loss), model.loss, table,
                       *Mesh::Parse(mesh), kLayerSizes, PartitionOptions());
}

ShardingTable Table(const char* x, const char* c, const char* rest, const char* use,
                    const char* gradient, const char* optimizer) {
  return {{{"w", ParsedSpec(rest), ParsedSpec(use), ParsedSpec(gradient), ParsedSpec(optimizer),
            false}},
          {{"x", ParsedSpec(x)}, {"c", ParsedSpec(c)}}};
}

// The program without provenance, for reading.
std::string Bare(const StepProgram& program) {
  std::string text;
  for (const ProgramOp& op : program.ops()) text += ToString(program, op) + "\n";
  return text;
}

// FSDP: gathered just before each use, freed after it; the gradient is scattered.
TEST(Partition, GathersAndFreesAParameterForEachUse) {
  const Result<Partition> p =
      Make(Table("[B_X, D]", "[B_X, F]", "[D_X, F]", "[D, F]", "[D_X, F]", "[D_X, F]"), "X=2");
  ASSERT_TRUE(p.ok()) << p.status().message();
  EXPECT_EQ(Bare(p->program),
            "w.use[D, F]: f32 workspace = all_gather(w, D_X)\n"
            "h[B_X, F]: f32 activation = contract(x, w.use)\n"
            "free(w.use)\n"
            "a[B_X, F]: f32 activation = gelu(h)\n"
            "loss.local[]{U_X}: f32 activation = contract(a, c)\n"
            "free(a)\n"
            "loss[]: f32 activation = all_reduce(loss.local, X) into loss.local\n"
            "d.loss[]: f32 activation = constant(1)\n"
            "d.a[B_X, F]: f32 activation = contract(d.loss, c)\n"
            "free(d.loss)\n"
            "d.h[B_X, F]: f32 activation = gelu_grad(h, d.a) into h\n"
            "free(d.a)\n"
            "d.w.local[D, F]{U_X}: f32 gradient = contract(x, d.h)\n"
            "free(d.h)\n"
            "d.w[D_X, F]: f32 gradient = reduce_scatter(d.w.local, D_X)\n"
            "free(d.w.local)\n"
            "adamw(w, w.m, w.v, d.w)\n"
            "free(d.w)\n");
  EXPECT_THAT(p->repeated_products, IsEmpty());
}

// ZeRO-1: only the optimizer is split; the updated parameter is written back whole.
TEST(Partition, WritesTheUpdatedParameterBack) {
  const Result<Partition> p =
      Make(Table("[B_X, D]", "[B_X, F]", "[D, F]", "[D, F]", "[D_X, F]", "[D_X, F]"), "X=2");
  ASSERT_TRUE(p.ok()) << p.status().message();
  EXPECT_THAT(Bare(p->program),
              HasSubstr("w.own[D_X, F]: f32 workspace = slice(w, D_X)\n"
                        "adamw(w.own, w.m, w.v, d.w)\n"
                        "free(d.w)\n"
                        "w.new[D, F]: f32 parameter = all_gather(w.own, D_X) into w\n"
                        "free(w.own)\n"));
}

TEST(Partition, KeepsAParameterThatIsToStay) {
  // d.x is not needed, so w has one use a step; a second product gives it another.
  Graph graph;
  const NodeId x = *graph.AddInput("x", {"B", "D"}, ElementKind::kFloat);
  const NodeId w = *graph.AddParameter("w", {"D"}, 1);
  const NodeId y = *graph.Add(GraphOp::kContract, "y", {x, w}, {"B", "D"});
  const NodeId z = *graph.Add(GraphOp::kContract, "z", {y, w}, {"B"});
  ShardingTable table = {{{"w", ParsedSpec("[D_X]"), ParsedSpec("[D]"), ParsedSpec("[D_X]"),
                           ParsedSpec("[D_X]"), false}},
                         {{"x", ParsedSpec("[B_X, D]")}}};
  const auto gathers = [&] {
    const auto p = PartitionForward(graph, {z}, table, *Mesh::Parse("X=2"), kLayerSizes, {});
    EXPECT_TRUE(p.ok()) << p.status().message();
    return std::count_if(
        p->program.ops().begin(), p->program.ops().end(), [&](const ProgramOp& op) {
          return op.kind == ProgramOpKind::kAllGather && p->program.value(op.result).name() != "z";
        });
  };
  EXPECT_EQ(gathers(), 2);
  table.parameters[0].keep = true;
  EXPECT_EQ(gathers(), 1);
}

TEST(Partition, SaysHowEveryValueLiesAndWhy) {
  const Result<Partition> p =
      Make(Table("[B_X, D]", "[B_X, F]", "[D, F]", "[D, F]", "[D, F]", "[D, F]"), "X=2");
  ASSERT_TRUE(p.ok()) << p.status().message();
  EXPECT_THAT(
      p->placed,
      ElementsAre(
          PlacedValue{ParsedSpec("x[B_X, D]"), "x"}, PlacedValue{ParsedSpec("c[B_X, F]"), "c"},
          PlacedValue{ParsedSpec("w[D, F]"), "w"}, PlacedValue{ParsedSpec("h[B_X, F]"), ""},
          PlacedValue{ParsedSpec("a[B_X, F]"), ""}, PlacedValue{ParsedSpec("loss[]"), "output"},
          PlacedValue{ParsedSpec("d.loss[]"), ""}, PlacedValue{ParsedSpec("d.a[B_X, F]"), ""},
          PlacedValue{ParsedSpec("d.h[B_X, F]"), ""}, PlacedValue{ParsedSpec("d.w[D, F]"), "w"}));
  for (const ProgramOp& op : p->program.ops()) {
    if (op.kind == ProgramOpKind::kFree) continue;
    EXPECT_FALSE(op.why.source.empty()) << ToString(p->program, op);
    EXPECT_FALSE(op.why.rule.empty()) << ToString(p->program, op);
  }
}

// Two products that both leave a sum over X: added first, reduced once (JAX's "reduced" example).
TEST(Partition, ReducesASumOfSumsOnce) {
  Graph graph;
  const NodeId x = *graph.AddInput("x", {"B", "D"}, ElementKind::kFloat);
  const NodeId r = *graph.AddInput("r", {"B"}, ElementKind::kFloat);
  const NodeId u = *graph.AddParameter("u", {"D"}, 1);
  const NodeId v = *graph.AddParameter("v", {"D"}, 1);
  const NodeId p = *graph.Add(GraphOp::kContract, "p", {x, u}, {"B"});
  const NodeId q = *graph.Add(GraphOp::kContract, "q", {x, v}, {"B"});
  const NodeId y = *graph.Add(GraphOp::kAdd, "y", {p, r, q}, {"B"});
  const ShardingTable table = {{{"*", ParsedSpec("[D_X]"), ParsedSpec("[D_X]"), ParsedSpec("[D_X]"),
                                 ParsedSpec("[D_X]"), false}},
                               {{"x", ParsedSpec("[B, D_X]")}, {"r", ParsedSpec("[B]")}}};
  const Mesh mesh = *Mesh::Parse("X=2");
  const auto partition = PartitionForward(graph, {y}, table, mesh, kLayerSizes, {});
  ASSERT_TRUE(partition.ok()) << partition.status().message();
  EXPECT_EQ(Bare(partition->program),
            "p[B]{U_X}: f32 activation = contract(x, u)\n"
            "q[B]{U_X}: f32 activation = contract(x, v)\n"
            "y.sum[B]{U_X}: f32 activation = add(p, q) into p\n"
            "free(q)\n"
            "y.sum.addend[B]: f32 activation = all_reduce(y.sum, X) into y.sum\n"
            "y[B]: f32 activation = add(r, y.sum.addend) into y.sum.addend\n");
}

TEST(Partition, RefusesAConflictAndShowsAWayOut) {
  EXPECT_EQ(
      Make(Table("[B_X, D]", "[B_X, F]", "[D, F_X]", "[D, F_X]", "[D, F_X]", "[D, F_X]"), "X=2")
          .status()
          .message(),
      "h = contract(x[B_X, D], w[D, F_X]) cannot run as its operands lie; let a row gather one "
      "first. Cheapest: X splits B: all_gather F over X of w (48 bytes sent per rank)");
  EXPECT_EQ(Make(Table("[B_X, D]", "[B_X, F]", "[D_X, F]", "[D, F]", "[D_X, F]", "[D, F]"), "X=2")
                .status()
                .message(),
            "row 'w': the optimizer's spec [D, F] must be the spec at rest [D_X, F] or split it "
            "further");
}

// With h pinned, Y has nothing to split in its product: both ranks along Y do the same.
TEST(Partition, NamesProductsThatAreRepeated) {
  ShardingTable table = Table("[B_X, D]", "[B_X, F]", "[D, F]", "[D, F]", "[D, F]", "[D, F]");
  table.values.push_back({"h", ParsedSpec("[B_X, F]")});
  const Result<Partition> p = Make(table, "X=2,Y=2");
  ASSERT_TRUE(p.ok()) << p.status().message();
  EXPECT_THAT(p->repeated_products, Contains("h is repeated along Y"));
}

}  // namespace
}  // namespace chorus
