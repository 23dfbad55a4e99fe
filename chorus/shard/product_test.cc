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
      "over X of C | not X repeats: all_gather J over X of A, all_gather J over X of B "
      "(6291456 B, 2147483648 FLOP, holds 14680064 B) | not X splits I: all_to_all J to I over X "
      "of A, all_gather J over X of B, all_gather I over X of C (7077888 B, 536870912 FLOP, holds "
      "8388608 B) | not X splits K: all_gather J over X of A, all_to_all J to K over X of B, "
      "all_gather K over X of C (7077888 B, 536870912 FLOP, holds 11534336 B)\n"
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
            "a product is written A[I, J] * B[J, K] -> C[I, K]: '*' is missing here, so write "
            "A[I, J] * B[J, K]\n"
            "  A[I, J] B[J, K]\n          ^");
  EXPECT_EQ(error("A[I, J]"),
            "a product is written A[I, J] * B[J, K] -> C[I, K]: '*' is missing here, so write "
            "A[I, J] * B[J, K]\n"
            "  A[I, J]\n         ^");
  EXPECT_EQ(
      error("A[I, J_X] * B[J_X, K_X]"),
      "axis X is used twice: on dimension J (character 17) and on dimension K (character 22); "
      "an axis can be used once, so write B[J_X, K] or B[J, K_X]\n"
      "  A[I, J_X] * B[J_X, K_X]\n                       ^");
  EXPECT_EQ(error("A[I, J] * A[J, K]"),
            "two arrays are called A (characters 1 and 11); give them different names, so write "
            "A[I, J] * B[J, K]\n"
            "  A[I, J] * A[J, K]\n            ^");
  EXPECT_EQ(error("A[I, J] * B[J, K] -> C[I_X, L]"),
            "dimension K is in B (character 16) alone: what the result C (character 22) lacks is "
            "summed, and a sum needs it in two operands; write -> C[I_X, K]\n"
            "  A[I, J] * B[J, K] -> C[I_X, L]\n                 ^");
  EXPECT_EQ(
      error("A[I, J] * B[J, K] -> C[I, K_X, L]"),
      "dimension L of the result C (character 32) is in no operand (the first is at character "
      "1); write -> C[I, K_X]\n"
      "  A[I, J] * B[J, K] -> C[I, K_X, L]\n                                 ^");
  EXPECT_EQ(error("A[I] * B[K] -> C[I, K]{U_X}"),
            "C (character 16) cannot be a sum over X: no dimension of A (character 1) and the "
            "others is summed; write -> C[I, K]\n"
            "  A[I] * B[K] -> C[I, K]{U_X}\n                        ^");
  EXPECT_EQ(error("A[I, J] * B[J, K] = C"),
            "the product ends before this; a product is written A[I, J] * B[J, K] -> C[I, K], so "
            "write A[I, J] * B[J, K] -> C[I, K]\n"
            "  A[I, J] * B[J, K] = C\n                    ^");
  EXPECT_EQ(
      error("A[A] * [A] * [A] * [A] * [A] * [A] * [A]"),
      "a chain has at most 6 operands; multiply the first 6 and go on from the result, so write "
      "A[A] * B[A] * C[A] * D[A] * E[A] * F[A]\n"
      "  A[A] * [A] * [A] * [A] * [A] * [A] * [A]\n                                       ^");
  EXPECT_EQ(ParseProduct("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]")->ToString(),
            "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]");
}

