#include "chorus/base/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chorus {
namespace {

// Known answers of the Random123 distribution (kat_vectors, philox4x32 10).
TEST(RandomTest, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, EachKeyPartMatters) {
  const RandomStream base(1, "w", 0);
  EXPECT_EQ(base.Bits(3, 4), RandomStream(1, "w", 0).Bits(3, 4));
  EXPECT_NE(base.Bits(3, 4), RandomStream(2, "w", 0).Bits(3, 4));
  EXPECT_NE(base.Bits(3, 4), RandomStream(1, "v", 0).Bits(3, 4));
  EXPECT_NE(base.Bits(3, 4), RandomStream(1, "w", 1).Bits(3, 4));
  EXPECT_NE(base.Bits(3, 4), base.Bits(4, 3));
}

TEST(RandomTest, MomentsAreThoseOfTheDistribution) {
  const RandomStream stream(7, "moments");
  const int n = 20000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    uniform += stream.Uniform(static_cast<std::uint64_t>(i));
    const double x = stream.Normal(static_cast<std::uint64_t>(i), 1);
    normal += x;
    square += x * x;
    EXPECT_LT(stream.Below(10, static_cast<std::uint64_t>(i), 2), 10u);
  }
  EXPECT_NEAR(uniform / n, 0.5, 0.01);
  EXPECT_NEAR(normal / n, 0.0, 0.03);
  EXPECT_NEAR(square / n, 1.0, 0.03);
}

}  // namespace
}  // namespace chorus
