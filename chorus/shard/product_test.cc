#include "chorus/shard/product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chorus/program/account.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

using testing::ElementsAre;

ProductAnswer Explain(const char* text, const char* mesh, const DimSizes& sizes) {
  const Result<Product> product = ParseProduct(text);
  EXPECT_TRUE(product.ok()) << product.status().message();
  auto answer = ExplainProduct(*product, *Mesh::Parse(mesh), sizes, DType::kF32, Tariff());
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  return *answer;
}

const DimSizes kCube = {{"I", 1024}, {"J", 1024}, {"K", 1024}};

TEST(Product, NamesTheFourCases) {
  EXPECT_THAT(Explain("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "X=2,Y=2", kCube).cases,
              ElementsAre(AxisCase{"X", 1, "splits I in A"}, AxisCase{"Y", 1, "splits K in B"}));
  EXPECT_THAT(Explain("A[I, J_X] * B[J, K] -> C[I, K]", "X=4", kCube).cases,
              ElementsAre(AxisCase{"X", 2, "splits the contracted J in A and nothing in B"}));
  EXPECT_THAT(Explain("A[I, J_X] * B[J_X, K] -> C[I, K]", "X=4", kCube).cases,
              ElementsAre(AxisCase{"X", 3, "splits the contracted J in A and in B"}));
  EXPECT_THAT(Explain("A[I_X, J] * B[J, K_X]", "X=4", kCube).cases,
              ElementsAre(AxisCase{"X", 4, "splits I in A and splits K in B"}));
  EXPECT_THAT(Explain("A[I_X, J] * B[J_X, K]", "X=4", kCube).cases,
              ElementsAre(AxisCase{"X", 2, "splits I in A and splits the contracted J in B"}));
  EXPECT_THAT(Explain("A[Z_X, I, J] * B[Z_X, J, K] -> C[Z_X, I, K]", "X=4",
                      {{"Z", 8}, {"I", 4}, {"J", 4}, {"K", 4}})
                  .cases,
              ElementsAre(AxisCase{"X", 1, "splits Z in A and in B"}));
  EXPECT_EQ(Explain("A[I_Y, J_X] * B[J_X, K_Y] -> C[I, K]", "X=2,Y=2", kCube).number, 4);
}

// The example of the tool's page: literal numbers, of each rank.
TEST(Product, CountsBytesMemoryAndOperations) {
  const ProductAnswer answer = Explain("A[I, J_X] * B[J_X, K] -> C[I, K]", "X=4", kCube);
  const Mesh mesh = *Mesh::Parse("X=4");
  EXPECT_EQ(
      answer.program.ToString(),
      "bound\n"
      "  A[I, J_X]: f32 input\n"
      "  B[J_X, K]: f32 input\n"
      "operations\n"
      "  C.local[I, K]{U_X}: f32 activation = contract(A, B)  # C |  | X splits J: all_reduce "
      "over X of C\n"
      "  C[I, K]: f32 activation = all_reduce(C.local, X) into C.local  # C |  | X splits J: "
      "all_reduce over X of C\n"
      "outputs C\n");
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const auto traffic = PredictTraffic(answer.program, mesh, kCube, rank);
    EXPECT_EQ(traffic.size(), 1U);
    EXPECT_EQ(traffic.at({ProgramOpKind::kAllReduce, "X"}), Bytes(6'291'456));
    EXPECT_EQ(ProductFlops(answer.program, mesh, kCube, rank), Flops(536'870'912));
    EXPECT_EQ(PeakMemory(answer.program, mesh, kCube, rank).peak, Bytes(6'291'456));
  }
}

TEST(Product, ShowsHowToWriteASumOut) {  // S08
  const ProductAnswer answer =
      Explain("A[I, J_X] * B[J_X, K]", "X=2", {{"I", 2}, {"J", 4}, {"K", 2}});
  EXPECT_EQ(answer.plans[0].Final().ToString(), "C[I, K]{U_X}");
  EXPECT_THAT(
      answer.spellings,
      ElementsAre("-> C[I, K]   all_reduce over X", "-> C[I_X, K]   reduce_scatter I over X",
                  "-> C[I, K_X]   reduce_scatter K over X", "-> C[I, K]{U_X}   leave it a sum"));
}

TEST(Product, PointsAtWhatIsWrong) {
  const auto error = [](const char* text) { return ParseProduct(text).status().message(); };
  EXPECT_EQ(error("A[I, J] B[J, K]"),
            "a product is written A[I, J] * B[J, K] -> C[I, K]: '*' is missing here\n"
            "  A[I, J] B[J, K]\n          ^");
  EXPECT_EQ(
      error("A[I, J_X] * B[J_X, K_X]"),
      "axis X is used twice: on dimension J (character 17) and on dimension K (character 22); "
      "an axis can be used once, so gather one of them\n"
      "  A[I, J_X] * B[J_X, K_X]\n                       ^");
  EXPECT_EQ(
      error("A[I, J] * A[J, K]"),
      "both operands are called A; give them different names\n  A[I, J] * A[J, K]\n            ^");
  EXPECT_EQ(
      error("A[I, J] * B[J, K] -> C[I, L]"),
      "each dimension must be in at least two of the three arrays: kept ones in an operand and "
      "the result, contracted ones in both operands\n"
      "  A[I, J] * B[J, K] -> C[I, L]\n                       ^");
  EXPECT_EQ(error("A[I, J] * B[J, K] = C"),
            "the product ends before this; it is written A[I, J] * B[J, K] -> C[I, K]\n"
            "  A[I, J] * B[J, K] = C\n                    ^");
  EXPECT_EQ(ParseProduct("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]")->ToString(),
            "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]");
}