TEST(Product, PointsAtWhatTheMeshOrTheSizesLack) {
  const auto error = [](const char* text) {
    return CheckProduct(text, *Mesh::Parse("X=2"), {{"I", 4}, {"J", 4}}).message();
  };
  EXPECT_EQ(error("A[I_X, J] * B[J, I]"), "");
  EXPECT_EQ(error("A[I, J] * B[J_XZ, I]"),
            "B[J_XZ, I] uses axis Z on dimension J, but the mesh has only X=2, so write "
            "B[J_X, I], or give the mesh the axis: X=2,Z=2\n"
            "  A[I, J] * B[J_XZ, I]\n              ^");
  EXPECT_THAT(
      error("A[I, J] * B[J, I] -> C[I]{U_Y}"),
      testing::EndsWith("\n  A[I, J] * B[J, I] -> C[I]{U_Y}\n                           ^"));
  EXPECT_EQ(error("A[I, J] * B[J, K]"),
            "dimension K of B[J, K] has no size; there are I=4,J=4, so write for example "
            "I=4,J=4,K=1024\n"
            "  A[I, J] * B[J, K]\n                 ^");
  // Sizes are shown for all that lack one, and after what is wrong in the product.
  EXPECT_THAT(error("A[I, L] * B[L, K]"), testing::HasSubstr("example I=4,J=4,K=1024,L=1024\n"));
  EXPECT_THAT(error("A[I, L] * B[L, K_Z]"), testing::HasSubstr("uses axis Z on dimension K"));
}

TEST(Product, NamesWhatHasNoName) {
  EXPECT_EQ(ParseProduct("[I, J] . [J, K] . [K, L]")->ToString(), "A[I, J] * B[J, K] * C[K, L]");
  EXPECT_EQ(ParseProduct("[I, J] . [J, K] . [K, L]")->result.ToString(), "D[I, L]");
  EXPECT_EQ(ParseProduct("A[I, J] * C[J, K]")->result.ToString(), "D[I, K]");
}

PlainArray MixedNumbers(const Shape& shape, int seed) {
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
  const PlainArray a = MixedNumbers(Shape({5, 7}), 1);
  const PlainArray b = MixedNumbers(Shape({7, 3}), 2);
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

// Runs a product and compares it with the plain one, operand after operand.
void ExpectPlain(const std::string& text, const Mesh& mesh, const DimSizes& sizes) {
  const Result<Product> product = ParseProduct(text);
  ASSERT_TRUE(product.ok()) << product.status().message();
  const auto answer = ExplainProduct(*product, mesh, sizes, DType::kF64, Tariff());
  ASSERT_TRUE(answer.ok()) << text << ": " << answer.status().message();
  // The plain product is the same text on one rank, whose plan moves nothing.
  std::vector<Spec> whole;
  std::map<std::string, PlainArray> bound;
  for (const Spec& operand : product->operands) {
    whole.push_back(Spec::Whole(operand.name(), operand.DimNames()));
    bound[operand.name()] =
        MixedNumbers(GlobalShape(operand, sizes), static_cast<int>(bound.size()));
  }
  const Product plain{whole, product->result, std::nullopt};
  const auto alone = ExplainProduct(plain, Mesh(), sizes, DType::kF64, Tariff());
  ASSERT_TRUE(alone.ok());
  const auto want = Interpret(alone->program, Mesh(), sizes, bound, {});
  const auto run = Interpret(answer->program, mesh, sizes, bound, {});
  ASSERT_TRUE(run.ok()) << text << ": " << run.status().message();
  const std::string& name = product->result.name();
  EXPECT_EQ(run->at(name), want->at(name)) << text << "\n" << answer->program.ToString();
  if (product->wanted) {
    EXPECT_EQ(answer->plans[0].Final().ToString(), product->wanted->ToString()) << text;
  }
}

TEST(Product, TakesAndLeavesSums) {
  const DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}};
  for (const char* mesh : {"X=2,Y=2", "X=3,Y=2"}) {
    for (const char* a : {"A[I, J]{U_X}", "A[I_Y, J]{U_X}", "A[I, J_Y]{U_X}", "A[I, J]{U_XY}"}) {
      for (const char* b : {"B[J, K]", "B[J_X, K]", "B[J, K]{U_X}", "B[J, K_Y]"}) {
        for (const char* c : {"", " -> C[I, K]", " -> C[I, K]{U_X}", " -> C[I_YX, K]"}) {
          ExpectPlain(std::string(a) + " * " + b + c, *Mesh::Parse(mesh), sizes);
        }
      }
    }
  }
}

