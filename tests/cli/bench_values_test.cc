// The arithmetic and the data of chorus bench, without running it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <regex>
#include <string>
#include <vector>

#include "chorus/apps/cli/bench_case.h"
#include "chorus/apps/cli/bench_data.h"
#include "chorus/apps/cli/bench_plot.h"
#include "chorus/apps/cli/bench_result.h"
#include "chorus/cost/formula/formula.h"

namespace chorus::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

BenchCase Case(OpKind op, std::int64_t bytes, int ranks = 4) {
  BenchCase c;
  c.op = op;
  c.ranks = ranks;
  c.bytes = bytes;
  return c;
}

TEST(BenchSizes, GoByFactorOrByStep) {
  EXPECT_THAT(*BenchSizes(8, 100, 1, 2), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(*BenchSizes(8, 8, 1, 2), ElementsAre(8));
  EXPECT_THAT(*BenchSizes(10, 35, 10, 1), ElementsAre(10, 20, 30));
  EXPECT_THAT(*BenchSizes(0, 4, 1, 2), ElementsAre(0, 1, 2, 4));
  EXPECT_FALSE(BenchSizes(0, 100, 0, 1).ok());
  EXPECT_FALSE(BenchSizes(1, std::int64_t{1} << 40, 1, 1).ok());
  for (const double factor : {0.5, 1.00001, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(BenchSizes(8, 64, 1, factor).ok()) << factor;
  }
}

TEST(BenchSizes, KMGAreBinaryAsInNcclTests) {
  EXPECT_EQ(*ParseBenchSize("8"), 8);
  EXPECT_EQ(*ParseBenchSize("32K"), 32 << 10);
  EXPECT_EQ(*ParseBenchSize("1.5M"), 3 << 19);
  EXPECT_EQ(*ParseBenchSize("1MB"), 1'000'000);
  EXPECT_FALSE(ParseBenchSize("K").ok());
}

TEST(BenchCase, CountsAreThoseOfTheCall) {
  EXPECT_EQ(CountsOf(Case(OpKind::kAllReduce, 64), 1), (BenchCounts{16, 16}));
  EXPECT_EQ(CountsOf(Case(OpKind::kAllGather, 64), 1), (BenchCounts{4, 16}));
  EXPECT_EQ(CountsOf(Case(OpKind::kReduceScatter, 64), 1), (BenchCounts{16, 4}));
  EXPECT_EQ(CountsOf(Case(OpKind::kScatter, 64), 0), (BenchCounts{16, 4}));
  EXPECT_EQ(CountsOf(Case(OpKind::kScatter, 64), 1), (BenchCounts{0, 4}));
  EXPECT_EQ(CountArgument(Case(OpKind::kAllGather, 64)), 4);
  EXPECT_EQ(FitBytes(Case(OpKind::kAllGather, 0), 70), 64);
  EXPECT_EQ(FitBytes(Case(OpKind::kAllReduce, 0), 70), 68);
}

TEST(BenchCase, BandwidthIsThatOfNcclTests) {
  EXPECT_EQ(BusFactor(Name(OpKind::kAllReduce), 4), 1.5);
  EXPECT_EQ(BusFactor(Name(OpKind::kReduceScatter), 4), 0.75);
  EXPECT_EQ(BusFactor(Name(OpKind::kAllToAll), 4), 0.75);
  EXPECT_EQ(BusFactor(Name(OpKind::kBroadcast), 4), 1);
  BenchRow row;
  row.what = Case(OpKind::kAllReduce, 2'000'000);
  EXPECT_DOUBLE_EQ(row.AlgBandwidth({1000, 0}), 2);  // 2 MB in 1 ms
  EXPECT_DOUBLE_EQ(row.BusBandwidth({1000, 0}), 3);
}

TEST(BenchCase, LeastTrafficIsEachInputReadAndEachResultWrittenOnce) {
  EXPECT_EQ(LeastTraffic(Case(OpKind::kAllReduce, 64)), (BenchTraffic{64, 64}));
  EXPECT_EQ(LeastTraffic(Case(OpKind::kAllGather, 64)), (BenchTraffic{16, 64}));
  EXPECT_EQ(LeastTraffic(Case(OpKind::kBroadcast, 64)), (BenchTraffic{16, 48}));
  EXPECT_EQ(LeastTraffic(Case(OpKind::kReduce, 64)), (BenchTraffic{64, 16}));
}

// The result that a rank must have, made by moving and adding f32 inputs here.
TEST(BenchData, ExpectsWhatTheOperationPromises) {
  BenchCase c = Case(OpKind::kReduceScatter, 96, 3);
  std::vector<std::vector<float>> in(3, std::vector<float>(24));
  for (int r = 0; r < 3; ++r) FillInput(c, r, 5, in[r].data());
  std::vector<float> out(8);
  for (int i = 0; i < 8; ++i) out[i] = in[0][8 + i] + in[1][8 + i] + in[2][8 + i];
  EXPECT_EQ(CountWrong(c, 1, 5, out.data()), 0);
  EXPECT_EQ(CountWrong(c, 2, 5, out.data()), 8);  // another rank's block
  EXPECT_EQ(CountWrong(c, 1, 6, out.data()), 8);  // other data
  out[3] += 1;
  EXPECT_EQ(CountWrong(c, 1, 5, out.data()), 1);

  c.op = OpKind::kAllToAll;
  for (int r = 0; r < 3; ++r) FillInput(c, r, 5, in[r].data());
  out.clear();
  for (int r = 0; r < 3; ++r) out.insert(out.end(), in[r].begin() + 16, in[r].begin() + 24);
  EXPECT_EQ(CountWrong(c, 2, 5, out.data()), 0);
}

// Any order of summing gives the same bits, also where ranks are many for the type.
TEST(BenchData, SumsAreExactInEveryOrder) {
  for (const int ranks : {2, 17, 1000}) {
    BenchCase c = Case(OpKind::kAllReduce, 4 * 50, ranks);
    std::vector<float> forward(50);
    std::vector<float> backward(50);
    std::vector<float> in(50);
    for (int k = 0; k < ranks; ++k) {
      FillInput(c, k, 1, in.data());
      for (int i = 0; i < 50; ++i) forward[i] += in[i];
      FillInput(c, ranks - 1 - k, 1, in.data());
      for (int i = 0; i < 50; ++i) backward[i] += in[i];
    }
    EXPECT_EQ(CountWrong(c, 0, 1, forward.data()), 0) << ranks;
    // Bits are what is compared. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    EXPECT_EQ(std::memcmp(forward.data(), backward.data(), 200), 0) << ranks;
  }
}

TEST(BenchData, ErrorIsInUnitsInTheLastPlace) {
  const BenchCase c = Case(OpKind::kAllReduce, 4 * 100, 2);
  std::vector<float> a(100);
  std::vector<float> b(100);
  FillSmooth(c, 0, 3, a.data());
  FillSmooth(c, 1, 3, b.data());
  std::vector<float> sum(100);
  for (int i = 0; i < 100; ++i) sum[i] = a[i] + b[i];
  EXPECT_LE(LargestError(c, 0, 3, sum.data()), 0.5);
  sum[7] += (std::abs(a[7]) + std::abs(b[7])) * 0x1p-20F;  // eight units more
  EXPECT_NEAR(LargestError(c, 0, 3, sum.data()), 8, 1);
}

TEST(DrawSvg, DrawsWhatIsThereAndSaysWhatIsNot) {
  const std::string svg = DrawSvg(
      "a < b", {{"full", {{"line", {{8, 0.5}, {1 << 20, 40}}}}}, {"empty", {{"none", {{8, 0}}}}}});
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr(">256 KiB<"));
  EXPECT_THAT(svg, HasSubstr("nothing to draw"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

// The labels of a kind in a picture: where they are and what they say.
std::vector<std::pair<double, std::string>> LabelsOf(const std::string& svg, const char* anchor) {
  const std::regex label("<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"" +
                         std::string(anchor) + "\" class=\"[a-z]*\">([^<]*)</text>");
  std::vector<std::pair<double, std::string>> labels;
  for (std::sregex_iterator at(svg.begin(), svg.end(), label), end; at != end; ++at) {
    labels.emplace_back(std::stod((*at)[1]), (*at)[2]);
  }
  return labels;
}

TEST(DrawTimes, LabelsLieInThePictureAndApart) {
  constexpr double kDigit = 6.7, kSmall = 5.6;  // pixels of a letter
  for (const double most : {1e-3, 10.0, 1e7}) {
    const std::string svg = *DrawTimes("t", {{"ring", 1, 1e-6}, {"ring", 0x1p62, most}});
    EXPECT_THAT(svg, HasSubstr("time (us)"));
    for (const auto& [x, text] : LabelsOf(svg, "end")) {
      EXPECT_GE(x - kDigit * static_cast<double>(text.size()), 0) << text;
    }
    auto sizes = LabelsOf(svg, "middle");
    sizes.pop_back();  // "size"
    ASSERT_GE(sizes.size(), 5U);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      const double both =
          kSmall * static_cast<double>(sizes[i - 1].second.size() + sizes[i].second.size()) / 2;
      EXPECT_GT(sizes[i].first - sizes[i - 1].first, both) << sizes[i].second;
    }
    EXPECT_THAT(svg, HasSubstr(" PiB<"));
    EXPECT_THAT(svg, Not(HasSubstr("e+")));
  }
  EXPECT_THAT(*DrawTimes("t", {{"ring", 8, 2e-3}, {"ring", 16, 10}}), HasSubstr("time (ms)"));
  EXPECT_THAT(*DrawTimes("t", {{"ring", 8, 2}, {"ring", 16, 10}}), HasSubstr("time (s)"));
}

}  // namespace
}  // namespace chorus::cli
