#include "chorus/kernel/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/convert.h"
#include "chorus/kernel/small_float.h"

namespace chorus {
namespace {

constexpr KernelSet kBothSets[] = {KernelSet::kPlain, KernelSet::kFast};

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
    // Parts of complex numbers and pairs, 8 bytes at a time; few values, so that some are equal.
    if (IsLocated(dtype)) bits &= 0x4000000340000003u;
    for (std::size_t part = 0; part < size; part += 8) {
      std::memcpy(input.bytes.data() + offset + static_cast<std::size_t>(i) * size + part, &bits,
                  std::min<std::size_t>(size - part, 8));
      bits = bits * 6364136223846793005u + 1;
      if (IsLocated(dtype)) bits &= 3;
    }
  }
  return input;
}

// The same bits, or both a NaN: which payload survives an addition of NaNs is the FPU's choice.
void ExpectSame(DType dtype, const std::vector<std::uint8_t>& plain,
                const std::vector<std::uint8_t>& fast, const std::string& where) {
  if (dtype == DType::kComplex64) dtype = DType::kF32;
  if (dtype == DType::kComplex128) dtype = DType::kF64;
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

struct Case {
  DType dtype;
  ReduceOp op;
};

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const DType dtype : kAllDTypes) {
    for (const ReduceOp op : kAllReduceOps) {
      if (Supports(op, dtype)) cases.push_back({dtype, op});
    }
  }
  return cases;
}

class ReduceTest : public testing::TestWithParam<Case> {
 protected:
  // The sources of a case, each at another alignment; every second one is scaled.
  struct Sources {
    std::vector<Input> inputs;
    std::vector<ReduceSource> list;
  };
  static Sources MakeSources(std::int64_t count, std::size_t sources) {
    const DType dtype = GetParam().dtype;
    Sources result;
    for (std::size_t s = 0; s < sources; ++s) {
      result.inputs.push_back(
          RandomInput(dtype, count, s, s * static_cast<std::size_t>(SizeOf(dtype))));
    }
    for (std::size_t s = 0; s < sources; ++s) {
      result.list.push_back({result.inputs[s].data(), dtype, s % 2 == 0});
    }
    return result;
  }
  static ReduceArgs Args(const Sources& sources, std::span<void* const> dsts, std::int64_t count) {
    const auto [dtype, op] = GetParam();
    ReduceArgs args{op, sources.list, dsts, dtype, count};
    if (op == ReduceOp::kAvg) args.divisor = std::ssize(sources.list);
    if (op == ReduceOp::kPremulSum) args.factor = IsInteger(dtype) ? 3 : -0.3;
    return args;
  }
};

TEST_P(ReduceTest, FastEqualsPlain) {
  const DType dtype = GetParam().dtype;
  const auto size = static_cast<std::size_t>(SizeOf(dtype));
  for (std::int64_t count : {0, 1, 3, 15, 16, 17, 63, 64, 65, 257, 1023, 1025, 2500}) {
    for (std::size_t sources : {1u, 2u, 3u, 5u}) {
      const Sources all = MakeSources(count, sources);
      const std::size_t bytes = static_cast<std::size_t>(count) * size;
      std::vector<std::uint8_t> out[2] = {std::vector<std::uint8_t>(bytes + size),
                                          std::vector<std::uint8_t>(bytes + size)};
      for (int k = 0; k < 2; ++k) {
        void* dst = out[k].data() + size;
        Reduce(kBothSets[k], Args(all, {&dst, 1}, count));
      }
      ExpectSame(dtype, out[0], out[1],
                 std::to_string(count) + " elements, " + std::to_string(sources) + " sources");
    }
  }
}

TEST_P(ReduceTest, EveryDestinationGetsTheSameBitsStreamedOrNot) {
  const DType dtype = GetParam().dtype;
  const auto size = static_cast<std::size_t>(SizeOf(dtype));
  for (std::int64_t count : {1, 63, 700}) {
    const Sources all = MakeSources(count, 3);
    const std::size_t bytes = static_cast<std::size_t>(count) * size;
    std::vector<std::uint8_t> expected(bytes);
    void* dst = expected.data();
    Reduce(KernelSet::kPlain, Args(all, {&dst, 1}, count));
    for (KernelSet set : kBothSets) {
      for (const std::size_t apart : {std::size_t{0}, size}) {  // in step with each other, and not
        alignas(64) static std::uint8_t memory[2][2][16384];
        for (std::size_t shift : {std::size_t{0}, size, 3 * size}) {
          void* dsts[] = {memory[0][0] + 64 + shift, memory[0][1] + 64 + shift + apart,
                          memory[1][0] + 64 + shift};
          std::memset(memory, 0xa5, sizeof(memory));
          ReduceArgs args = Args(all, dsts, count);
          args.streamed = args.dsts.size();
          Reduce(set, args);
          for (void* each : dsts) {
            const auto* p = static_cast<const std::uint8_t*>(each);
            ExpectSame(dtype, expected, {p, p + bytes}, std::to_string(count));
            EXPECT_EQ(p[-1], 0xa5);
            EXPECT_EQ(p[bytes], 0xa5);
          }
        }
      }
    }
  }
}

