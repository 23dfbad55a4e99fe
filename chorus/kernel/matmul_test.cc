#include "chorus/kernel/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/small_float.h"

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

// Blocks of larger arrays: rows further apart than they are long; what lies between stays.
template <typename T>
void CheckRowsApart(KernelSet set) {
  for (const int stored : {0, 1, 2, 3}) {
    MatmulShape dense{5, 7, 3, (stored & 1) != 0, (stored & 2) != 0};
    MatmulShape apart = dense;
    apart.row_a = 11;
    apart.row_b = 13;
    apart.row_c = 9;
    const auto a = RandomMatrix<T>(11 * 5, "a");
    const auto b = RandomMatrix<T>(13 * 7, "b");
    const auto cut = [](const std::vector<T>& from, std::int64_t row, std::int64_t columns,
                        std::int64_t rows) {
      std::vector<T> out;
      for (std::int64_t r = 0; r < rows; ++r) {
        out.insert(out.end(), from.begin() + r * row, from.begin() + r * row + columns);
      }
      return out;
    };
    const auto dense_a = cut(a, 11, dense.RowA(), dense.transpose_a ? 3 : 5);
    const auto dense_b = cut(b, 13, dense.RowB(), dense.transpose_b ? 7 : 3);
    const std::vector<double> want = Definition(dense, dense_a, dense_b);
    std::vector<T> c(9 * 5, T{77});
    Flops executed;
    Matmul(set, apart, a.data(), b.data(), c.data(), false, executed);
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 7; ++j) {
        ASSERT_NEAR(static_cast<double>(c[i * 9 + j]), want[i * 7 + j], 1e-4) << stored;
      }
      for (std::int64_t j = 7; j < 9; ++j) ASSERT_EQ(c[i * 9 + j], T{77}) << stored;
    }
  }
}

TEST(MatmulTest, RowsMayBeApart) {
  CheckRowsApart<float>(KernelSet::kFast);
  CheckRowsApart<float>(KernelSet::kPlain);
  CheckRowsApart<double>(KernelSet::kPlain);
}

// Small integers, so that every sum is exact: bf16 results are those rounded once, whoever computes
// them, also where a sum in bf16 itself would stop growing at 256.
TEST(MatmulTest, BF16IsSummedInF32AndRoundedOnce) {
  for (const std::int64_t k : {0, 1, 40, 700}) {
    for (const int stored : {0, 1, 2, 3}) {
      const MatmulShape shape{9, 17, k, (stored & 1) != 0, (stored & 2) != 0};
      std::vector<std::uint16_t> a, b;
      std::vector<float> wide_a, wide_b;
      for (std::int64_t i = 0; i < 9 * k; ++i) wide_a.push_back(static_cast<float>(i % 3));
      for (std::int64_t i = 0; i < 17 * k; ++i) wide_b.push_back(static_cast<float>(i % 2 + 1));
      for (const float x : wide_a) a.push_back(BF16::Narrow(x));
      for (const float x : wide_b) b.push_back(BF16::Narrow(x));
      const std::vector<double> want = Definition(shape, wide_a, wide_b);
      for (const KernelSet set : {KernelSet::kPlain, KernelSet::kFast}) {
        Flops executed;
        std::vector<std::uint16_t> c(want.size(), 0x7fc0);  // NaN
        Matmul(set, DType::kBF16, shape, a.data(), b.data(), c.data(), false, executed);
        for (std::size_t i = 0; i < c.size(); ++i) {
          ASSERT_EQ(c[i], BF16::Narrow(static_cast<float>(want[i]))) << i << " k " << k;
        }
        Matmul(set, DType::kBF16, shape, a.data(), b.data(), c.data(), true, executed);
        for (std::size_t i = 0; i < c.size(); ++i) {
          const auto once =
              static_cast<double>(BF16::Widen(BF16::Narrow(static_cast<float>(want[i]))));
          ASSERT_EQ(c[i], BF16::Narrow(static_cast<float>(once + want[i]))) << i << " k " << k;
        }
        EXPECT_EQ(executed, shape.flops() + shape.flops());
        // Left in f32 nothing is rounded, and what is added to goes on.
        Flops widened;
        std::vector<float> wide(want.size(), std::numeric_limits<float>::quiet_NaN());
        MatmulBF16ToF32(set, shape, a.data(), b.data(), wide.data(), false, widened);
        MatmulBF16ToF32(set, shape, a.data(), b.data(), wide.data(), true, widened);
        for (std::size_t i = 0; i < wide.size(); ++i) {
          ASSERT_EQ(wide[i], static_cast<float>(2 * want[i])) << i << " k " << k;
        }
        EXPECT_EQ(widened, executed);
      }
    }
  }
}

TEST(MatmulShapeTest, CountsTwoOperationsPerMultiplyAdd) {
  EXPECT_EQ((MatmulShape{512, 1024, 256}.flops()), Flops(268'435'456));
  EXPECT_EQ((MatmulShape{512, 0, 256}.flops()), Flops(0));
}

}  // namespace
}  // namespace chorus
