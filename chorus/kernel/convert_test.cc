#include "chorus/kernel/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/small_float.h"

namespace chorus {
namespace {

struct Format {
  DType dtype;
  int bits;
  int exponent_bits;
  int bias;
  bool has_infinity;
  bool saturates;
};
constexpr Format kFormats[] = {{DType::kF16, 16, 5, 15, true, false},
                               {DType::kBF16, 16, 8, 127, true, false},
                               {DType::kF8E4M3, 8, 4, 7, false, true},
                               {DType::kF8E5M2, 8, 5, 15, true, true}};
constexpr KernelSet kSets[] = {KernelSet::kPlain, KernelSet::kFast};

// The value of a narrow float from its definition: sign, exponent field, fraction field.
double Decode(int bits, const Format& format) {
  const int fraction_bits = format.bits - 1 - format.exponent_bits;
  const int last_exponent = (1 << format.exponent_bits) - 1;
  const int exponent = (bits >> fraction_bits) & last_exponent;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits >> (format.bits - 1)) != 0 ? -1 : 1;
  if (format.has_infinity && exponent == last_exponent) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (!format.has_infinity && exponent == last_exponent && fraction == (1 << fraction_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const int hidden = exponent == 0 ? 0 : 1 << fraction_bits;
  return sign * std::ldexp(hidden + fraction, std::max(exponent, 1) - format.bias - fraction_bits);
}

// The largest finite one.
int Largest(const Format& format) {
  const int fraction_bits = format.bits - 1 - format.exponent_bits;
  const int end = ((1 << format.exponent_bits) - 1) << fraction_bits;
  return format.has_infinity ? end - 1 : end + (1 << fraction_bits) - 2;
}

// Nearest narrow float of non-negative `value`, ties to even, by search over all of them.
int Nearest(double value, const Format& format) {
  const int largest = Largest(format);
  if (std::isinf(value)) return format.has_infinity ? largest + 1 : largest;
  if (format.saturates && value >= Decode(largest, format)) return largest;
  // The bits of non-negative floats are ordered as their values. Beyond the last finite one,
  // rounding acts as if infinity were the next power of two.
  const auto at = [&](int bits) {
    const int step = 1 << (format.bits - 1 - format.exponent_bits);
    return bits > largest ? 2 * Decode(largest + 1 - step, format) : Decode(bits, format);
  };
  int low = 0;
  int high = largest + 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= value ? low : high) = middle;
  }
  const double below = value - at(low);
  const double above = at(high) - value;
  if (below == above) return low % 2 == 0 ? low : high;
  return below < above ? low : high;
}

// Elements of one or two bytes.
std::vector<std::uint8_t> Pack(const std::vector<int>& bits, const Format& format) {
  std::vector<std::uint8_t> bytes;
  for (const int each : bits) {
    bytes.push_back(static_cast<std::uint8_t>(each));
    if (format.bits == 16) bytes.push_back(static_cast<std::uint8_t>(each >> 8));
  }
  return bytes;
}
int At(const std::vector<std::uint8_t>& bytes, std::size_t i, const Format& format) {
  return format.bits == 8 ? bytes[i] : bytes[2 * i] | bytes[2 * i + 1] << 8;
}

TEST(ConvertTest, EveryNarrowValueWidensExactlyAndComesBack) {
  for (const Format& format : kFormats) {
    std::vector<int> all(std::size_t{1} << format.bits);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
    const std::vector<std::uint8_t> narrow = Pack(all, format);
    std::vector<float> first;
    for (KernelSet set : kSets) {
      std::vector<float> wide(all.size());
      std::vector<std::uint8_t> back(narrow.size());
      Convert(set, narrow.data(), format.dtype, wide.data(), DType::kF32, std::ssize(all));
      Convert(set, wide.data(), DType::kF32, back.data(), format.dtype, std::ssize(all));
      if (set == KernelSet::kPlain) first = wide;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double value = Decode(all[i], format);
        ASSERT_EQ(BitsOf(wide[i]), BitsOf(first[i])) << i;  // NaNs, too
        if (std::isnan(value)) {
          ASSERT_TRUE(std::isnan(wide[i])) << i;
          ASSERT_TRUE(std::isnan(Decode(At(back, i, format), format))) << i;
        } else {
          ASSERT_EQ(static_cast<double>(wide[i]), value) << Name(format.dtype) << " " << i;
          ASSERT_EQ(std::signbit(wide[i]), std::signbit(value)) << i;
          ASSERT_EQ(At(back, i, format), all[i]) << Name(format.dtype);
        }
      }
    }
  }
}