TEST(Product, KeepsBatches) {
  const DimSizes sizes = {{"Z", 5}, {"W", 2}, {"I", 3}, {"J", 4}, {"K", 3}};
  for (const char* text : {
           "A[Z_X, I, J] * B[Z_X, J, K] -> C[Z_X, I, K]",
           "A[Z_XY, I, J] * B[Z_YX, J, K] -> C[Z, I, K]",
           "A[Z, W_Y, I_X, J] * B[Z_Y, W, J, K_X] -> C[W, Z, K_X, I]",
           "A[Z, I, J_X] * B[J_X, Z_Y] -> C[Z_Y, I]",
           "A[Z, I_X, J]{U_Y} * B[Z, J, K] -> C[Z, I, K]{U_Y}",
       }) {
    ExpectPlain(text, *Mesh::Parse("X=2,Y=2"), sizes);
    ExpectPlain(text, *Mesh::Parse("X=2,Y=3"), sizes);
  }
}

// Three axes on one dimension, in every order, against every other order.
TEST(Product, TakesAxesInAnyOrder) {
  const Mesh mesh = *Mesh::Parse("X=2,Y=2,Z=2");
  for (const char* axes : {"YZX", "ZYX"}) {
    for (const char* other : {"ZXY", ""}) {
      const std::string in_b = *other == '\0' ? "J" : std::string("J_") + other;
      ExpectPlain(std::string("A[I, J_") + axes + "] * B[" + in_b + ", K] -> C[I, K]", mesh,
                  {{"I", 2}, {"J", 11}, {"K", 3}});
    }
  }
}

TEST(Product, ChainsAreDoneInTheCheapestOrder) {
  const DimSizes narrow_end = {{"I", 64}, {"J", 64}, {"K", 64}, {"L", 2}};
  const DimSizes narrow_start = {{"I", 2}, {"J", 64}, {"K", 64}, {"L", 64}};
  const char* text = "A[I_X, J] * B[J, K_Y] * D[K_Y, L] -> E[I, L]";
  const ProductAnswer end = Explain(text, "X=2,Y=2", narrow_end);
  EXPECT_EQ(end.plans[0].order, "A * (B * D)");
  EXPECT_EQ(Explain(text, "X=2,Y=2", narrow_start).plans[0].order, "(A * B) * D");
  // Both orders are among what was weighed, cheapest first.
  EXPECT_TRUE(std::any_of(end.plans.begin(), end.plans.end(),
                          [](const ChainPlan& plan) { return plan.order == "(A * B) * D"; }));
  for (std::size_t i = 1; i < end.plans.size(); ++i) {
    EXPECT_LE(Price(end.plans[i - 1].cost, Tariff()), Price(end.plans[i].cost, Tariff()));
  }
}

TEST(Product, AChainCostsNoMoreThanItsProductsOneByOne) {
  const DimSizes sizes = {{"I", 64}, {"J", 32}, {"K", 16}, {"L", 48}};
  for (const char* d : {"D[K, L]", "D[K_Y, L]", "D[K_X, L_Y]", "D[K, L]{U_X}"}) {
    const ProductAnswer first = Explain("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]", "X=2,Y=2", sizes);
    const std::string second = std::string("C[I_X, K_Y] * ") + d + " -> E[I_X, L]";
    const std::string both = std::string("A[I_X, J] * B[J, K_Y] * ") + d + " -> E[I_X, L]";
    EXPECT_LE(Price(Explain(both.c_str(), "X=2,Y=2", sizes).plans[0].cost, Tariff()),
              Price(first.plans[0].cost, Tariff()) +
                  Price(Explain(second.c_str(), "X=2,Y=2", sizes).plans[0].cost, Tariff()) + 1e-6)
        << d;
  }
}

