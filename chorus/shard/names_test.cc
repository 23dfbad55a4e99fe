#include "chorus/shard/names.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(NamesTest, AreTheSameProductsAsText) {
  const Axis X("X"), Y("Y"), Dp("Dp");
  const Dim I("I"), J("J"), K("K"), L("L");
  const ArrayName A("A"), B("B"), C("C");
  const Result<Product> product = (A(I / X, J) * B(J, K / Y)).To(C(I / X, K / Y));
  ASSERT_TRUE(product.ok()) << product.status().message();
  EXPECT_EQ(product->ToString(), "A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]");
  EXPECT_EQ(*product, *ParseProduct("A[I_X, J] * B[J, K_Y] -> C[I_X, K_Y]"));

  const Result<Product> chain =
      (A(I / X / Dp, J) * B(J, K).Sum(Y) * ArrayName("D")(K, L)).ToCheapest();
  ASSERT_TRUE(chain.ok()) << chain.status().message();
  EXPECT_EQ(*chain, *ParseProduct("A[I_XDp, J] * B[J, K]{U_Y} * D[K, L]"));
  EXPECT_EQ(A(I / X).Sum(Y, Dp).ToSpec()->ToString(), Spec::Parse("A[I_X]{U_YDp}")->ToString());
  EXPECT_EQ(A().text(), "A[]");
}

TEST(NamesTest, AreRefusedAsText) {
  const Axis X("X");
  const Dim I("I"), J("J"), K("K");
  const auto wrong = (ArrayName("A")(I / X, J / X) * ArrayName("B")(J, K)).ToCheapest();
  EXPECT_EQ(wrong.status().message(), ParseProduct("A[I_X, J_X] * B[J, K]").status().message());
  EXPECT_FALSE(wrong.ok());
}

}  // namespace
}  // namespace chorus
