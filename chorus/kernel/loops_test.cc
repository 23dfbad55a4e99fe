// The fast loops against the plain ones, and the plain ones against their definitions, on sizes
// that leave a remainder for every vector width.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/adamw.h"
#include "chorus/kernel/block_copy.h"
#include "chorus/kernel/elementwise.h"
#include "chorus/kernel/gelu.h"

namespace chorus {
namespace {

constexpr std::int64_t kSizes[] = {0, 1, 3, 15, 16, 17, 64, 131};

template <typename T>
std::vector<T> RandomOperand(std::int64_t n, const char* name, double scale = 1.0) {
  const RandomStream stream(2, name);
  std::vector<T> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(scale * stream.Normal(0, i));
  return out;
}

TEST(ElementwiseTest, FastGivesThePlainBits) {
  for (const std::int64_t n : kSizes) {
    const auto a = RandomOperand<float>(n, "a");
    const auto b = RandomOperand<float>(n, "b");
    std::vector<float> plain(a.size());
    std::vector<float> fast(a.size());
    AddTo(KernelSet::kPlain, a.data(), b.data(), plain.data(), n);
    AddTo(KernelSet::kFast, a.data(), b.data(), fast.data(), n);
    EXPECT_EQ(plain, fast);
    Scale(KernelSet::kPlain, 0.3F, a.data(), plain.data(), n);
    Scale(KernelSet::kFast, 0.3F, a.data(), fast.data(), n);
    EXPECT_EQ(plain, fast);
    plain = b;
    Add(KernelSet::kPlain, a.data(), plain.data(), n);
    fast = b;
    Add(KernelSet::kFast, a.data(), fast.data(), n);
    EXPECT_EQ(plain, fast);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(fast[i], a[i] + b[i]);
  }
}

TEST(ElementwiseTest, AxpyAddsAMultiple) {
  for (const std::int64_t n : kSizes) {
    const auto x = RandomOperand<float>(n, "x");
    std::vector<float> y = RandomOperand<float>(n, "y");
    const std::vector<float> before = y;
    Axpy(KernelSet::kFast, -1.5F, x.data(), y.data(), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i], before[i] - 1.5F * x[i], 1e-6);
    std::vector<double> z = {1.0, 2.0};
    const std::vector<double> w = {10.0, 20.0};
    Axpy(KernelSet::kFast, 0.5, w.data(), z.data(), 2);
    EXPECT_EQ(z, (std::vector<double>{6.0, 12.0}));
  }
}

TEST(GeluTest, PlainIsTheFormula) {
  const std::vector<double> x = {-2.0, -0.5, 0.0, 0.5, 2.0};
  std::vector<double> y(x.size());
  Gelu(KernelSet::kPlain, x.data(), y.data(), 5);
  // Known values of the tanh form.
  EXPECT_NEAR(y[0], -0.04540230591222, 1e-12);
  EXPECT_NEAR(y[1], -0.15428599017516, 1e-12);
  EXPECT_EQ(y[2], 0.0);
  EXPECT_NEAR(y[3], 0.34571400982484, 1e-12);
  EXPECT_NEAR(y[4], 1.95459769408778, 1e-12);
}

TEST(GeluTest, GradientIsTheFiniteDifference) {
  const auto x = RandomOperand<double>(50, "x", 2.0);
  const auto dy = RandomOperand<double>(50, "dy");
  std::vector<double> dx(50);
  GeluGradient(KernelSet::kPlain, x.data(), dy.data(), dx.data(), 50);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < 50; ++i) {
    const double around[2] = {x[i] - kStep, x[i] + kStep};
    double y[2];
    Gelu(KernelSet::kPlain, around, y, 2);
    EXPECT_NEAR(dx[i], dy[i] * (y[1] - y[0]) / (2 * kStep), 1e-9);
  }
}

