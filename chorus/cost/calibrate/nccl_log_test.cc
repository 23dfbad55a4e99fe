#include "chorus/cost/calibrate/nccl_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chorus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kLog[] = R"(# nccl-tests version 2.13.13
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   1000 on     left device  0 [0x07] NVIDIA A100
#  Rank  1 Group  0 Pid   1001 on     left device  1 [0x0f] NVIDIA A100
#  Rank  2 Group  0 Pid   1002 on    right device  0 [0x07] NVIDIA A100
#  Rank  3 Group  0 Pid   1003 on    right device  1 [0x0f] NVIDIA A100
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float    none      -1     5.20    0.00    0.00      0     5.10    0.00    0.00      0
     1048576         65536     float    none      -1    101.9   10.29    7.72      0    100.1   10.48    7.86      0
     2097152        131072     float    none      -1    150.5   13.93   10.45      0    149.9   13.99   10.49    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 9.13
)";

Result<MeasurementLog> Parsed(std::string_view text, const LogDefaults& defaults = {}) {
  return ParseNcclTestsLog(text, "my.log", defaults);
}

TEST(NcclTestsLogTest, RowsRanksAndHosts) {
  const Result<MeasurementLog> found = Parsed(kLog);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_THAT(found->measurements(),
              ElementsAre(Measurement{"all_gather", 4, 2, 1048576, 101.9e-6, "", "my.log", 2},
                          Measurement{"all_gather", 4, 2, 2097152, 150.5e-6, "", "my.log", 2}));
  EXPECT_THAT(found->Remarks(), ElementsAre("left out: my.log:14: it has no bytes"));
}

// The last column of chorus bench; of other logs, what is given.
TEST(NcclTestsLogTest, AlgorithmsAreThoseOfTheRow) {
  const std::string head =
      "# Collective test starting: all_gather\n"
      "#  Rank  0 Group  0 Pid  1 on  localhost device  0 [core] CPU\n"
      "#  Rank  1 Group  0 Pid  2 on  localhost device  1 [core] CPU\n"
      "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong of algorithm\n";
  const std::string row = "1024 128 float none -1 1.56 0.66 0.33 0 0.48 2.14 1.07 0 0.02";
  const auto algorithm = [](const Result<MeasurementLog>& log) {
    return log->measurements().at(0).algorithm;
  };
  EXPECT_EQ(algorithm(Parsed(head + row + "  direct\n")), "direct");
  EXPECT_EQ(algorithm(Parsed(head + row + "\n")), "");
  LogDefaults d;
  d.algorithm = "ring";
  EXPECT_EQ(algorithm(Parsed(head + row + "\n", d)), "ring");
  EXPECT_THAT(Parsed(head + row + "  direct\n", d).status().message(),
              HasSubstr("the log says direct, but --algorithm ring is given"));
}

TEST(NcclTestsLogTest, HostsAreFilledOneAfterAnother) {
  const auto on = [](const std::vector<std::string>& hosts) {
    std::string text = "# Collective test starting: all_gather_perf\n";
    for (const std::string& host : hosts) {
      text += "#  Rank  0 Group  0 Pid  1 on  " + host + " device  0 [0x07] NVIDIA A100\n";
    }
    return Parsed(text + "1024 128 float none -1 1.56 0.66 0.33 0 0.48 2.14 1.07 0\n");
  };
  EXPECT_EQ(on({"a", "a", "b"})->measurements().at(0).in_a_node, 2);
  EXPECT_EQ(on({"b", "a", "a", "b"})->measurements().at(0).nodes, 2);
  EXPECT_EQ(on({"a", "a", "a"})->measurements().at(0).in_a_node, 0);  // one host says nothing
  EXPECT_EQ(on({"a", "a", "a", "b", "c"}).status().message(),
            "my.log:7: its 5 ranks lie 3 + 1 + 1 on 3 hosts, but nodes are filled one after "
            "another; measure with as many on each");
}

// Releases before 2.8 have no root, and an error where later ones count wrong elements.
TEST(NcclTestsLogTest, TheHeadSaysWhereTheTimeIs) {
  LogDefaults d;
  d.op = "all_reduce";
  d.ranks = 8;
  const Result<MeasurementLog> found = Parsed(
      "#       size         count    type   redop     time   algbw   busbw  error     time\n"
      "           8             2   float     sum    20.26    0.00    0.00  5e-07    20.40\n",
      d);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_THAT(found->measurements(),
              ElementsAre(Measurement{"all_reduce", 8, 1, 8, 20.26e-6, "", "my.log"}));
}

