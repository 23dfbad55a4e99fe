#include "chorus/kernel/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/convert.h"

namespace chorus {
namespace {

constexpr KernelSet kSets[] = {KernelSet::kPlain, KernelSet::kFast};

// `count` random elements, `offset` bytes into the buffer so that alignments differ. Floats come
// from their bit patterns now and then, so NaN, infinities, zeros and subnormals are among them.
struct Input {
  std::vector<std::uint8_t> bytes;
  std::size_t offset;
  const void* data() const { return bytes.data() + offset; }
};

Input RandomInput(DType dtype, std::int64_t count, std::uint64_t seed, std::size_t offset) {
  const RandomStream random(seed, "reduce");
  const auto size = static_cast<std::size_t>(SizeOf(dtype));
  Input input{std::vector<std::uint8_t>(static_cast<std::size_t>(count) * size + offset), offset};
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = random.Bits(static_cast<std::uint64_t>(i));
    if (dtype == DType::kBool) bits &= 1;
    if (IsFloat(dtype) && i % 5 == 0) {
      const int top = static_cast<int>(size) * 8 - 1;
      bits = (i % 2 == 0 ? std::uint64_t{1} << top : 0);  // a zero of either sign
    }
    std::memcpy(input.bytes.data() + offset + static_cast<std::size_t>(i) * size, &bits, size);
  }
  return input;
}

// The same bits, or both a NaN: which payload survives an addition of NaNs is the FPU's choice.
void ExpectSame(DType dtype, const std::vector<std::uint8_t>& plain,
                const std::vector<std::uint8_t>& fast, const std::string& where) {
  const auto size = static_cast<std::size_t>(SizeOf(dtype));
  for (std::size_t i = 0; i * size < plain.size(); ++i) {
    const std::uint8_t* a = plain.data() + i * size;
    const std::uint8_t* b = fast.data() + i * size;
    if (std::memcmp(a, b, size) == 0) continue;
    double values[2] = {0, 1};
    for (int k = 0; k < 2; ++k) {
      const std::uint8_t* p = k == 0 ? a : b;
      if (dtype == DType::kF64) {
        std::memcpy(&values[k], p, 8);
      } else if (IsFloat(dtype)) {
        float f = 0;
        Convert(KernelSet::kPlain, p, dtype, &f, DType::kF32, 1);
        values[k] = static_cast<double>(f);
      }
    }
    ASSERT_TRUE(std::isnan(values[0]) && std::isnan(values[1]))
        << where << ", element " << i << ": plain " << values[0] << ", fast " << values[1];
  }
}

using Case = std::tuple<DType, ReduceOp>;
class ReduceTest : public testing::TestWithParam<Case> {};

TEST_P(ReduceTest, FastEqualsPlain) {
  const auto [dtype, op] = GetParam();
  const auto size = static_cast<std::size_t>(SizeOf(dtype));
  for (std::int64_t count : {0, 1, 3, 15, 16, 17, 63, 64, 65, 257, 1023, 1025, 2500}) {
    for (std::size_t sources : {1u, 2u, 3u, 5u}) {
      std::vector<Input> inputs;
      std::vector<ReduceSource> list;
      for (std::size_t s = 0; s < sources; ++s) {
        inputs.push_back(RandomInput(dtype, count, s, s * size));
      }
      for (const Input& input : inputs) list.push_back({input.data(), dtype});
      const std::size_t bytes = static_cast<std::size_t>(count) * size;
      std::vector<std::uint8_t> out[2] = {std::vector<std::uint8_t>(bytes + size),
                                          std::vector<std::uint8_t>(bytes + size)};
      for (int k = 0; k < 2; ++k) {
        Reduce(kSets[k],
               {op, list, out[k].data() + size, dtype, count,
                op == ReduceOp::kAvg && dtype != DType::kBool ? static_cast<std::int64_t>(sources)
                                                              : 1});
      }
      ExpectSame(dtype, out[0], out[1],
                 std::to_string(count) + " elements, " + std::to_string(sources) + " sources");
    }
  }
}

TEST_P(ReduceTest, TheDestinationMayBeAnySource) {
  const auto [dtype, op] = GetParam();
  constexpr std::int64_t kCount = 1100;
  for (KernelSet set : kSets) {
    for (std::size_t target = 0; target < 3; ++target) {
      std::vector<Input> inputs;
      std::vector<ReduceSource> list;
      for (std::size_t s = 0; s < 3; ++s) inputs.push_back(RandomInput(dtype, kCount, s, 0));
      for (const Input& input : inputs) list.push_back({input.data(), dtype});
      std::vector<std::uint8_t> expected(inputs[0].bytes.size());
      Reduce(set, {op, list, expected.data(), dtype, kCount});
      Reduce(set, {op, list, inputs[target].bytes.data(), dtype, kCount});
      ExpectSame(dtype, expected, inputs[target].bytes, "into source " + std::to_string(target));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReduceTest,
                         testing::Combine(testing::ValuesIn(kAllDTypes),
                                          testing::ValuesIn(kAllReduceOps)),
                         [](const auto& test) {
                           return std::string(Name(std::get<0>(test.param))) + "_" +
                                  std::string(Name(std::get<1>(test.param)));
                         });

template <typename T>
std::vector<T> ReduceAll(KernelSet set, ReduceOp op, const std::vector<std::vector<T>>& inputs,
                         std::int64_t divisor = 1) {
  std::vector<ReduceSource> list;
  for (const auto& input : inputs) list.push_back({input.data(), DTypeOf<T>()});
  std::vector<T> out(inputs[0].size());
  Reduce(set, {op, list, out.data(), DTypeOf<T>(), static_cast<std::int64_t>(out.size()), divisor});
  return out;
}

TEST(ReduceValueTest, IntegerAverageTruncatesTowardZero) {  // InfiniCCL#37
  for (KernelSet set : kSets) {
    EXPECT_EQ(ReduceAll<std::int32_t>(set, ReduceOp::kAvg, {{10, 7}, {20, 8}, {31, -20}}, 3),
              (std::vector<std::int32_t>{20, -1}));
  }
}

TEST(ReduceValueTest, IntegersWrap) {
  for (KernelSet set : kSets) {
    EXPECT_EQ(ReduceAll<std::int8_t>(set, ReduceOp::kSum, {{127, -128}, {1, -1}}),
              (std::vector<std::int8_t>{-128, 127}));
    EXPECT_EQ(ReduceAll<std::uint16_t>(set, ReduceOp::kProd, {{65535, 256}, {65535, 256}}),
              (std::vector<std::uint16_t>{1, 0}));
  }
}

TEST(ReduceValueTest, NaNWinsAndMinusZeroIsLess) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // 20 elements: vector body and tail.
  const std::vector<float> a(20, 0.0f);
  const std::vector<float> b(20, -0.0f);
  const std::vector<float> c(20, nan);
  const std::vector<float> d(20, 7.0f);
  for (KernelSet set : kSets) {
    for (const auto& inputs : {std::vector{a, b}, std::vector{b, a}}) {
      for (float value : ReduceAll(set, ReduceOp::kMin, inputs)) EXPECT_TRUE(std::signbit(value));
      for (float value : ReduceAll(set, ReduceOp::kMax, inputs)) EXPECT_FALSE(std::signbit(value));
    }
    for (ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
      for (float value : ReduceAll<float>(set, op, {c, d})) EXPECT_TRUE(std::isnan(value));
      for (float value : ReduceAll<float>(set, op, {d, c})) EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(ReduceValueTest, BoolSumIsOrAndProductIsAnd) {  // pytorch#89197
  const std::uint8_t x[3][4] = {{1, 0, 1, 1}, {0, 0, 1, 1}, {1, 0, 0, 1}};
  const ReduceSource list[] = {{x[0], DType::kBool}, {x[1], DType::kBool}, {x[2], DType::kBool}};
  for (KernelSet set : kSets) {
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kProd, ReduceOp::kMin}) {
      std::vector<std::uint8_t> out(4);
      Reduce(set, {op, list, out.data(), DType::kBool, 4});
      const bool is_or = op == ReduceOp::kSum || op == ReduceOp::kMax;
      EXPECT_EQ(out, is_or ? (std::vector<std::uint8_t>{1, 0, 1, 1})
                           : (std::vector<std::uint8_t>{0, 0, 0, 1}));
    }
    // 300 values: a sum of bytes would wrap at 256.
    const std::uint8_t one = 1;
    const std::vector<ReduceSource> many(256, ReduceSource{&one, DType::kBool});
    std::uint8_t result = 0;
    Reduce(set, {ReduceOp::kSum, many, &result, DType::kBool, 1});
    EXPECT_EQ(result, 1);
  }
}

TEST(ReduceValueTest, LowPrecisionIsRoundedOnce) {
  // 256 + 1 + 1: bf16 has 8 bits, so rounding after each addition would stay at 256.
  const std::uint16_t big = BF16FromFloat(256);
  const std::uint16_t one = BF16FromFloat(1);
  const ReduceSource list[] = {{&big, DType::kBF16}, {&one, DType::kBF16}, {&one, DType::kBF16}};
  for (KernelSet set : kSets) {
    std::uint16_t out = 0;
    Reduce(set, {ReduceOp::kSum, list, &out, DType::kBF16, 1});
    EXPECT_EQ(FloatFromBF16(out), 258.0f);
    float partial = 0;  // and as a partial result in f32, to which another rank's value is added
    Reduce(set, {ReduceOp::kSum, std::span(list).first(2), &partial, DType::kF32, 1});
    EXPECT_EQ(partial, 257.0f);
    const ReduceSource rest[] = {{&partial, DType::kF32}, {&one, DType::kBF16}};
    Reduce(set, {ReduceOp::kSum, rest, &out, DType::kBF16, 1});
    EXPECT_EQ(FloatFromBF16(out), 258.0f);
  }
}

TEST(ReduceValueTest, MixedSourcesOfAnyLength) {
  for (std::int64_t count : {1, 17, 1024, 1025, 3000}) {
    const Input narrow = RandomInput(DType::kF16, count, 1, 2);
    const Input wide = RandomInput(DType::kF32, count, 2, 4);
    const ReduceSource list[] = {{narrow.data(), DType::kF16}, {wide.data(), DType::kF32}};
    for (DType dst : {DType::kF16, DType::kF32}) {
      const auto bytes = static_cast<std::size_t>(count * SizeOf(dst));
      std::vector<std::uint8_t> plain(bytes);
      std::vector<std::uint8_t> fast(bytes);
      Reduce(KernelSet::kPlain, {ReduceOp::kMax, list, plain.data(), dst, count, 3});
      Reduce(KernelSet::kFast, {ReduceOp::kMax, list, fast.data(), dst, count, 3});
      ExpectSame(dst, plain, fast, std::to_string(count));
    }
  }
}

}  // namespace
}  // namespace chorus