TEST(GeluTest, FastIsWithinAFewUnitsOfPlain) {
  for (const std::int64_t n : kSizes) {
    const auto x = RandomOperand<float>(n, "x", 3.0);
    const auto dy = RandomOperand<float>(n, "dy");
    std::vector<float> plain(x.size());
    std::vector<float> fast(x.size());
    Gelu(KernelSet::kPlain, x.data(), plain.data(), n);
    Gelu(KernelSet::kFast, x.data(), fast.data(), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(fast[i], plain[i], 2e-6F) << x[i];
    GeluGradient(KernelSet::kPlain, x.data(), dy.data(), plain.data(), n);
    GeluGradient(KernelSet::kFast, x.data(), dy.data(), fast.data(), n);
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(fast[i], plain[i], 4e-6F) << x[i];
  }
}

TEST(GeluTest, ExtremesAndNaN) {
  const std::vector<float> x = {-1e4F, -40.0F, 40.0F, 1e4F, std::nanf("")};
  const std::vector<float> one(5, 1.0F);
  for (const KernelSet set : {KernelSet::kPlain, KernelSet::kFast}) {
    std::vector<float> y(5);
    Gelu(set, x.data(), y.data(), 5);
    EXPECT_NEAR(y[0], 0.0F, 1e-6F);
    EXPECT_NEAR(y[1], 0.0F, 1e-6F);
    EXPECT_EQ(y[2], 40.0F);
    EXPECT_EQ(y[3], 1e4F);
    EXPECT_TRUE(std::isnan(y[4]));
    GeluGradient(set, x.data(), one.data(), y.data(), 5);
    EXPECT_NEAR(y[0], 0.0F, 1e-6F);
    EXPECT_NEAR(y[1], 0.0F, 1e-6F);
    EXPECT_EQ(y[2], 1.0F);
    EXPECT_EQ(y[3], 1.0F);
    EXPECT_TRUE(std::isnan(y[4]));
  }
}

TEST(AdamWTest, FirstStepMovesByTheLearningRate) {
  // After one step m/(1-b1) = g and v/(1-b2) = g^2, so w moves by lr g/(|g|+eps), and by decay.
  const AdamWRule rule{.learning_rate = 0.1, .weight_decay = 0.5};
  const std::vector<double> g = {3.0, -2.0};
  std::vector<double> w = {1.0, 1.0};
  std::vector<double> m(2);
  std::vector<double> v(2);
  AdamW(KernelSet::kPlain, rule, 1, g.data(), w.data(), m.data(), v.data(), 2);
  EXPECT_NEAR(w[0], 1.0 - 0.1 * (1.0 + 0.5), 1e-8);
  EXPECT_NEAR(w[1], 1.0 - 0.1 * (-1.0 + 0.5), 1e-8);
  EXPECT_NEAR(m[0], 0.1 * 3.0, 1e-12);
  EXPECT_NEAR(v[1], 0.01 * 4.0, 1e-12);
}

TEST(AdamWTest, FastFollowsPlain) {
  const AdamWRule rule{.learning_rate = 0.01, .weight_decay = 0.1};
  for (const std::int64_t n : kSizes) {
    auto w = RandomOperand<float>(n, "w");
    std::vector<float> m(w.size());
    std::vector<float> v(w.size());
    auto fast_w = w;
    auto fast_m = m;
    auto fast_v = v;
    for (std::int64_t step = 1; step <= 5; ++step) {
      const auto g = RandomOperand<float>(n, step % 2 == 0 ? "even" : "odd");
      AdamW(KernelSet::kPlain, rule, step, g.data(), w.data(), m.data(), v.data(), n);
      AdamW(KernelSet::kFast, rule, step, g.data(), fast_w.data(), fast_m.data(), fast_v.data(), n);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      EXPECT_NEAR(fast_w[i], w[i], 1e-6F);
      EXPECT_NEAR(fast_m[i], m[i], 1e-6F);
      EXPECT_NEAR(fast_v[i], v[i], 1e-6F);
    }
  }
}

TEST(BlockCopyTest, PacksTheMiddleOfAMatrix) {
  const std::vector<float> whole = {0, 1, 2, 3, 4, 10, 11, 12, 13, 14};  // (2, 5)
  const BlockShape shape{.outer = 2, .length = 5, .inner = 1, .begin = 1, .count = 2};
  std::vector<float> block(4);
  PackBlock(shape, whole.data(), block.data());
  EXPECT_EQ(block, (std::vector<float>{1, 2, 11, 12}));
  std::vector<float> back(10, -1);
  UnpackBlock(shape, block.data(), back.data());
  EXPECT_EQ(back, (std::vector<float>{-1, 1, 2, -1, -1, -1, 11, 12, -1, -1}));
}

TEST(BlockCopyTest, BlocksOfADimensionMakeTheWhole) {
  // (3, 7, 2) cut into blocks of 3, 0, 4 along its middle.
  const auto whole = RandomOperand<double>(42, "whole");
  std::vector<double> joined(42);
  std::int64_t begin = 0;
  for (const std::int64_t count : {3, 0, 4}) {
    const BlockShape shape{.outer = 3, .length = 7, .inner = 2, .begin = begin, .count = count};
    std::vector<double> block(static_cast<std::size_t>(shape.block_elements()));
    PackBlock(shape, whole.data(), block.data());
    UnpackBlock(shape, block.data(), joined.data());
    begin += count;
  }
  EXPECT_EQ(joined, whole);
}

}  // namespace
}  // namespace chorus