TEST(NcclTestsLogTest, RootsAreThoseOfTheRow) {
  LogDefaults d;
  d.op = "reduce";
  d.ranks = 8;
  const auto log = Parsed("8 2 float sum 5 20.26 0 0 0\n8 2 float sum 5.5 20.26 0 0 0\n", d);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  ASSERT_EQ(log->measurements().size(), 1U);
  EXPECT_EQ(log->measurements()[0].root, 5);
  EXPECT_THAT(log->Remarks(), ElementsAre("left out: my.log:2: its root is no whole number"));
}

TEST(NcclTestsLogTest, WhatTheLogDoesNotSayIsGiven) {
  const char* row = "  8  2  float  sum  -1  20.26  0.00  0.00  0  20.4 0.00 0.00 0\n";
  LogDefaults d;
  EXPECT_THAT(Parsed(row, d).status().message(),
              HasSubstr("my.log:1: the log does not say of which operation it is; add --op"));
  d.op = "all_reduce";
  EXPECT_THAT(Parsed(row, d).status().message(), HasSubstr("how many ranks ran; add --ranks 8"));
  d.ranks = 8;
  EXPECT_THAT(Parsed(row, d)->measurements(),
              ElementsAre(Measurement{"all_reduce", 8, 1, 8, 20.26e-6, "", "my.log"}));
}

// A name for the operation would not make it one that is predicted.
TEST(NcclTestsLogTest, AProgramWithoutAnOperationIsRefused) {
  const std::string row = "  8  2  float  sum  -1  20.26  0.00  0.00  0  20.4 0.00 0.00 0\n";
  for (const char* op : {"", "all_reduce"}) {
    for (const std::string program : {"sendrecv", "hypercube"}) {
      const LogDefaults d = {op, 2, 0};
      EXPECT_EQ(
          Parsed("# Collective test starting: " + program + "_perf\n" + row, d).status().message(),
          "my.log:2: the log is of " + program + ", which Chorus does not predict; leave it out");
    }
  }
}

TEST(NcclTestsLogTest, WhatIsGivenMustBeWhatTheLogSays) {
  const auto why = [](const LogDefaults& d) {
    return std::string(Parsed(kLog, d).status().message());
  };
  EXPECT_EQ(why({"", 8, 0}),
            "my.log:14: the log says 4 ranks, but --ranks 8 is given; leave it out, or read this "
            "log for itself");
  EXPECT_THAT(why({"all_reduce", 0, 0}), HasSubstr("the log says all_gather, but --op all_reduce"));
  EXPECT_THAT(why({"", 0, 4}), HasSubstr("the log says 2 nodes, but --nodes 4"));
  EXPECT_TRUE(Parsed(kLog, {"all_gather", 4, 2}).ok());
}

TEST(NcclTestsLogTest, RowsThatCannotBeReadSayTheLine) {
  LogDefaults d;
  d.op = "all_reduce";
  d.ranks = 2;
  const auto why = [&](const std::string& row) {
    const Result<MeasurementLog> log = Parsed("hello\n" + row + "\n", d);
    EXPECT_TRUE(log.ok() && log->measurements().empty()) << row;
    return log->Remarks().empty() ? "" : log->Remarks()[0];
  };
  EXPECT_EQ(why("8 2 float sum -1"),
            "left out: my.log:2: it is cut off: a row has size, count, type, redop, root, time, "
            "algbw, ...");
  EXPECT_EQ(why("8x 2 float sum -1 3 1 1 0"), "left out: my.log:2: its first word is no size");
  EXPECT_EQ(why("8 2 float sum -1 fast 1 1"), "left out: my.log:2: its time is no number");
  EXPECT_EQ(why("8 2 float sum -1 nan 1 1 0"),
            "left out: my.log:2: its time is none from 1e-06 to 1e+15 us");
  EXPECT_EQ(why("8 2 float sum -1 3.5 1 1 7"),
            "left out: my.log:2: its result is wrong (#wrong is not 0)");
  EXPECT_EQ(why("8 2 float sum -1 3.5 1 1 x"), "left out: my.log:2: its #wrong is no number");
  EXPECT_EQ(why("1e30 2 float sum -1 3.5 1 1 0"),
            "left out: my.log:2: its size is no whole number of bytes up to 4611686018427387904");
  EXPECT_EQ(why("-8 2 float sum -1 3.5 1 1 0"),
            "left out: my.log:2: its size is no whole number of bytes up to 4611686018427387904");
  EXPECT_EQ(why("-- what programs print"), "");
  EXPECT_EQ(why("what programs print"), "");
}

}  // namespace
}  // namespace chorus
