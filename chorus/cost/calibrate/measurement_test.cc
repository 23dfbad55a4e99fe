#include "chorus/cost/calibrate/measurement.h"

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

Result<std::vector<Measurement>> Parsed(std::string_view text, const LogDefaults& defaults = {}) {
  return ParseNcclTestsLog(text, "my.log", defaults);
}

TEST(NcclTestsLogTest, RowsRanksAndHosts) {
  const Result<std::vector<Measurement>> found = Parsed(kLog);
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_THAT(*found, ElementsAre(Measurement{"all_gather", 4, 2, 1048576, 101.9e-6},
                                  Measurement{"all_gather", 4, 2, 2097152, 150.5e-6}));
}

TEST(NcclTestsLogTest, WhatTheLogDoesNotSayIsGiven) {
  const char* row = "  8  2  float  sum  -1  20.26  0.00  0.00  0  20.4 0.00 0.00 0\n";
  LogDefaults d;
  EXPECT_THAT(Parsed(row, d).status().message(),
              HasSubstr("my.log:1: the log does not say of which operation it is; add --op"));
  d.op = "all_reduce";
  EXPECT_THAT(Parsed(row, d).status().message(), HasSubstr("how many ranks ran; add --ranks 8"));
  d.ranks = 8;
  EXPECT_THAT(*Parsed(row, d), ElementsAre(Measurement{"all_reduce", 8, 1, 8, 20.26e-6}));
}

TEST(NcclTestsLogTest, BadLogsSayTheLine) {
  LogDefaults d;
  d.op = "all_reduce";
  d.ranks = 2;
  EXPECT_THAT(Parsed("", d).status().message(), HasSubstr("there is no row of measurements"));
  EXPECT_THAT(Parsed("hello\n8 2 float sum -1\n", d).status().message(),
              HasSubstr("my.log:2: this row is cut off"));
  EXPECT_THAT(Parsed("8 2 float sum -1 fast 1 1\n", d).status().message(),
              HasSubstr("my.log:1: this row is cut off"));
}

TEST(MeasurementTest, OfRepeatedOnesTheMedianCounts) {
  const auto at = [](double bytes, double seconds) {
    return Measurement{"all_reduce", 2, 1, bytes, seconds};
  };
  EXPECT_THAT(Medians({at(8, 3), at(16, 5), at(8, 90), at(8, 1), at(16, 7)}),
              ElementsAre(at(8, 3), at(16, 6)));
  EXPECT_EQ(Medians({at(8, 3), Measurement{"scan", 2, 1, 8, 4}}).size(), 2U);
  EXPECT_TRUE(Medians({}).empty());
}

TEST(NcclTestsLogTest, ProgramsNameTheirOperation) {
  EXPECT_EQ(OperationOfName("all_reduce_perf"), "all_reduce");
  EXPECT_EQ(OperationOfName("AllGather"), "all_gather");
  EXPECT_EQ(OperationOfName("alltoall_perf"), "all_to_all");
  EXPECT_EQ(OperationOfName("sendrecv_perf"), "");
}

}  // namespace
}  // namespace chorus
