#include "chorus/kernel/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chorus/base/random.h"

namespace chorus {
namespace {

template <typename T>
std::vector<T> RandomMatrix(std::int64_t n, const char* name) {
  const RandomStream stream(1, name);
  std::vector<T> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(stream.Normal(0, i));
  return out;
}

// The definition: c[i][j] = sum over p of op(a)[i][p] op(b)[p][j], in f64.
template <typename T>
std::vector<double> Definition(const MatmulShape& s, const std::vector<T>& a,
                               const std::vector<T>& b) {
  std::vector<double> c(static_cast<std::size_t>(s.m * s.n));
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      for (std::int64_t p = 0; p < s.k; ++p) {
        const double x = a[s.transpose_a ? p * s.m + i : i * s.k + p];
        const double y = b[s.transpose_b ? j * s.k + p : p * s.n + j];
        c[i * s.n + j] += x * y;
      }
    }
  }
  return c;
}

template <typename T>
void Check(KernelSet set, const MatmulShape& shape, double tolerance) {
  const auto a = RandomMatrix<T>(shape.m * shape.k, "a");
  const auto b = RandomMatrix<T>(shape.k * shape.n, "b");
  const std::vector<double> want = Definition(shape, a, b);
  Flops executed;
  // Garbage in c must not reach the result of a product that does not accumulate.
  std::vector<T> c(want.size(), std::numeric_limits<T>::quiet_NaN());
  Matmul(set, shape, a.data(), b.data(), c.data(), false, executed);
  for (std::size_t i = 0; i < c.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(c[i]), want[i], tolerance) << i;
  }
  Matmul(set, shape, a.data(), b.data(), c.data(), true, executed);
  for (std::size_t i = 0; i < c.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(c[i]), 2 * want[i], 2 * tolerance) << i;
  }
  EXPECT_EQ(executed, shape.flops() + shape.flops());
}

// Sizes 0, 1, odd, and larger than the plain loop's cache block; all four ways to store operands.
template <typename T>
void CheckAll(KernelSet set, double tolerance) {
  for (const std::int64_t m : {0, 1, 7, 33}) {
    for (const std::int64_t n : {0, 1, 5, 70}) {
      for (const std::int64_t k : {0, 1, 13, 129}) {
        for (const int stored : {0, 1, 2, 3}) {
          SCOPED_TRACE(::testing::Message() << m << " " << n << " " << k << " stored " << stored);
          Check<T>(set, MatmulShape{m, n, k, (stored & 1) != 0, (stored & 2) != 0}, tolerance);
        }
      }
    }
  }
}

TEST(MatmulTest, PlainF64IsTheDefinition) { CheckAll<double>(KernelSet::kPlain, 1e-12); }
TEST(MatmulTest, PlainF32IsTheDefinition) { CheckAll<float>(KernelSet::kPlain, 2e-4); }
TEST(MatmulTest, FastF32IsTheDefinition) { CheckAll<float>(KernelSet::kFast, 2e-4); }
TEST(MatmulTest, FastF64IsThePlainLoop) { CheckAll<double>(KernelSet::kFast, 1e-12); }

TEST(MatmulShapeTest, CountsTwoOperationsPerMultiplyAdd) {
  EXPECT_EQ((MatmulShape{512, 1024, 256}.flops()), Flops(268'435'456));
  EXPECT_EQ((MatmulShape{512, 0, 256}.flops()), Flops(0));
}

}  // namespace
}  // namespace chorus