TEST(Product, ChainsEqualThePlainProduct) {
  const DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}, {"L", 4}, {"M", 2}};
  for (const char* mesh : {"X=3", "X=2,Y=2", "X=2,Y=3"}) {
    const bool two = Mesh::Parse(mesh)->axes().size() == 2;
    ExpectPlain("A[I_X, J] * B[J, K_X] * D[K, L] -> E[I, L_X]", *Mesh::Parse(mesh), sizes);
    ExpectPlain("A[I, J_X] * B[J, K]{U_X} * D[K_X, L]", *Mesh::Parse(mesh), sizes);
    ExpectPlain("A[I] * B[J] * D[I, J_X] -> E[]", *Mesh::Parse(mesh), sizes);
    ExpectPlain("A[I, J] * B[I, K_X] * D[I, L] -> E[I_X, J, K, L]", *Mesh::Parse(mesh), sizes);
    if (!two) continue;
    ExpectPlain("A[I_X, J_Y] * B[J_Y, K_X] * D[K_XY, L] -> E[I_YX, L]", *Mesh::Parse(mesh), sizes);
  }
  ExpectPlain("A[I_X, J] * B[J, K_Y] * D[K_X, L_Y] * F[L, M_X] -> G[I_X, M_Y]",
              *Mesh::Parse("X=2,Y=2"), sizes);
}

// 2.5D: A and B are replicated along Z, so each layer of the mesh does a quarter of the sum over J
// and moves a quarter of the bytes; C is then summed over Z.
TEST(Product, ReplicasSaveTraffic) {
  const char* text = "A[I_X, J_Y] * B[J_X, K_Y] -> C[I_X, K_Y]";
  const DimSizes sizes = {{"I", 4096}, {"J", 4096}, {"K", 4096}};
  const ProductAnswer flat = Explain(text, "X=4,Y=4", sizes);
  const ProductAnswer deep = Explain(text, "X=4,Y=4,Z=4", sizes);
  EXPECT_LT(deep.plans[0].cost.bytes_sent * 2, flat.plans[0].cost.bytes_sent);
  EXPECT_EQ(deep.plans[0].cost.flops * 4, flat.plans[0].cost.flops);
  const auto layers = std::find_if(deep.plans.begin(), deep.plans.end(), [](const ChainPlan& plan) {
    return plan.rule.rfind("X splits I, Y splits K, Z splits J: ", 0) == 0 &&
           plan.rule.find("all_reduce over Z of C") != std::string::npos;
  });
  ASSERT_NE(layers, deep.plans.end());
  const auto repeated =
      std::find_if(deep.plans.begin(), deep.plans.end(), [](const ChainPlan& plan) {
        return plan.rule.rfind("X splits I, Y splits K, Z repeats: ", 0) == 0;
      });
  ASSERT_NE(repeated, deep.plans.end());
  EXPECT_LT(layers->cost.bytes_sent, repeated->cost.bytes_sent);
  EXPECT_EQ(layers->cost.flops * 4, repeated->cost.flops);
}

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

TEST(ExplainProduct, ListsTheCheapestWaysOnManyAxes) {
  const Product product = *ParseProduct("A[I_X, J] * B[J, K] -> C[I, K]");
  const Mesh mesh = *Mesh::Parse("U=2,V=2,W=2,X=2,Y=2");
  const DimSizes sizes = {{"I", 256}, {"J", 256}, {"K", 256}};
  const auto answer = ExplainProduct(product, mesh, sizes, DType::kF32, Tariff());
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_FALSE(answer->are_all);
  ASSERT_EQ(answer->plans.size(), kWaysListed);
  for (std::size_t i = 1; i < answer->plans.size(); ++i) {
    EXPECT_GE(Price(answer->plans[i].cost, Tariff()), Price(answer->plans[i - 1].cost, Tariff()));
  }
  const auto one = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                             DType::kF32, Tariff(), /*most_ways=*/1);
  EXPECT_EQ(one->front().rule, answer->plans[0].rule);
}

}  // namespace
}  // namespace chorus