TEST_P(ReduceTest, TheDestinationMayBeAnySource) {
  const DType dtype = GetParam().dtype;
  constexpr std::int64_t kCount = 1100;
  for (KernelSet set : kBothSets) {
    for (std::size_t target = 0; target < 3; ++target) {
      Sources all = MakeSources(kCount, 3);
      std::vector<std::uint8_t> expected(static_cast<std::size_t>(kCount * SizeOf(dtype)));
      void* dst = expected.data();
      Reduce(set, Args(all, {&dst, 1}, kCount));
      dst = all.inputs[target].bytes.data() + all.inputs[target].offset;
      Reduce(set, Args(all, {&dst, 1}, kCount));
      const auto* got = static_cast<const std::uint8_t*>(dst);
      ExpectSame(dtype, expected, {got, got + expected.size()},
                 "into source " + std::to_string(target));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReduceTest, testing::ValuesIn(AllCases()), [](const auto& test) {
  return std::string(Name(test.param.dtype)) + "_" + std::string(Name(test.param.op));
});

template <typename T>
std::vector<T> ReduceAll(KernelSet set, ReduceOp op, const std::vector<std::vector<T>>& inputs,
                         std::int64_t divisor = 1) {
  std::vector<ReduceSource> list;
  for (const auto& input : inputs) list.push_back({input.data(), DTypeOf<T>()});
  std::vector<T> out(inputs[0].size());
  void* dst = out.data();
  Reduce(set, {op, list, {&dst, 1}, DTypeOf<T>(), std::ssize(out), divisor});
  return out;
}

TEST(ReduceValueTest, IntegerAverageTruncatesTowardZero) {  // InfiniCCL#37
  for (KernelSet set : kBothSets) {
    EXPECT_EQ(ReduceAll<std::int32_t>(set, ReduceOp::kAvg, {{10, 7}, {20, 8}, {31, -20}}, 3),
              (std::vector<std::int32_t>{20, -1}));
  }
}

TEST(ReduceValueTest, IntegersWrap) {
  for (KernelSet set : kBothSets) {
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
  for (KernelSet set : kBothSets) {
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
  for (KernelSet set : kBothSets) {
    for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kProd, ReduceOp::kMin}) {
      std::vector<std::uint8_t> out(4);
      void* dst = out.data();
      Reduce(set, {op, list, {&dst, 1}, DType::kBool, 4});
      const bool is_or = op == ReduceOp::kSum || op == ReduceOp::kMax;
      EXPECT_EQ(out, is_or ? (std::vector<std::uint8_t>{1, 0, 1, 1})
                           : (std::vector<std::uint8_t>{0, 0, 0, 1}));
    }
    // 300 values: a sum of bytes would wrap at 256.
    const std::uint8_t one = 1;
    const std::vector<ReduceSource> many(256, ReduceSource{&one, DType::kBool});
    std::uint8_t result = 0;
    void* dst = &result;
    Reduce(set, {ReduceOp::kSum, many, {&dst, 1}, DType::kBool, 1});
    EXPECT_EQ(result, 1);
  }
}

TEST(ReduceValueTest, LowPrecisionIsRoundedOnce) {
  // 256 + 1 + 1: bf16 has 8 bits, so rounding after each addition would stay at 256.
  const std::uint16_t big = BF16::Narrow(256);
  const std::uint16_t one = BF16::Narrow(1);
  const ReduceSource list[] = {{&big, DType::kBF16}, {&one, DType::kBF16}, {&one, DType::kBF16}};
  for (KernelSet set : kBothSets) {
    std::uint16_t out = 0;
    void* dst = &out;
    Reduce(set, {ReduceOp::kSum, list, {&dst, 1}, DType::kBF16, 1});
    EXPECT_EQ(BF16::Widen(out), 258.0f);
    float partial = 0;  // and as a partial result in f32, to which another rank's value is added
    void* wide = &partial;
    Reduce(set, {ReduceOp::kSum, std::span(list).first(2), {&wide, 1}, DType::kF32, 1});
    EXPECT_EQ(partial, 257.0f);
    const ReduceSource rest[] = {{&partial, DType::kF32}, {&one, DType::kBF16}};
    Reduce(set, {ReduceOp::kSum, rest, {&dst, 1}, DType::kBF16, 1});
    EXPECT_EQ(BF16::Widen(out), 258.0f);
  }
}

TEST(ReduceValueTest, MixedSourcesOfAnyLength) {
  for (DType element : {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    for (std::int64_t count : {1, 17, 1024, 1025, 3000}) {
      const Input narrow =
          RandomInput(element, count, 1, static_cast<std::size_t>(SizeOf(element)));
      const Input wide = RandomInput(DType::kF32, count, 2, 4);
      const ReduceSource list[] = {{narrow.data(), element}, {wide.data(), DType::kF32}};
      for (DType dtype : {element, DType::kF32}) {
        const auto bytes = static_cast<std::size_t>(count * SizeOf(dtype));
        std::vector<std::uint8_t> out[2] = {std::vector<std::uint8_t>(bytes),
                                            std::vector<std::uint8_t>(bytes)};
        for (int k = 0; k < 2; ++k) {
          void* dst = out[k].data();
          Reduce(kBothSets[k], {ReduceOp::kMax, list, {&dst, 1}, dtype, count, 3});
        }
        ExpectSame(dtype, out[0], out[1], std::string(Name(element)) + std::to_string(count));
      }
    }
  }
}

TEST(ReduceValueTest, ASumOfF8IsRoundedOnceAndSaturates) {
  const auto sum = [](KernelSet set, const std::vector<float>& values) {
    std::vector<std::uint8_t> bits;
    for (const float value : values) bits.push_back(F8E4M3::Narrow(value));
    std::vector<ReduceSource> list;
    for (const std::uint8_t& each : bits) list.push_back({&each, DType::kF8E4M3});
    std::uint8_t out = 0;
    void* dst = &out;
    Reduce(set, {ReduceOp::kSum, list, {&dst, 1}, DType::kF8E4M3, 1});
    return F8E4M3::Widen(out);
  };
  for (KernelSet set : kBothSets) {
    EXPECT_EQ(sum(set, {16, 1, 1}), 18.0f);  // 4 bits: rounded each time it would stay 16
    EXPECT_EQ(sum(set, {448, 448}), 448.0f);
    EXPECT_EQ(sum(set, {-448, -1, -448}), -448.0f);
  }
}

TEST(ReduceValueTest, BitwiseAndLogical) {  // pytorch#41362
  for (KernelSet set : kBothSets) {
    const std::vector<std::vector<std::int32_t>> x = {{7, 0}, {11, 0}, {22, 0}};
    const auto of = [&](ReduceOp op) { return ReduceAll<std::int32_t>(set, op, x); };
    EXPECT_EQ(of(ReduceOp::kBitAnd), (std::vector<std::int32_t>{2, 0}));
    EXPECT_EQ(of(ReduceOp::kBitOr), (std::vector<std::int32_t>{31, 0}));
    EXPECT_EQ(of(ReduceOp::kBitXor), (std::vector<std::int32_t>{26, 0}));
    EXPECT_EQ(of(ReduceOp::kLogicalAnd), (std::vector<std::int32_t>{1, 0}));
    EXPECT_EQ(of(ReduceOp::kLogicalOr), (std::vector<std::int32_t>{1, 0}));
    EXPECT_EQ(of(ReduceOp::kLogicalXor), (std::vector<std::int32_t>{1, 0}));  // three are true
  }
}

TEST(ReduceValueTest, AProductOfComplexNumbersIsTheComplexOne) {  // pytorch#45879
  using C = std::complex<float>;
  for (KernelSet set : kBothSets) {
    EXPECT_EQ(ReduceAll<C>(set, ReduceOp::kProd, {{{1, 1}}, {{1, 1}}}), (std::vector<C>{{0, 2}}));
    EXPECT_EQ(ReduceAll<C>(set, ReduceOp::kAvg, {{{1, 2}}, {{3, 6}}}, 2), (std::vector<C>{{2, 4}}));
  }
}

TEST(ReduceValueTest, TheSmallestIndexWinsAmongEqualValues) {
  using L = Located<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (KernelSet set : kBothSets) {
    const auto of = [&](ReduceOp op, const L& a, const L& b) {
      const L ab = ReduceAll<L>(set, op, {{a}, {b}})[0];
      const L ba = ReduceAll<L>(set, op, {{b}, {a}})[0];
      EXPECT_EQ(ab.index, ba.index);  // it commutes
      return ab.index;
    };
    EXPECT_EQ(of(ReduceOp::kMinLoc, {2, 5}, {1, 9}), 9);
    EXPECT_EQ(of(ReduceOp::kMaxLoc, {2, 5}, {1, 9}), 5);
    EXPECT_EQ(of(ReduceOp::kMinLoc, {1, 9}, {1, 5}), 5);
    EXPECT_EQ(of(ReduceOp::kMaxLoc, {1, 9}, {1, 5}), 5);
    EXPECT_EQ(of(ReduceOp::kMinLoc, {0.0f, 1}, {-0.0f, 2}), 2);
    EXPECT_EQ(of(ReduceOp::kMaxLoc, {0.0f, 2}, {-0.0f, 1}), 2);
    EXPECT_EQ(of(ReduceOp::kMaxLoc, {nan, 8}, {3, 1}), 8);
    EXPECT_EQ(of(ReduceOp::kMinLoc, {nan, 8}, {nan, 4}), 4);
  }
}

TEST(ReduceValueTest, OnlyScaledOperandsAreMultiplied) {
  const float a = 2;
  const float partial = 10;
  for (KernelSet set : kBothSets) {
    const ReduceSource list[] = {{&partial, DType::kF32, false}, {&a, DType::kF32, true}};
    float out = 0;
    void* dst = &out;
    ReduceArgs args{ReduceOp::kPremulSum, list, {&dst, 1}, DType::kF32, 1};
    args.factor = 0.5;
    Reduce(set, args);
    EXPECT_EQ(out, 11.0f);
  }
}

TEST(ReduceValueTest, ABoolStoredAsAnotherByteCountsAsOne) {
  const std::vector<std::uint8_t> x(200, 2);
  const std::vector<std::uint8_t> y(200, 4);
  const ReduceSource list[] = {{x.data(), DType::kBool}, {y.data(), DType::kBool}};
  for (KernelSet set : kBothSets) {
    for (std::size_t sources : {1u, 2u}) {
      for (ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kBitAnd, ReduceOp::kMax}) {
        std::vector<std::uint8_t> out(200);
        void* dst = out.data();
        Reduce(set, {op, std::span(list).first(sources), {&dst, 1}, DType::kBool, 200});
        EXPECT_EQ(out, std::vector<std::uint8_t>(200, 1)) << Name(op);
      }
    }
  }
}

TEST(ReduceValueTest, AUsersFunctionIsCalledFromLeftToRight) {
  const UserReduction decimal{"decimal", false,
                              [](void* left, const void* right, std::int64_t count, DType dtype) {
                                ASSERT_EQ(dtype, DType::kF32);  // bf16 comes widened
                                for (std::int64_t i = 0; i < count; ++i) {
                                  float& a = static_cast<float*>(left)[i];
                                  a = 10 * a + static_cast<const float*>(right)[i];
                                }
                              }};
  constexpr std::int64_t kCount = 5000;  // more than the function is given at a time
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    std::vector<std::uint8_t> inputs[3];
    std::vector<ReduceSource> list;
    for (int s = 0; s < 3; ++s) {
      const std::vector<float> values(kCount, static_cast<float>(s + 1));
      inputs[s].resize(static_cast<std::size_t>(kCount * SizeOf(dtype)));
      Convert(KernelSet::kPlain, values.data(), DType::kF32, inputs[s].data(), dtype, kCount);
      list.push_back({inputs[s].data(), dtype});
    }
    for (KernelSet set : kBothSets) {
      std::vector<std::uint8_t> out(inputs[0].size());
      void* dsts[] = {out.data(), inputs[1].data()};
      ReduceArgs args{ReduceOp::kUser, list, {dsts, 1}, dtype, kCount};
      args.user = &decimal;
      Reduce(set, args);
      std::vector<float> result(kCount);
      Convert(KernelSet::kPlain, out.data(), dtype, result.data(), DType::kF32, kCount);
      EXPECT_EQ(result, std::vector<float>(kCount, 123)) << Name(dtype);
    }
  }
}

TEST(CopyTest, EveryDestinationIsACopy) {
  for (std::int64_t bytes : {0, 1, 63, 64, 65, 1000, 4096}) {
    const Input src = RandomInput(DType::kU8, bytes, 1, 5);
    for (bool streaming : {false, true}) {
      std::vector<std::uint8_t> a(static_cast<std::size_t>(bytes) + 1, 0xa5);
      std::vector<std::uint8_t> b = a;
      void* dsts[] = {a.data(), b.data()};
      for (std::size_t count : {1u, 2u}) {
        Copy(std::span(dsts).first(count), src.data(), bytes, streaming ? count : 0);
        EXPECT_EQ(std::memcmp(a.data(), src.data(), static_cast<std::size_t>(bytes)), 0);
      }
      EXPECT_EQ(a, b);
      EXPECT_EQ(a.back(), 0xa5);
    }
  }
}

}  // namespace
}  // namespace chorus
