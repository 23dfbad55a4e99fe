// The worked examples of the lecture notes on sharded matrix products, number by number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "chorus/cost/compute/roofline.h"
#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/break_even.h"
#include "chorus/shard/product.h"

namespace chorus {
namespace {

Bytes HeldBy(const char* spec, DType dtype, const char* mesh, const DimSizes& sizes,
             std::int64_t rank = 0) {
  return LocalBytes({*Spec::Parse(spec), dtype, StorageClass::kInput}, *Mesh::Parse(mesh), sizes,
                    rank);
}

// Bytes of all ranks over the bytes of one copy.
double Replicas(const char* spec, const char* mesh_text, const DimSizes& sizes) {
  const Mesh mesh = *Mesh::Parse(mesh_text);
  double all = 0;
  for (std::int64_t rank = 0; rank < mesh.size(); ++rank) {
    all += static_cast<double>(HeldBy(spec, DType::kI8, mesh_text, sizes, rank).value());
  }
  return all / static_cast<double>(GlobalShape(*Spec::Parse(spec), sizes).elements());
}

TEST(LectureMatrices, AMebibyteACard) {
  const DimSizes sizes = {{"I", 1024}, {"J", 4096}};
  EXPECT_EQ(LocalShape(*Spec::Parse("A[I_XY, J]"), *Mesh::Parse("X=8,Y=2"), sizes, 15),
            Shape({64, 4096}));
  const Bytes held = HeldBy("A[I_XY, J]", DType::kF32, "X=8,Y=2", sizes);
  EXPECT_EQ(held, Bytes(1 << 20));
  // Read once from the memory of an H100: 308 ns; the notes say 294, of 1e6 bytes.
  EXPECT_NEAR((held / BytesPerSecond(3.4e12)).value(), 308.4e-9, 0.1e-9);
  EXPECT_NEAR((Bytes(1'000'000) / BytesPerSecond(3.4e12)).value(), 294e-9, 0.2e-9);
}

TEST(LectureMatrices, HalfAMebibyteOnThirtyTwoCards) {
  const DimSizes sizes = {{"I", 128}, {"J", 2048}};
  EXPECT_EQ(HeldBy("A[I_XY, J]", DType::kI8, "X=2,Y=8,Z=2", sizes), Bytes(16'384));
  EXPECT_EQ(Replicas("A[I_XY, J]", "X=2,Y=8,Z=2", sizes), 2);
  EXPECT_EQ(Replicas("A[I_XY, J]", "X=2,Y=8,Z=2", sizes) * 128 * 2048, 512 * 1024);
}

TEST(LectureMatrices, AxesThatAreNotUsedMultiplyTheMemory) {
  EXPECT_EQ(Replicas("A[I_X, J, K]", "X=4,Y=8,Z=2", {{"I", 8}, {"J", 3}, {"K", 5}}), 16);
  // Fewer blocks than ranks do not: 1 row on X=4 is held by one rank in four.
  EXPECT_EQ(Replicas("A[I_X, J]", "X=4,Y=2", {{"I", 1}, {"J", 3}}), 2);
}

// The pictures of layouts on a mesh of 2 x 2.
TEST(LectureMatrices, LayoutsOfFourBlocks) {
  const DimSizes sizes = {{"I", 4}, {"J", 4}};
  EXPECT_EQ(Replicas("A[I, J]", "X=2,Y=2", sizes), 4);
  EXPECT_EQ(Replicas("A[I_X, J]", "X=2,Y=2", sizes), 2);
  EXPECT_EQ(Replicas("A[I_X, J_Y]", "X=2,Y=2", sizes), 1);
  EXPECT_EQ(Replicas("A[I_XY, J]", "X=2,Y=2", sizes), 1);
  EXPECT_FALSE(Spec::Parse("A[I_X, J_X]").ok());
  // The order of axes is the order of blocks: rank (0, 1) has row 1 under XY, row 2 under YX.
  const Mesh mesh = *Mesh::Parse("X=2,Y=2");
  EXPECT_EQ(BlockOf({"X", "Y"}, mesh, 4, 1).begin, 1);
  EXPECT_EQ(BlockOf({"Y", "X"}, mesh, 4, 1).begin, 2);
}

ProductAnswer Ask(const char* text, const char* mesh, const DimSizes& sizes,
                  const Tariff& tariff = Tariff(), DType dtype = DType::kBF16) {
  const Result<Product> product = ParseProduct(text);
  EXPECT_TRUE(product.ok()) << product.status().message();
  const auto answer = ExplainProduct(*product, *Mesh::Parse(mesh), sizes, dtype, tariff);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return *answer;
}

TEST(LectureMatrices, Case1MovesNothing) {
  const DimSizes sizes = {{"I", 64}, {"J", 64}, {"K", 64}};
  for (const char* text :
       {"A[I, J] * B[J, K] -> C[I, K]", "A[I_X, J] * B[J, K] -> C[I_X, K]",
        "A[I, J] * B[J, K_Y] -> C[I, K_Y]", "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]"}) {
    const ProductAnswer answer = Ask(text, "X=2,Y=2", sizes);
    EXPECT_EQ(answer.number, 1) << text;
    EXPECT_EQ(answer.plans[0].cost.bytes_sent, Bytes(0)) << text;
  }
}

// The bytes of the cheapest plan whose rule contains all of `parts`.
Bytes SentBy(const ProductAnswer& answer, const std::vector<std::string>& parts) {
  for (const ChainPlan& plan : answer.plans) {
    if (std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return plan.rule.find(part) != std::string::npos;
        })) {
      return plan.cost.bytes_sent;
    }
  }
  ADD_FAILURE() << "no way with " << parts[0];
  return Bytes(-1);
}

TEST(LectureMatrices, Case2GathersOrSlicesTheOtherAndReduces) {
  const ProductAnswer answer =
      Ask("A[I, J_X] * B[J, K] -> C[I, K]", "X=4", {{"I", 64}, {"J", 256}, {"K", 16}});
  EXPECT_EQ(answer.number, 2);
  EXPECT_EQ(SentBy(answer, {"all_gather J over X of A"}), Bytes(2 * 64 * 256 * 3 / 4));
  EXPECT_EQ(SentBy(answer, {"slice J over X of B", "all_reduce over X of C"}),
            Bytes(2 * 2 * 64 * 16 * 3 / 4));
}

TEST(LectureMatrices, Case3ReducesTwiceWhatItScatters) {
  const DimSizes sizes = {{"I", 64}, {"J", 256}, {"K", 16}};
  const ProductAnswer whole = Ask("A[I, J_X] * B[J_X, K] -> C[I, K]", "X=4", sizes);
  const ProductAnswer split = Ask("A[I, J_X] * B[J_X, K] -> C[I, K_X]", "X=4", sizes);
  EXPECT_EQ(whole.number, 3);
  EXPECT_EQ(SentBy(whole, {"X splits J: all_reduce over X of C"}), Bytes(2 * 2 * 64 * 16 * 3 / 4));
  EXPECT_EQ(SentBy(split, {"X splits J: reduce_scatter K over X of C"}),
            Bytes(2 * 64 * 16 * 3 / 4));
  // A C B as outer products: what a rank holds before the reduction is its terms of the sum.
  const ProductAnswer left = Ask("A[I, J_X] * B[J_X, K]", "X=4", sizes);
  EXPECT_EQ(left.plans[0].Final().ToString(), "C[I, K]{U_X}");
}

TEST(LectureMatrices, Case4GathersTheSmaller) {
  const char* text = "A[I_X, J] * B[J, K_X]";
  const ProductAnswer wide = Ask(text, "X=4", {{"I", 512}, {"J", 64}, {"K", 128}});
  EXPECT_EQ(wide.number, 4);
  EXPECT_EQ(wide.plans[0].rule, "X splits I: all_gather K over X of B");
  EXPECT_EQ(wide.plans[0].Final().ToString(), "C[I_X, K]");
  const ProductAnswer tall = Ask(text, "X=4", {{"I", 128}, {"J", 64}, {"K", 512}});
  EXPECT_EQ(tall.plans[0].rule, "X splits K: all_gather I over X of A");
  EXPECT_EQ(tall.plans[0].Final().ToString(), "C[I, K_X]");
  EXPECT_FALSE(ParseProduct("A[I_X, J] * B[J, K_X] -> C[I_X, K_X]").ok());
}

// The table of primitives: which index comes and which goes, and bytes a rank, (n - 1)/n of V, V
// and 1/n of it.
TEST(LectureMatrices, PrimitivesChangeIndices) {
  const Mesh mesh = *Mesh::Parse("X=4,Y=2");
  const DimSizes sizes = {{"I", 64}, {"J", 64}};
  const auto plan = [&](const char* from, const char* to) {
    const ReshardPlan reshard = *PlanReshard(*Spec::Parse(from), *Spec::Parse(to), DType::kBF16,
                                             mesh, sizes, Tariff(), std::nullopt, IdleAxes::kLeave);
    EXPECT_EQ(reshard.moves.size(), 1U);
    return ToString(reshard.moves[0]) + ", " + std::to_string(reshard.cost.bytes_sent.value());
  };
  EXPECT_EQ(plan("[I_X, J]", "[I, J]"), "all_gather I over X, 6144");
  EXPECT_EQ(plan("[I, J]{U_X}", "[I_X, J]"), "reduce_scatter I over X, 6144");
  EXPECT_EQ(plan("[I_X, J]{U_Y}", "[I_X, J]"), "all_reduce over Y, 2048");
  EXPECT_EQ(plan("[I, J_X]", "[I_X, J]"), "all_to_all J to I over X, 1536");  // a quarter of 6144
  // Split over Y as well, each group handles V / |Y|.
  EXPECT_EQ(plan("[I_X, J_Y]", "[I, J_Y]"), "all_gather I over X, 3072");
}

// X[B, D] . Y[D_X, F] -> Z[B, F] on a TPU v5p, C/W = 2550.
TEST(LectureMatrices, BreakEvensOfGatheringAndReducing) {
  Tariff v5p;
  v5p.flops_per_byte = 2550;
  const char* text = "X[B, D] * Y[D_X, F] -> Z[B, F]";
  const Mesh mesh = *Mesh::Parse("X=16");
  const auto point = [&](std::int64_t b, std::int64_t d) {
    const DimSizes sizes = {{"B", b}, {"D", d}, {"F", 4096}};
    const ProductAnswer answer = Ask(text, "X=16", sizes, v5p);
    const std::vector<BreakEven> points =
        BreakEvensOf(*ParseProduct(text), answer.cases, mesh, sizes, DType::kBF16, v5p);
    EXPECT_EQ(points.size(), 1U);
    return points.at(0);
  };
  const BreakEven one = point(1024, 8192);
  EXPECT_EQ(one.operand, "Y");
  EXPECT_EQ(one.dim, "D");
  EXPECT_EQ(one.others, "B");
  EXPECT_EQ(one.gather_bytes, Bytes(2LL * 8192 * 4096 * 15 / 16));
  EXPECT_EQ(one.reduce_bytes, Bytes(4LL * 1024 * 4096 * 15 / 16));
  EXPECT_EQ(one.in_bytes, 2 * 1024);  // D > 2 B
  EXPECT_EQ(one.hidden, 5100);        // D > 2 C/W
  EXPECT_EQ(one.rows_to_hide, 2550);  // B > C/W
  EXPECT_EQ(
      ToString(one),
      "axis X: gather Y sends 62914560 B, all_reduce of the result 15728640 B\n"
      "  in bytes alone reducing wins where D > 2048; here D is 8192\n"
      "  the product hides the gather where B >= 2550, and then reducing wins where D > 5100; "
      "here B is 1024\n");
  // With few rows both ways wait for bytes, and the planner's choice turns at D = 2 B.
  const auto reduces = [&](std::int64_t b, std::int64_t d) {
    const BreakEven p = point(b, d);
    return p.reduce_bytes < p.gather_bytes;
  };
  EXPECT_TRUE(reduces(1024, 2049));
  EXPECT_FALSE(reduces(1024, 2047));
  // With many the times are those of the roofline.
  const FlopsPerSecond c(4.59e14);
  const BytesPerSecond w(1.8e11);
  const auto faster = [&](double b, double d) {
    return ReduceOutput(b, d, 4096, 16, 2, c, w).Overlapped() <
           GatherWeight(b, d, 4096, 2, c, w).Overlapped();
  };
  EXPECT_TRUE(faster(10'000, 5101));
  EXPECT_FALSE(faster(10'000, 5099));
}

// A result that may stay split halves what reducing costs, and with it D at break-even.
TEST(LectureMatrices, ScatteringHalvesTheBreakEven) {
  const char* text = "X[B, D] * Y[D_X, F] -> Z[B, F_X]";
  const DimSizes sizes = {{"B", 1024}, {"D", 8192}, {"F", 4096}};
  Tariff v5p;
  v5p.flops_per_byte = 2550;
  const ProductAnswer answer = Ask(text, "X=16", sizes, v5p);
  const BreakEven point = BreakEvensOf(*ParseProduct(text), answer.cases, *Mesh::Parse("X=16"),
                                       sizes, DType::kBF16, v5p)[0];
  EXPECT_EQ(point.reduce, "reduce_scatter");
  EXPECT_EQ(point.in_bytes, 1024);
  EXPECT_EQ(point.hidden, 2550);
}

// Data parallel, FSDP and tensor parallel as products: In[B, D] . Win[D, F] . Wout[F, D].
TEST(LectureMatrices, StrategiesAreSpecs) {
  const DimSizes sizes = {{"B", 4096}, {"D", 64}, {"F", 256}, {"E", 64}};
  EXPECT_EQ(Ask("In[B_X, D] * Win[D, F] -> Tmp[B_X, F]", "X=4", sizes).number, 1);
  // dW = In^T dTmp: B is contracted and split in both.
  const ProductAnswer gradient = Ask("In[B_X, D] * dTmp[B_X, F] -> dW[D, F]", "X=4", sizes);
  EXPECT_EQ(gradient.number, 3);
  EXPECT_EQ(gradient.plans[0].rule, "X splits B: all_reduce over X of dW");
  EXPECT_EQ(Ask("In[B_X, D] * dTmp[B_X, F] -> dW[D_X, F]", "X=4", sizes).plans[0].rule,
            "X splits B: reduce_scatter D over X of dW");
  // FSDP: weights are gathered for their use.
  EXPECT_EQ(Ask("In[B_X, D] * Win[D_X, F] -> Tmp[B_X, F]", "X=4", sizes).plans[0].rule,
            "X splits B: all_gather D over X of Win");
  EXPECT_EQ(Ask("Tmp[B_X, F] * Wout[F, E_X] -> Out[B_X, E]", "X=4", sizes).plans[0].rule,
            "X splits B: all_gather E over X of Wout");
  // Tensor parallel: activations are gathered before and scattered behind.
  const DimSizes few = {{"B", 64}, {"D", 1024}, {"F", 4096}, {"E", 1024}};
  const ProductAnswer tensor =
      Ask("In[B, D_Y] * Win[D, F_Y] * Wout[F_Y, E] -> Out[B, E_Y]", "Y=4", few);
  EXPECT_EQ(tensor.plans[0].rule,
            "InWin: Y splits F: all_gather D over Y of In; then Out: Y splits F: reduce_scatter E "
            "over Y of Out");
}

// all_gather = broadcast x I, reduce_scatter = reduce x I: written out as matrices, column by
// column from basis vectors, each is the other's transpose. n ranks, vectors of m elements, uneven.
TEST(LectureMatrices, AllGatherAndReduceScatterAreTransposes) {
  const Mesh mesh = *Mesh::Parse("X=3");
  constexpr std::int64_t kSize = 7;
  const DimSizes sizes = {{"I", kSize}};
  // Both maps are between what all ranks hold apart, (7), and what they hold whole, (3, 7), which
  // is an array [R_X, I] with one row a rank.
  const auto gather = *StepProgram::Parse(
      "bound\n  a[I_X]: f64 input\noperations\n  b[I]: f64 activation = all_gather(a, I_X)\n"
      "outputs b\n");
  std::vector<std::vector<double>> gathered(kSize);  // column j: of basis vector j
  for (std::int64_t j = 0; j < kSize; ++j) {
    PlainArray basis = Filled(Shape({kSize}), 0);
    basis.elements[static_cast<std::size_t>(j)] = 1;
    const auto run = Interpret(gather, mesh, sizes, {{"a", basis}}, {});
    ASSERT_TRUE(run.ok());
    // Every rank holds all of it: Interpret has compared them.
    for (int rank = 0; rank < 3; ++rank) {
      const std::vector<double>& whole = run->at("b").elements;
      gathered[static_cast<std::size_t>(j)].insert(gathered[static_cast<std::size_t>(j)].end(),
                                                   whole.begin(), whole.end());
    }
  }
  // The sum of rows r[R_X] x[R_X, I] over X, scattered.
  const auto scatter = *StepProgram::Parse(
      "bound\n  r[R_X]: f64 input\n  x[R_X, I]: f64 input\noperations\n"
      "  s[I]{U_X}: f64 activation = contract(r, x)\n"
      "  t[I_X]: f64 activation = reduce_scatter(s, I_X)\n  free(s)\noutputs t\n");
  for (std::int64_t row = 0; row < 3 * kSize; ++row) {
    PlainArray basis = Filled(Shape({3, kSize}), 0);
    basis.elements[static_cast<std::size_t>(row)] = 1;
    const auto run = Interpret(scatter, mesh, {{"I", kSize}, {"R", 3}},
                               {{"r", Filled(Shape({3}), 1)}, {"x", basis}}, {});
    ASSERT_TRUE(run.ok()) << run.status().message();
    for (std::int64_t j = 0; j < kSize; ++j) {
      EXPECT_EQ(run->at("t").elements[static_cast<std::size_t>(j)],
                gathered[static_cast<std::size_t>(j)][static_cast<std::size_t>(row)])
          << row << ", " << j;
    }
  }
}

}  // namespace
}  // namespace chorus
