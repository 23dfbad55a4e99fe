#include "chorus/shard/gradient.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "chorus/program/interpreter.h"
#include "chorus/shard/product_cases_test.h"

namespace chorus {
namespace {

using ::testing::ElementsAre;

using NamedArrays = std::map<std::string, PlainArray>;

std::vector<std::string> GradientTexts(const char* text) {
  const Product product = *ParseProduct(text);
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    texts.push_back(GradientOf(product, k, product.wanted.value_or(product.result)).ToString());
    EXPECT_TRUE(ParseProduct(texts.back()).ok()) << texts.back();
  }
  return texts;
}

TEST(ProductGradient, IsTheResultsGradientTimesTheOthers) {
  EXPECT_THAT(
      GradientTexts("A[I_X, J] * B[J, K] -> C[I_X, K]"),
      ElementsAre("dC[I_X, K] * B[J, K] -> dA[I_X, J]", "dC[I_X, K] * A[I_X, J] -> dB[J, K]"));
  EXPECT_THAT(GradientTexts("A[Z_X, I, J] * B[Z_X, J, K]{U_Y} -> C[Z, I, K]{U_Y}"),
              ElementsAre("dC[Z, I, K] * B[Z_X, J, K]{U_Y} -> dA[Z_X, I, J]",
                          "dC[Z, I, K] * A[Z_X, I, J] -> dB[Z_X, J, K]"));
  EXPECT_THAT(GradientTexts("A[I, J] * B[J, K] * D[K, L]"),
              ElementsAre("dE[I, L] * B[J, K] * D[K, L] -> dA[I, J]",
                          "dE[I, L] * A[I, J] * D[K, L] -> dB[J, K]",
                          "dE[I, L] * A[I, J] * B[J, K] -> dD[K, L]"));
}

TEST(ProductGradient, HasNamesOfItsOwn) {
  EXPECT_THAT(GradientTexts("A[I, J] * dA[J, K] -> C[I, K]"),
              ElementsAre("dC[I, K] * dA[J, K] -> ddA[I, J]", "dC[I, K] * A[I, J] -> ddA[J, K]"));
}

// FSDP: the weight is gathered for the product; its gradient is reduce_scattered.
TEST(ProductGradient, GathersForwardAndReduceScattersBack) {
  const Product product = *ParseProduct("x[B_X, D] * w[D_X, F] -> h[B_X, F]");
  const Mesh mesh = *Mesh::Parse("X=4");
  const DimSizes sizes = {{"B", 4096}, {"D", 64}, {"F", 64}};
  const auto forward = ExplainProduct(product, mesh, sizes, DType::kF32, Tariff());
  ASSERT_TRUE(forward.ok()) << forward.status().message();
  EXPECT_EQ(forward->plans[0].rule, "X splits B: all_gather D over X of w");
  const auto back =
      ExplainProduct(GradientOf(product, 1, *product.wanted), mesh, sizes, DType::kF32, Tariff());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->plans[0].rule, "X splits B: reduce_scatter D over X of dw");
}

// What the planned program gives.
PlainArray ByPlan(const Product& product, const Mesh& mesh, const DimSizes& sizes,
                  const NamedArrays& arrays, std::string* wrong) {
  const auto plans = PlanChain(product.operands, product.result, product.wanted, mesh, sizes,
                               DType::kF64, Tariff());
  if (!plans.ok()) return *wrong = plans.status().message(), PlainArray();
  const auto program = ProgramOf(product, plans->front(), DType::kF64);
  if (!program.ok()) return *wrong = program.status().message(), PlainArray();
  NamedArrays bound;
  for (const Spec& spec : product.operands) bound[spec.name()] = arrays.at(spec.name());
  const auto run = Interpret(*program, mesh, sizes, bound, AdamWSettings());
  if (!run.ok()) return *wrong = run.status().message(), PlainArray();
  return run->at(product.result.name());
}

// The dense gradient without any rule for it: element e of dA is the whole of C under dC if A is
// the basis vector e, since C is linear in A.
PlainArray DenseGradient(const NamedArrays& arrays, const std::string& of) {
  PlainArray gradient = Filled(arrays.at(of).shape, 0);
  NamedArrays with_basis = arrays;
  for (std::size_t e = 0; e < gradient.elements.size(); ++e) {
    with_basis[of] = Filled(gradient.shape, 0);
    with_basis[of].elements[e] = 1;
    const PlainArray c = ProductCases::PlainProduct(with_basis);
    for (std::size_t i = 0; i < c.elements.size(); ++i) {
      gradient.elements[e] += arrays.at("dC").elements[i] * c.elements[i];
    }
  }
  return gradient;
}

// A sample of the day of all products on small meshes; CHORUS_PRODUCTS=5000 takes so many of each
// mesh, CHORUS_SEED another day's.
TEST(ProductGradient, OfProductsOnSmallMeshesIsTheDenseOne) {
  const char* const given = std::getenv("CHORUS_SEED");
  const std::uint64_t seed = given != nullptr
                                 ? std::strtoull(given, nullptr, 10)
                                 : static_cast<std::uint64_t>(std::time(nullptr) / (24 * 3600));
  const char* const asked = std::getenv("CHORUS_PRODUCTS");
  const int most = asked == nullptr ? 5 : std::max(1, std::atoi(asked));
  const RandomStream draw(seed, "gradients");
  for (const Mesh& mesh : ProductCases::Meshes()) {
    const ProductCases cases(mesh);
    for (int k = 0; k < most; ++k) {
      const auto i = static_cast<std::int64_t>(
          draw.Below(static_cast<std::uint64_t>(cases.size()), static_cast<std::uint64_t>(k)));
      const DimSizes sizes = ProductCases::SizesOf(seed, i);
      const Product product = cases.At(i);
      NamedArrays arrays = ProductCases::ArraysOf(sizes);
      arrays["dC"] = Filled(GlobalShape(product.result, sizes), 0);
      int next = 3;
      for (double& x : arrays["dC"].elements) x = (next = (next * 29 + 7) % 31) - 15;
      for (std::size_t operand = 0; operand < 2; ++operand) {
        const Product gradient =
            GradientOf(product, operand, product.wanted.value_or(product.result));
        SCOPED_TRACE(fmt::format("{} on {}, {}; repeat with CHORUS_SEED={}", gradient.ToString(),
                                 mesh.ToString(), ToString(sizes), seed));
        std::string wrong;
        const PlainArray found = ByPlan(gradient, mesh, sizes, arrays, &wrong);
        ASSERT_EQ(wrong, "");
        ASSERT_EQ(found, DenseGradient(arrays, product.operands[operand].name()));
      }
    }
  }
}

}  // namespace
}  // namespace chorus