PlainArray Numbers(const Shape& shape, int seed) {
  PlainArray array = Filled(shape, 0);
  int next = seed;
  for (double& x : array.elements) x = (next = (next * 37 + 11) % 101) - 50;
  return array;
}

// All specs of two dimensions over the axes of a mesh.
std::vector<std::string> AllSpecs(const Mesh& mesh, const std::string& first,
                                  const std::string& second) {
  std::vector<std::string> splits = {""};
  for (const MeshAxis& axis : mesh.axes()) splits.push_back("_" + axis.name);
  if (mesh.axes().size() == 2) splits.insert(splits.end(), {"_XY", "_YX"});
  std::vector<std::string> specs;
  for (const std::string& i : splits) {
    for (const std::string& j : splits) {
      std::string text = "[";
      text.append(first).append(i).append(", ").append(second).append(j).append("]");
      if (Spec::Parse(text).ok()) specs.push_back(text);
    }
  }
  return specs;
}

// Every product of every pair of specs with every result, uneven sizes and empty blocks, on every
// small mesh, gives the plain product. Covers the four cases and S07.
class EveryProduct : public testing::TestWithParam<const char*> {};

TEST_P(EveryProduct, EqualsThePlainProduct) {
  const Mesh mesh = *Mesh::Parse(GetParam());
  const DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}};
  const PlainArray a = Numbers(Shape({5, 7}), 1);
  const PlainArray b = Numbers(Shape({7, 3}), 2);
  const OpRule rule = *MakeRule(GraphOp::kContract, {{"I", "J"}, {"J", "K"}}, {"I", "K"});
  const PlainArray plain = Contract(rule, a, b, Shape({5, 3}));
  std::vector<std::string> results = AllSpecs(mesh, "I", "K");
  results.emplace_back("");
  std::array<int, 5> seen = {};
  for (const std::string& in_a : AllSpecs(mesh, "I", "J")) {
    for (const std::string& in_b : AllSpecs(mesh, "J", "K")) {
      for (const std::string& in_c : results) {
        // On two axes a third of all is enough.
        if (mesh.axes().size() == 2 && (in_a.size() + in_b.size() + in_c.size()) % 3 != 0) continue;
        std::string text = "A" + in_a + " * B" + in_b;
        if (!in_c.empty()) text += " -> C" + in_c;
        const auto answer = ExplainProduct(*ParseProduct(text), mesh, sizes, DType::kF64, Tariff());
        ASSERT_TRUE(answer.ok()) << text << ": " << answer.status().message();
        const auto run = Interpret(answer->program, mesh, sizes, {{"A", a}, {"B", b}}, {});
        ASSERT_TRUE(run.ok()) << text << ": " << run.status().message();
        EXPECT_EQ(run->at("C"), plain) << text << "\n" << answer->program.ToString();
        if (!in_c.empty()) {
          EXPECT_EQ(answer->plans[0].Final().ToString(), "C" + in_c);
        }
        ++seen[static_cast<std::size_t>(answer->number)];
      }
    }
  }
  for (int number = 1; number <= 4; ++number) {
    EXPECT_GT(seen[static_cast<std::size_t>(number)], 0) << "case " << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, EveryProduct,
                         testing::Values("X=2", "X=3", "X=4", "X=2,Y=2", "X=2,Y=3"));

// S07: ones times ones, twice, operands split over both axes.
TEST(Product, ChainsOnTwoAxes) {
  for (const char* mesh_text : {"X=2,Y=2", "X=2,Y=3"}) {
    for (const std::int64_t n : {12, 7}) {
      const Mesh mesh = *Mesh::Parse(mesh_text);
      const DimSizes sizes = {{"I", n}, {"J", n}, {"K", n}, {"L", n}};
      const PlainArray ones = Filled(Shape({n, n}), 1);
      const auto first = ExplainProduct(*ParseProduct("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]"), mesh,
                                        sizes, DType::kF64, Tariff());
      const auto second = ExplainProduct(*ParseProduct("C[I_X, K_Y] * D[K_X, L_Y] -> E[I_X, L_Y]"),
                                         mesh, sizes, DType::kF64, Tariff());
      ASSERT_TRUE(first.ok() && second.ok());
      const auto c = Interpret(first->program, mesh, sizes, {{"A", ones}, {"B", ones}}, {});
      ASSERT_TRUE(c.ok());
      const auto size = static_cast<double>(n);
      EXPECT_EQ(c->at("C"), Filled(Shape({n, n}), size));
      const auto e = Interpret(second->program, mesh, sizes, {{"C", c->at("C")}, {"D", ones}}, {});
      ASSERT_TRUE(e.ok());
      EXPECT_EQ(e->at("E"), Filled(Shape({n, n}), size * size));
    }
  }
}

}  // namespace
}  // namespace chorus
