#include "chorus/cost/calibrate/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace chorus {
namespace {

using ::testing::ElementsAre;

TEST(MeasurementTest, OfRepeatedOnesTheMedianCounts) {
  const auto at = [](double bytes, double seconds) {
    return Measurement{"all_reduce", 2, 1, bytes, seconds};
  };
  EXPECT_THAT(Medians({at(8, 3), at(16, 5), at(8, 90), at(8, 1), at(16, 7)}),
              ElementsAre(at(8, 3), at(16, 6)));
  EXPECT_EQ(Medians({at(8, 3), Measurement{"scan", 2, 1, 8, 4}}).size(), 2U);
  Measurement from_1 = {"reduce", 2, 1, 8, 4}, from_0 = from_1;
  from_1.root = 1;
  from_0.root = 0;
  EXPECT_EQ(Medians({from_1, from_0}).size(), 2U);
  EXPECT_TRUE(Medians({}).empty());
}

// Whatever file a row comes from, what it is worth is decided here.
TEST(MeasurementTest, RowsThatDoNotCountAreLeftOutWithTheReason) {
  struct BadRow {
    Measurement row;
    double wrong;
    const char* why;
  };
  const Measurement good = {"all_reduce", 8, 2, 1024, 1e-5};
  const auto with = [&](auto change) {
    Measurement m = good;
    change(m);
    return m;
  };
  using M = Measurement;
  const BadRow cases[] = {
      {good, 3, "its result is wrong (#wrong is not 0)"},
      {good, NAN, "its result is wrong (#wrong is not 0)"},
      {with([](M& m) { m.op = ""; }), 0, "its operation is none that machines have curves of"},
      {with([](M& m) { m.ranks = 0; }), 0, "0 ranks; there must be 1 to 16777216"},
      {with([](M& m) { m.nodes = 9; }), 0, "9 nodes; there must be 1 to the 8 ranks"},
      {with([](M& m) {
         m.op = "broadcast";
         m.root = 8;
       }),
       0, "root 8 of 8 ranks"},
      {with([](M& m) { m.bytes = 0; }), 0, "it has no bytes"},
      {with([](M& m) { m.bytes = 1e30; }), 0,
       "its size is no whole number of bytes up to 4611686018427387904"},
      {with([](M& m) { m.bytes = -8; }), 0,
       "its size is no whole number of bytes up to 4611686018427387904"},
      {with([](M& m) { m.bytes = 8.5; }), 0,
       "its size is no whole number of bytes up to 4611686018427387904"},
      {with([](M& m) { m.seconds = 0; }), 0, "its time is none from 1e-06 to 1e+15 us"},
      {with([](M& m) { m.seconds = NAN; }), 0, "its time is none from 1e-06 to 1e+15 us"},
      {with([](M& m) { m.seconds = 1e300; }), 0, "its time is none from 1e-06 to 1e+15 us"},
  };
  for (const BadRow& c : cases) {
    MeasurementLog log;
    log.Take(c.row, c.wrong, "a.log:7");
    EXPECT_TRUE(log.measurements().empty()) << c.why;
    EXPECT_THAT(log.left_out(), ElementsAre(MeasurementLog::LeftOut{c.why, "a.log:7", 1}));
  }
  MeasurementLog log;
  log.Take(with([](M& m) { m.root = 0; }), 0, "a.log:7");  // all_reduce has none
  EXPECT_THAT(log.measurements(), ElementsAre(good));
}

TEST(MeasurementTest, ReasonsAreCountedOverAllLogs) {
  MeasurementLog one, two;
  one.LeaveOut("it has no bytes", "a.log:7");
  two.LeaveOut("it is cut off", "b.log:1");
  two.LeaveOut("it has no bytes", "b.log:2");
  two.LeaveOut("it has no bytes", "b.log:3");
  one.Append(two);
  EXPECT_THAT(one.Remarks(), ElementsAre("left out: 3 rows, the first a.log:7: it has no bytes",
                                         "left out: b.log:1: it is cut off"));
}

TEST(MeasurementTest, ProgramsNameTheirOperation) {
  EXPECT_EQ(OperationOfName("all_reduce_perf"), "all_reduce");
  EXPECT_EQ(OperationOfName("AllGather"), "all_gather");
  EXPECT_EQ(OperationOfName("alltoall_perf"), "all_to_all");
  EXPECT_EQ(OperationOfName("sendrecv_perf"), "");
}

}  // namespace
}  // namespace chorus
