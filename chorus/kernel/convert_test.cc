#include "chorus/kernel/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chorus/base/random.h"

namespace chorus {
namespace {

// The value of a 16-bit float from its definition: sign, exponent field, fraction field.
double Decode(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = exponent == 0 ? 0 : 1 << fraction_bits;
  return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - bias - fraction_bits);
}

// Nearest 16-bit float of non-negative `value`, ties to even, by search over all of them.
std::uint16_t Nearest(double value, int exponent_bits) {
  const int infinity = ((1 << exponent_bits) - 1) << (15 - exponent_bits);
  // The bits of non-negative floats are ordered as their values. Beyond the last finite one,
  // rounding acts as if infinity were the next power of two.
  const auto at = [&](int bits) {
    return bits == infinity
               ? 2 * Decode(static_cast<std::uint16_t>(infinity - (1 << (15 - exponent_bits))),
                            exponent_bits)
               : Decode(static_cast<std::uint16_t>(bits), exponent_bits);
  };
  int low = 0;
  int high = infinity;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= value ? low : high) = middle;
  }
  const double below = value - at(low);
  const double above = at(high) - value;
  if (below == above) return static_cast<std::uint16_t>(low % 2 == 0 ? low : high);
  return static_cast<std::uint16_t>(below < above ? low : high);
}

struct Format {
  DType dtype;
  int exponent_bits;
};
constexpr Format kFormats[] = {{DType::kF16, 5}, {DType::kBF16, 8}};
constexpr KernelSet kSets[] = {KernelSet::kPlain, KernelSet::kFast};

TEST(ConvertTest, EveryNarrowValueWidensExactlyAndComesBack) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Format& format : kFormats) {
    for (KernelSet set : kSets) {
      std::vector<float> wide(all.size());
      std::vector<std::uint16_t> back(all.size());
      Convert(set, all.data(), format.dtype, wide.data(), DType::kF32, 65536);
      Convert(set, wide.data(), DType::kF32, back.data(), format.dtype, 65536);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double value = Decode(all[i], format.exponent_bits);
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(wide[i])) << i;
          ASSERT_TRUE(std::isnan(Decode(back[i], format.exponent_bits))) << i;
        } else {
          ASSERT_EQ(static_cast<double>(wide[i]), value) << i;
          ASSERT_EQ(std::signbit(wide[i]), std::signbit(value)) << i;
          ASSERT_EQ(back[i], all[i]);
        }
      }
    }
  }
}

TEST(ConvertTest, NarrowingRoundsToNearestEven) {
  const RandomStream random(1, "convert");
  for (const Format& format : kFormats) {
    std::vector<float> x;
    for (std::uint32_t i = 0; i < 20000; ++i) {  // any bits: all magnitudes, subnormals, NaNs
      x.push_back(FloatOf(static_cast<std::uint32_t>(random.Bits(i)) & 0x7fffffffu));
    }
    for (int bits = 1; bits < 0x7c00; bits += 7) {  // exact ties, and just beside them
      const double a = Decode(static_cast<std::uint16_t>(bits), format.exponent_bits);
      const double b = Decode(static_cast<std::uint16_t>(bits + 1), format.exponent_bits);
      const auto tie = static_cast<float>((a + b) / 2);
      x.insert(x.end(), {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e30f)});
    }
    const auto count = static_cast<std::int64_t>(x.size());
    for (KernelSet set : kSets) {
      std::vector<std::uint16_t> narrow(x.size());
      Convert(set, x.data(), DType::kF32, narrow.data(), format.dtype, count);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(Decode(narrow[i], format.exponent_bits)));
        } else {
          ASSERT_EQ(narrow[i], Nearest(static_cast<double>(x[i]), format.exponent_bits))
              << Name(format.dtype) << " of " << x[i];
        }
      }
    }
  }
}

TEST(ConvertTest, SignsAndLimits) {
  EXPECT_EQ(BF16FromFloat(-0.0f), 0x8000);
  EXPECT_EQ(F16FromFloat(-0.0f), 0x8000);
  EXPECT_EQ(F16FromFloat(65504.0f), 0x7bff);  // the largest
  EXPECT_EQ(F16FromFloat(65519.0f), 0x7bff);
  EXPECT_EQ(F16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(F16FromFloat(-1e9f), 0xfc00);
  EXPECT_EQ(F16FromFloat(std::ldexp(1.0f, -24)), 0x0001);  // the smallest
  EXPECT_EQ(F16FromFloat(std::ldexp(1.0f, -25)), 0x0000);  // a tie, to even
  EXPECT_EQ(BF16FromFloat(std::numeric_limits<float>::max()), 0x7f80);
}

}  // namespace
}  // namespace chorus
