#include "chorus/cost/calibrate/doubts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/cost/calibrate/fit.h"

namespace chorus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// 1 KiB to 16 MiB in `log`: 10 us + n / 1 GB/s, `factor` as long.
std::vector<Measurement> OneLog(const char* log, double factor) {
  std::vector<Measurement> rows;
  for (double n = 1024; n <= 1 << 24; n *= 2) {
    rows.push_back({"all_reduce", 8, 1, n, factor * (10e-6 + n / 1e9), "", log});
  }
  return rows;
}

std::vector<std::string> Doubts(const std::vector<std::vector<Measurement>>& logs) {
  std::vector<Measurement> all;
  for (const auto& rows : logs) all.insert(all.end(), rows.begin(), rows.end());
  return DoubtsOf(all, FitAll(all)->curves);
}

TEST(DoubtsTest, LogsThatContradictEachOtherAreNamed) {
  EXPECT_THAT(Doubts({OneLog("a.log", 1), OneLog("b.log", 1.3)}), IsEmpty());
  EXPECT_THAT(Doubts({OneLog("a.log", 1), OneLog("b.log", 3)}),
              ElementsAre(AllOf(StartsWith("WARNING: a.log and b.log contradict each other: "
                                           "all_reduce over 8 ranks of "),
                                HasSubstr("in one and "), HasSubstr("in the other"))));
  EXPECT_THAT(Doubts({OneLog("a.log", 1), OneLog("b.log", 1.1), OneLog("c.log", 5)}),
              ElementsAre(HasSubstr("a.log and c.log contradict")));
}

// A disturbed size of one of them is none.
TEST(DoubtsTest, TheMiddleSizeDecides) {
  std::vector<Measurement> disturbed = OneLog("b.log", 1);
  disturbed[3].seconds *= 1.9;
  EXPECT_THAT(Doubts({OneLog("a.log", 1), disturbed}), IsEmpty());
}

TEST(DoubtsTest, OneLogThatContradictsItselfIsFarOff) {
  EXPECT_THAT(Doubts({OneLog("a.log", 1), OneLog("a.log", 3)}),
              ElementsAre(StartsWith("WARNING: the curve of all_reduce over 8 ranks is 73 % off")));
}

TEST(DoubtsTest, TimesThatFallAreTold) {
  std::vector<Measurement> falling;
  for (double n = 1024; n <= 1 << 24; n *= 2) {
    falling.push_back({"all_reduce", 8, 1, n, 1e-4 / std::log2(n), "", "a.log"});
  }
  EXPECT_THAT(
      Doubts({falling}),
      ElementsAre(
          "WARNING: all_reduce over 8 ranks took 10 us for 1 KiB, but 4.17 us for 16 MiB: no "
          "curve follows times that fall as bytes grow; measure again, with more calls "
          "before (-w) and more sweeps (-N)"));
  const FittedCurve curve = FitAll(falling)->curves.at(0);
  EXPECT_GT(curve.inverse.high, 0);  // nothing says that bandwidth has no limit
  std::vector<Measurement> dip = OneLog("a.log", 1);
  dip[5].seconds /= 1.7;  // another algorithm from here on
  EXPECT_THAT(Doubts({dip}), IsEmpty());
}

TEST(DoubtsTest, RatesThatFallAreTold) {
  std::vector<Measurement> rows = OneLog("a.log", 1);
  rows.back().seconds *= 1.8;  // a cache ends
  EXPECT_THAT(Doubts({rows}), IsEmpty());
  rows.back().seconds *= 1.8;
  EXPECT_THAT(Doubts({rows}),
              ElementsAre(AllOf(StartsWith("WARNING: all_reduce over 8 ranks moved 998.8 MB/s at "
                                           "8 MiB, but 308.5 MB/s at 16 MiB: a curve has one"),
                                HasSubstr("other work"))));
}

TEST(DoubtsTest, AMachineThatChangedIsTold) {
  const std::vector<Measurement> fitted = OneLog("a.log", 1);
  const std::vector<FittedCurve> curves = FitAll(fitted)->curves;
  EXPECT_THAT(ChangesOf(fitted, OneLog("b.log", 1.4), curves), IsEmpty());
  EXPECT_THAT(ChangesOf(fitted, OneLog("b.log", 3), curves),
              ElementsAre(AllOf(StartsWith("WARNING: all_reduce over 8 ranks of "),
                                HasSubstr(" when it was checked: the machine was in another"))));
}

TEST(DoubtsTest, ASizeMeasuredTwiceSaysHowTimesScatter) {
  std::vector<Measurement> rows = OneLog("a.log", 1);
  EXPECT_TRUE(MeasuredOnce(rows));
  rows.push_back(rows[4]);
  EXPECT_FALSE(MeasuredOnce(rows));
}

}  // namespace
}  // namespace chorus
