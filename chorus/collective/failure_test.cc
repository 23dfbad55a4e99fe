// Ranks that are late, leave, throw or give up: an error on every rank that waits for them, with
// the names in it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class FailureTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, FailureTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(FailureTest, TheLongestTimeoutIsForever) {
  const auto errors = Errors(
      2, GetParam(),
      [](Group& group) -> Status {
        // Long enough that rank 1 looks at the clock.
        if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CHORUS_RETURN_IF_ERROR(group.Barrier());
        if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return group.BarrierAsync().Wait(std::chrono::milliseconds::max());
      },
      Patient(std::chrono::milliseconds::max()));
  EXPECT_THAT(errors, testing::Each("ok"));
}

TEST_P(FailureTest, AnExceptionIsTheErrorOfItsRank) {
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    if (group.rank() == 1) throw std::runtime_error("no such file");
    return group.Barrier();
  });
  EXPECT_THAT(errors[1], HasSubstr("an exception was thrown: no such file"));
  for (const int other : {0, 2}) EXPECT_THAT(errors[other], HasSubstr("has left the group"));
}

TEST_P(FailureTest, FewerRanksThanOneAreRefused) {
  for (const int n : {0, -1}) {
    const Status status = RunRanks(n, GetParam(), [](Group&) { return OkStatus(); });
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("at least 1 is needed"));
  }
}

TEST_P(FailureTest, ARankThatLeavesIsNamed) {
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    if (group.rank() == 2) return OkStatus();
    return group.Barrier();
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 2 has left the group"));
  EXPECT_THAT(errors[1], HasSubstr("rank 2 has left the group"));
}

TEST_P(FailureTest, TheDeadlineNamesWhoWaitsForWhom) {  // pytorch/gloo#511
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(1024, 1.0f);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    return group.AllReduce(x, ReduceOp::kSum, {std::chrono::milliseconds(200), "", nullptr});
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(
        error, HasSubstr("rank 1 waited 200 ms for rank 0 in all_reduce #2 (group world, 4096 B)"));
  }
}

TEST_P(FailureTest, AbortEndsTheWaitOfAll) {
  const auto start = Clock::now();
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    if (group.rank() == 1) {
      group.Abort("the data ran out");
      return group.Barrier();
    }
    return group.Barrier();
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(error, "aborted: rank 1 aborted group world: the data ran out");
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

// A dissemination barrier waits for one rank after another; the error is about all that are
// missing.
TEST_P(FailureTest, ABarrierNamesEveryAbsentee) {
  const auto errors = Errors(7, GetParam(), [](Group& group) -> Status {
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    if (group.rank() == 1 || group.rank() >= 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    }
    return group.Barrier({std::chrono::milliseconds(400), "", nullptr});
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("waited 400 ms for rank 1, rank 5, rank 6 in barrier #2 (group "
                                 "world, 0 B), which have not called it"));
  }
}

// Rank 0 waits for the next in the ring, which is there; the error names who holds up both.
TEST_P(FailureTest, TheDeadlineNamesWhoHasNotCalled) {
  const auto errors = Errors(4, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(64, 1.0f);
    CallOptions options{std::chrono::milliseconds(400), "ring", nullptr};
    if (group.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(900));
    return group.AllReduce(x, ReduceOp::kSum, options);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error,
                HasSubstr("in all_reduce #1 (group world, 256 B); rank 2 has not called it"));
  }
}

// Three of four raise at once; the fourth is freed, and what is reported is an error of their own.
TEST_P(FailureTest, WhoWaitsForRanksThatThrewIsFreed) {  // pytorch/pytorch#76760
  const auto start = Clock::now();
  const Status status = RunRanks(4, GetParam(), [](Group& group) -> Status {
    if (group.rank() != 2) throw std::runtime_error("the batch is empty");
    const std::vector<float> own(3);
    std::vector<float> all(12);
    return group.AllGather(own, all);
  });
  EXPECT_THAT(status.message(), HasSubstr("an exception was thrown: the batch is empty"));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace chorus