TEST(ConvertTest, NarrowingRoundsToNearestEven) {
  const RandomStream random(1, "convert");
  for (const Format& format : kFormats) {
    std::vector<float> x = {std::numeric_limits<float>::infinity(), 1e9f, 464.0f, 464.5f};
    for (std::uint32_t i = 0; i < 20000; ++i) {  // any bits: all magnitudes, subnormals, NaNs
      const auto bits = static_cast<std::uint32_t>(random.Bits(i)) & 0x7fffffffu;
      x.push_back(FloatOf(bits));
      x.push_back(FloatOf((bits & 0x07ffffffu) + 0x38000000u));  // the magnitudes of f8 and f16
    }
    for (int bits = 1; bits < Largest(format); bits += format.bits == 8 ? 1 : 7) {
      // Exact ties, and just beside them.
      const auto tie = static_cast<float>((Decode(bits, format) + Decode(bits + 1, format)) / 2);
      x.insert(x.end(), {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e30f)});
    }
    std::vector<std::uint8_t> first;
    for (KernelSet set : kSets) {
      std::vector<std::uint8_t> narrow(x.size() * static_cast<std::size_t>(format.bits / 8));
      Convert(set, x.data(), DType::kF32, narrow.data(), format.dtype, std::ssize(x));
      if (set == KernelSet::kPlain) first = narrow;
      ASSERT_EQ(narrow, first);  // NaNs, too
      for (std::size_t i = 0; i < x.size(); ++i) {
        const int got = At(narrow, i, format);
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(Decode(got, format)));
        } else {
          ASSERT_EQ(got, Nearest(static_cast<double>(x[i]), format))
              << Name(format.dtype) << " of " << x[i];
        }
      }
    }
  }
}

TEST(ConvertTest, SignsAndLimits) {
  EXPECT_EQ(BF16::Narrow(-0.0f), 0x8000);
  EXPECT_EQ(F16::Narrow(-0.0f), 0x8000);
  EXPECT_EQ(F16::Narrow(65504.0f), 0x7bff);  // the largest
  EXPECT_EQ(F16::Narrow(65519.0f), 0x7bff);
  EXPECT_EQ(F16::Narrow(65520.0f), 0x7c00);
  EXPECT_EQ(F16::Narrow(-1e9f), 0xfc00);
  EXPECT_EQ(F16::Narrow(std::ldexp(1.0f, -24)), 0x0001);  // the smallest
  EXPECT_EQ(F16::Narrow(std::ldexp(1.0f, -25)), 0x0000);  // a tie, to even
  EXPECT_EQ(BF16::Narrow(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(F8E4M3::Widen(0x7e), 448.0f);
  EXPECT_EQ(F8E4M3::Narrow(-1e9f), 0xfe);  // saturates
  EXPECT_EQ(F8E4M3::Narrow(std::numeric_limits<float>::infinity()), 0x7e);
  EXPECT_EQ(F8E5M2::Widen(0x7b), 57344.0f);
  EXPECT_EQ(F8E5M2::Narrow(1e9f), 0x7b);
  EXPECT_EQ(F8E5M2::Narrow(-std::numeric_limits<float>::infinity()), 0xfc);
  EXPECT_EQ(F8E4M3::Narrow(std::ldexp(1.0f, -10)), 0x00);  // a tie, to even
}

}  // namespace
}  // namespace chorus
