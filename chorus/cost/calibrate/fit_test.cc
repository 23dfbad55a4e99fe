#include "chorus/cost/calibrate/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/base/random.h"
#include "chorus/cost/calibrate/predict.h"

namespace chorus {
namespace {

using ::testing::HasSubstr;

// 12 us + 20 ns sqrt(n) + n / 300 GB/s, off by up to `noise`.
std::vector<Measurement> Made(double noise, std::uint64_t seed) {
  const RandomStream random(seed, "noise");
  std::vector<Measurement> made;
  for (int power = 3; power <= 32; ++power) {
    const double n = std::exp2(power);
    const double time = 12e-6 + 20e-9 * std::sqrt(n) + n / 300e9;
    const double off = 1 + noise * (2 * random.Uniform(static_cast<std::uint64_t>(power)) - 1);
    made.push_back({"all_reduce", 8, 1, n, time * off});
  }
  return made;
}

TEST(FitTest, FindsTheNumbersThatMadeTheTimes) {
  const FittedCurve curve = FitCurve(Made(0, 1));
  EXPECT_NEAR(curve.latency.value, 12e-6, 1e-10);
  EXPECT_NEAR(curve.saturation.value, 20e-9, 1e-13);
  EXPECT_NEAR(1 / curve.inverse.value, 300e9, 1e6);
  EXPECT_LT(curve.error_fitted, 1e-6);
  EXPECT_EQ(curve.least_bytes, 8);
  EXPECT_EQ(curve.points, 30);
}

TEST(FitTest, IntervalsHoldTheTruthUnderNoise) {
  int latency = 0, bandwidth = 0;
  constexpr int kTrials = 20;
  for (int trial = 0; trial < kTrials; ++trial) {
    const FittedCurve curve = FitCurve(Made(0.1, static_cast<std::uint64_t>(trial)));
    EXPECT_LE(curve.latency.low, curve.latency.value);
    EXPECT_GE(curve.latency.high, curve.latency.value);
    latency += curve.latency.low <= 12e-6 && curve.latency.high >= 12e-6 ? 1 : 0;
    bandwidth += 1 / curve.inverse.high <= 300e9 && 1 / curve.inverse.low >= 300e9 ? 1 : 0;
    EXPECT_LT(curve.error_fitted, 0.07);
  }
  EXPECT_GE(latency, kTrials * 3 / 4);
  EXPECT_GE(bandwidth, kTrials * 3 / 4);
}

// One wild time among thirty must not bend the curve.
TEST(FitTest, OneOutlierDoesNotMatter) {
  std::vector<Measurement> made = Made(0, 1);
  made[15].seconds *= 5;
  const FittedCurve curve = FitCurve(made);
  EXPECT_NEAR(1 / curve.inverse.value, 300e9, 6e9);
  EXPECT_NEAR(curve.latency.value, 12e-6, 1e-6);
}

TEST(FitTest, NoNumberIsNegative) {
  std::vector<Measurement> made;
  for (double n : {1e3, 1e4, 1e5, 1e6}) made.push_back({"all_reduce", 2, 1, n, 1e-6 / n});
  const FittedCurve curve = FitCurve(made);
  EXPECT_GE(curve.latency.value, 0);
  EXPECT_GE(curve.saturation.value, 0);
  EXPECT_GE(curve.inverse.value, 0);
}

std::vector<Measurement> MadeAt(int sizes) {
  const std::vector<Measurement> all = Made(0.05, 3);
  return {all.begin(), all.begin() + sizes};
}

TEST(FitTest, EveryOtherSizeIsHeldOutWhereEnoughAreLeft) {
  const FittedCurve many = FitAll(Made(0.05, 3))->curves.at(0);
  EXPECT_EQ(many.points, 15);
  EXPECT_GT(many.error_held_out.value(), 0);
  EXPECT_LT(many.error_held_out.value(), 0.06);
  EXPECT_EQ(FitAll(MadeAt(7))->curves.at(0).points, 4);
  EXPECT_TRUE(FitAll(MadeAt(7))->curves.at(0).error_held_out);
  EXPECT_EQ(FitAll(MadeAt(6))->curves.at(0).points, 6);
  EXPECT_FALSE(FitAll(MadeAt(6))->curves.at(0).error_held_out);
}

// Three numbers go through three sizes whatever they are; fewer do not say what they are.
TEST(FitTest, FewSizesAreNotTakenForCertain) {
  const FittedCurve three = FitAll(MadeAt(3))->curves.at(0);
  EXPECT_FALSE(three.latency.IntervalKnown());
  EXPECT_FALSE(three.inverse.IntervalKnown());
  EXPECT_TRUE(FitAll(MadeAt(4))->curves.at(0).latency.IntervalKnown());
  for (const int sizes : {1, 2}) {
    EXPECT_EQ(FitAll(MadeAt(sizes)).status().message(),
              std::string("all_reduce over 8 ranks was measured at ") +
                  (sizes == 1 ? "1 size" : "2 sizes") +
                  ", too few for a curve; measure 3 or more, as with -b 1K -e 16M -f 2");
  }
  std::vector<Measurement> both = Made(0.05, 3);
  both.push_back({"scan", 2, 1, 1e6, 2e-5});
  const Fits fits = *FitAll(both);
  EXPECT_EQ(fits.curves.size(), 1U);
  EXPECT_THAT(fits.too_few, testing::ElementsAre(HasSubstr("scan over 2 ranks was measured at 1")));
  EXPECT_FALSE(FitAll({}).ok());
}

// The same sizes measured again, each time `factor` as long, in `log`.
std::vector<Measurement> Again(std::vector<Measurement> made, double factor, const char* log) {
  for (Measurement& m : made) {
    m.seconds *= factor;
    m.log = log;
  }
  return made;
}

std::vector<Measurement> Joined(std::vector<Measurement> all,
                                const std::vector<Measurement>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Whether they stand in two logs or one after the other in one.
TEST(FitTest, ContradictionsWidenIntervalsAndError) {
  for (const char* second : {"a.log", "b.log"}) {
    SCOPED_TRACE(second);
    const auto both = Joined(Again(Made(0, 1), 1, "a.log"), Again(Made(0, 1), 3, second));
    const FittedCurve curve = FitAll(both)->curves.at(0);
    EXPECT_NEAR(curve.latency.value, 24e-6, 1e-7);
    EXPECT_LT(curve.latency.low, 12.5e-6);
    EXPECT_GT(curve.latency.high, 35e-6);
    EXPECT_LT(curve.inverse.low, 1.05 / 300e9);
    EXPECT_GT(curve.inverse.high, 2.95 / 300e9);
    EXPECT_NEAR(curve.error_fitted, std::sqrt(2 * 1.5) - 1, 1e-3);  // half of them 2, half 1.5 off
    EXPECT_GT(curve.error_held_out.value(), 0.7);
    EXPECT_EQ(curve.points, 30);
  }
  const auto alike = Joined(Again(Made(0, 1), 1, "a.log"), Again(Made(0, 1), 1, "b.log"));
  EXPECT_LT(FitAll(alike)->curves.at(0).error_fitted, 1e-6);
}

// Two logs need not have the same sizes.
TEST(FitTest, LogsThatCompleteEachOtherDoNotContradict) {
  std::vector<Measurement> made = Made(0.02, 1);
  for (std::size_t i = 0; i < made.size(); ++i) made[i].log = i < 15 ? "small.log" : "large.log";
  const FittedCurve curve = FitAll(made)->curves.at(0);
  EXPECT_NEAR(curve.latency.value, 12e-6, 1e-6);
  EXPECT_LT(curve.latency.high / curve.latency.low, 1.3);
  EXPECT_LT(curve.inverse.high / curve.inverse.low, 1.1);
}

// However exact the log: latency is nothing beside a gibibyte, and bytes nothing beside latency.
TEST(FitTest, WhatTheSizesDoNotDetermineIsNotCertain) {
  const std::vector<Measurement> all = Made(0, 1);
  const FittedCurve large = FitCurve({all.begin() + 22, all.end()});
  EXPECT_LE(large.latency.low, 12e-6);
  EXPECT_GE(large.latency.high, 24e-6);
  EXPECT_LT(large.inverse.high / large.inverse.low, 1.2);
  const FittedCurve small = FitCurve({all.begin(), all.begin() + 8});
  EXPECT_LE(small.inverse.low, 1 / 300e9);
  EXPECT_GE(small.inverse.high, 10 / 300e9);
  EXPECT_LT(small.latency.high / small.latency.low, 1.05);
}

// About 19 of 20 intervals hold the truth, of one sweep through noise too.
TEST(FitTest, IntervalsHoldWhatWasMeasured) {
  struct Noisy {
    int sizes;
    double step;
    double noise;
  };
  constexpr double kLatency = 10e-6, kInverse = 1 / 100e9;
  for (const Noisy& n : {Noisy{21, 2, 0.2}, Noisy{4, 64, 0.05}}) {
    int held = 0;
    for (std::uint64_t log = 0; log < 10; ++log) {
      const RandomStream noise(log, "noisy log");
      std::vector<Measurement> made;
      double bytes = 1024;
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n.sizes); ++i, bytes *= n.step) {
        const double seconds = kLatency + kInverse * bytes;
        made.push_back(
            {"all_reduce", 8, 1, bytes, seconds * std::exp(n.noise * noise.Normal(0, i))});
      }
      const FittedCurve curve = FitCurve(made);
      held += curve.latency.low <= kLatency && kLatency <= curve.latency.high ? 1 : 0;
      held += curve.inverse.low <= kInverse && kInverse <= curve.inverse.high ? 1 : 0;
      if (n.noise < 0.1) {
        EXPECT_LT(curve.latency.high, 2 * kLatency);  // and say something
      }
    }
    EXPECT_GE(held, 17) << n.sizes << " sizes";
  }
}

TEST(PredictTest, SaysHowFarItIsToBeTrusted) {
  const std::vector<FittedCurve> fits = FitAll(Made(0.05, 3))->curves;
  Wiring w;
  w.ranks = w.node_size = 8;
  w.fits = fits;
  Question q;
  q.op = "all_reduce";
  q.bytes = 1 << 20;
  ASSERT_TRUE(HasFit(w, q));
  const Estimate e = EstimateFromFit(w, q);
  EXPECT_NEAR(e.time.value(), fits[0].Time(q.bytes), 1e-12);
  EXPECT_THAT(e.Reason(), HasSubstr("% on the 15 measurements fitted, "));
  EXPECT_THAT(e.Reason(), HasSubstr("% on those held out; "));
  w.fits = FitAll(MadeAt(3))->curves;
  EXPECT_THAT(EstimateFromFit(w, q).Reason(), HasSubstr("too few to know how sure they are"));
  EXPECT_THAT(EstimateFromFit(w, q).Reason(), testing::Not(HasSubstr("inf")));
  q.bytes = 1e12;
  EXPECT_THAT(EstimateFromFit(w, q).Reason(), HasSubstr("NOT measured at this size"));
  w.ranks = 4;
  EXPECT_FALSE(HasFit(w, q));
}

// Fitted curves are monotonic as formulas are.
TEST(PredictTest, MoreBytesNeverTakeLess) {
  const FittedCurve curve = FitCurve(Made(0.3, 9));
  for (double n = 1; n < 1e12; n *= 3) EXPECT_LE(curve.Time(n), curve.Time(3 * n));
}

}  // namespace
}  // namespace chorus
