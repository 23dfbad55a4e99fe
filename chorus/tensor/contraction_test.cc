#include "chorus/tensor/contraction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/small_float.h"
#include "chorus/program/plain_array.h"

namespace chorus {
namespace {

// One letter a dimension: "IJ" is [I, J].
Dims Letters(const std::string& text) {
  Dims dims;
  for (const char c : text) dims.emplace_back(1, c);
  return dims;
}

Shape SizesOf(const Dims& dims, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> out;
  for (const std::string& dim : dims) out.push_back(sizes.at(dim));
  return Shape(std::move(out));
}

PlainArray SmallIntegers(const Shape& shape, const char* name) {
  PlainArray array = Filled(shape, 0);
  const RandomStream stream(3, name);
  for (std::size_t i = 0; i < array.elements.size(); ++i) {
    array.elements[i] = static_cast<double>(stream.Below(9, 0, i)) - 4;
  }
  return array;
}

template <typename T>
std::vector<T> As(const PlainArray& array) {
  std::vector<T> out;
  for (const double x : array.elements) {
    if constexpr (sizeof(T) == 2) {
      out.push_back(BF16::Narrow(static_cast<float>(x)));
    } else {
      out.push_back(static_cast<T>(x));
    }
  }
  return out;
}

template <typename T>
double Widened(T x) {
  if constexpr (sizeof(T) == 2) return static_cast<double>(BF16::Widen(x));
  return static_cast<double>(x);
}

// Small integers: every result is exact in f32 and f64, and in bf16 up to one rounding.
template <typename T>
void ExpectDefinition(DType dtype, const std::string& a, const std::string& b, const std::string& c,
                      const std::map<std::string, std::int64_t>& sizes) {
  const Dims dims_a = Letters(a), dims_b = Letters(b), dims_c = Letters(c);
  const PlainArray x = SmallIntegers(SizesOf(dims_a, sizes), "x");
  const PlainArray y = SmallIntegers(SizesOf(dims_b, sizes), "y");
  const Result<OpRule> rule = MakeRule(GraphOp::kContract, {dims_a, dims_b}, dims_c);
  ASSERT_TRUE(rule.ok()) << rule.status().message();
  const PlainArray want = chorus::Contract(*rule, x, y, SizesOf(dims_c, sizes));
  const Contraction plan = PlanContraction(dims_a, x.shape, dims_b, y.shape, dims_c);
  Flops executed;
  std::vector<T> got(want.elements.size(), static_cast<T>(0x7fff));  // garbage; NaN in bf16
  Contract(plan, KernelSet::kFast, {dtype, dtype, false}, As<T>(x).data(), As<T>(y).data(),
           got.data(), executed);
  const double rounding = dtype == DType::kBF16 ? 0x1p-8 : 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(Widened(got[i]), want.elements[i], rounding * std::abs(want.elements[i]))
        << a << " " << b << " " << c << " at " << i;
  }
  std::int64_t loops = 2;
  for (const std::string& dim : rule->loop) loops *= sizes.at(dim);
  EXPECT_EQ(executed, Flops(loops));
}

void ExpectAllDTypes(const std::string& a, const std::string& b, const std::string& c,
                     const std::map<std::string, std::int64_t>& sizes) {
  ExpectDefinition<float>(DType::kF32, a, b, c, sizes);
  ExpectDefinition<double>(DType::kF64, a, b, c, sizes);
  ExpectDefinition<std::uint16_t>(DType::kBF16, a, b, c, sizes);
}

std::vector<std::string> Orders(std::string letters) {
  std::vector<std::string> all;
  std::sort(letters.begin(), letters.end());
  do {
    all.push_back(letters);
  } while (std::next_permutation(letters.begin(), letters.end()));
  return all;
}

// Every order of the dimensions of all three arrays, of products with and without a batch.
TEST(ContractionTest, IsTheDefinitionInEveryOrderOfDimensions) {
  for (const auto& [a, b, c] : {std::tuple("IJ", "JK", "IK"),
                                {"ZIJ", "ZJK", "ZIK"},
                                {"IJ", "J", "I"},
                                {"I", "K", "IK"},
                                {"Z", "Z", "Z"},
                                {"IJ", "IJ", ""},
                                {"ZI", "Z", "ZI"}}) {
    for (const std::string& order_a : Orders(a)) {
      for (const std::string& order_b : Orders(b)) {
        for (const std::string& order_c : Orders(c)) {
          for (const auto& sizes :
               {std::map<std::string, std::int64_t>{{"I", 2}, {"J", 5}, {"K", 3}, {"Z", 4}},
                {{"I", 1}, {"J", 3}, {"K", 1}, {"Z", 2}}}) {
            ExpectDefinition<double>(DType::kF64, order_a, order_b, order_c, sizes);
          }
        }
      }
    }
  }
}

TEST(ContractionTest, IsTheSameInEveryDType) {
  for (const char* a : {"IJ", "JI", "ZIJ", "IJZ"}) {
    const bool batch = std::string(a).size() == 3;
    for (const char* b : {"JK", "KJ"}) {
      for (const char* c : {"IK", "KI"}) {
        ExpectAllDTypes(a, (batch ? "Z" : "") + std::string(b), c + std::string(batch ? "Z" : ""),
                        {{"I", 9}, {"J", 17}, {"K", 5}, {"Z", 3}});
      }
    }
  }
}

// Parts of several dimensions, in one run or apart.
TEST(ContractionTest, JoinsDimensionsThatLieAsOneRun) {
  const std::map<std::string, std::int64_t> sizes = {{"H", 2}, {"I", 3}, {"J", 4}, {"K", 2},
                                                     {"L", 3}, {"M", 2}, {"Z", 2}};
  for (const char* a : {"HIJM", "HJIM", "JHMI", "MJIH"}) {
    for (const char* b : {"JMKL", "KJLM", "MJKL"}) {
      for (const char* c : {"HIKL", "KLHI", "HKIL", "IHLK"}) ExpectAllDTypes(a, b, c, sizes);
    }
  }
  ExpectAllDTypes("HZIJ", "JZKH", "KIZH", sizes);  // a batch of two, apart
}

TEST(ContractionTest, SizesOfZeroLeaveZerosOrNothing) {
  for (const char* none : {"I", "J", "K", "Z"}) {
    std::map<std::string, std::int64_t> sizes = {{"I", 2}, {"J", 5}, {"K", 3}, {"Z", 4}};
    sizes[none] = 0;
    for (const char* c : {"ZIK", "IZK", "KIZ"}) ExpectAllDTypes("ZIJ", "JZK", c, sizes);
  }
}

// What is stored so that a product can read it is not copied.
TEST(ContractionTest, ReadsArraysWhereTheyAre) {
  const auto copies = [](const std::string& a, const std::string& b, const std::string& c) {
    const std::map<std::string, std::int64_t> sizes = {{"I", 2}, {"J", 5}, {"K", 3}, {"Z", 4}};
    const Dims dims_a = Letters(a), dims_b = Letters(b);
    const Contraction plan =
        PlanContraction(dims_a, SizesOf(dims_a, sizes), dims_b, SizesOf(dims_b, sizes), Letters(c));
    return int{plan.first.needed} + int{plan.second.needed} + int{plan.result.needed};
  };
  for (const char* a : {"IJ", "JI"}) {
    for (const char* b : {"JK", "KJ"}) {
      for (const char* c : {"IK", "KI"}) EXPECT_EQ(copies(a, b, c), 0) << a << b << c;
    }
  }
  EXPECT_EQ(copies("ZIJ", "ZJK", "ZIK"), 0);
  EXPECT_EQ(copies("IZJ", "JZK", "KZI"), 0);
  EXPECT_EQ(copies("IJZ", "ZJK", "ZIK"), 1);
}

}  // namespace
}  // namespace chorus
