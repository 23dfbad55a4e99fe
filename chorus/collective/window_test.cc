// Puts with signals over threads and over processes.
#include "chorus/collective/window.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "chorus/collective/group.h"
#include "chorus/collective/ranks_test.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using testing::HasSubstr;

class WindowTest : public testing::TestWithParam<RankKind> {
 protected:
  static void Run(int n, const std::function<Status(Group&)>& function) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(20);
    const Status status = RunRanks(n, GetParam(), function, options);
    EXPECT_TRUE(status.ok()) << status.message();
  }
};
INSTANTIATE_TEST_SUITE_P(All, WindowTest, testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

// Round after round each rank puts a block to every rank, itself included; a signal means that the
// block of that round is there.
TEST_P(WindowTest, WhoSeesTheSignalSeesTheBytes) {
  Run(3, [](Group& group) -> Status {
    constexpr std::int64_t kBlock = 1000;
    constexpr int kRounds = 50;
    const int n = group.size();
    CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<std::int32_t>(2 * n * kBlock));
    CHORUS_ASSIGN_OR_RETURN(Window window, group.OpenWindow(memory));
    CHORUS_RETURN_IF_ERROR(Expect(window.size(1) == 2 * n * kBlock, "size"));
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<std::int32_t> mine(kBlock, 100 * round + group.rank());
      // Two halves in turns: a rank is at most one round ahead of one that it has heard of.
      const std::int64_t half = kBlock * (round % 2 * n);
      for (int to = 0; to < n; ++to) {
        CHORUS_RETURN_IF_ERROR(window.Put(mine, to, half + group.rank() * kBlock));
      }
      for (int from = 0; from < n; ++from) {
        CHORUS_RETURN_IF_ERROR(window.WaitSignals(from, static_cast<std::uint64_t>(round) + 1));
        for (std::int64_t i = 0; i < kBlock; ++i) {
          const std::int32_t got = memory[half + from * kBlock + i];
          if (got != 100 * round + from) return Internal(fmt::format("round {}: {}", round, got));
        }
      }
    }
    const OpTraffic& traffic = group.traffic().point_to_point;
    CHORUS_RETURN_IF_ERROR(Expect(traffic.bytes_sent == 4 * kBlock * n * kRounds, "bytes"));
    return group.Barrier();
  });
}

TEST_P(WindowTest, MemoryMayDifferInSizeAndBeEmpty) {
  Run(3, [](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<float>(group.rank() == 2 ? 5 : 0));
    CHORUS_ASSIGN_OR_RETURN(Window window, group.OpenWindow(memory));
    CHORUS_RETURN_IF_ERROR(Expect(window.size(0) == 0 && window.size(2) == 5, "sizes"));
    if (group.rank() == 0) {
      CHORUS_RETURN_IF_ERROR(window.Put(std::vector<float>{7, 8}, 2, 3));
      CHORUS_RETURN_IF_ERROR(window.Put(std::vector<float>(), 1, 0));  // a signal alone
    } else {
      CHORUS_RETURN_IF_ERROR(window.WaitSignals(0, 1));
      CHORUS_RETURN_IF_ERROR(Expect(window.signals(0) == 1 && window.signals(1) == 0, "signals"));
      if (group.rank() == 2) {
        CHORUS_RETURN_IF_ERROR(
            Expect(memory[2] == 0 && memory[3] == 7 && memory[4] == 8, "elements"));
      }
    }
    return group.Barrier();
  });
}

TEST_P(WindowTest, WhatIsWrongIsRefusedWithNothingWritten) {
  Run(2, [](Group& group) -> Status {
    const auto refused = [](const Status& status, const std::string& text) {
      return Expect(
          status.scope() == ErrorScope::kCall && status.message().find(text) != std::string::npos,
          status.ToString());
    };
    CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<float>(4));
    CHORUS_ASSIGN_OR_RETURN(Window window, group.OpenWindow(memory));
    const std::vector<float> x(3, 1.0f);
    CHORUS_RETURN_IF_ERROR(refused(window.Put(x, 2, 0), "put: 2 is not a rank of a group of 2"));
    CHORUS_RETURN_IF_ERROR(
        refused(window.Put(x, 1, 2), "put: 3 elements at 2 are not within the 4 of rank 1"));
    CHORUS_RETURN_IF_ERROR(refused(window.Put(x, 1, -1), "put: 3 elements at -1"));
    CHORUS_RETURN_IF_ERROR(
        refused(window.Put(std::vector<int>(1), 1, 0), "put: data is i32, the window is f32"));
    CHORUS_RETURN_IF_ERROR(
        refused(window.WaitSignals(5, 1), "wait_signals: 5 is not a rank of a group of 2"));
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    return Expect(memory[0] == 0 && memory[3] == 0 && window.signals(0) == 0, "nothing written");
  });
}

TEST(WindowOfProcessesTest, OrdinaryMemoryIsRefusedOnEveryRank) {
  const auto outcomes =
      OutcomeOfRanks(2, RankKind::kProcesses, [](Group& group) -> Result<std::string> {
        std::vector<float> ordinary(4);
        CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<float>(4));
        const Result<Window> window =
            group.rank() == 0 ? group.OpenWindow(ordinary) : group.OpenWindow(memory);
        CHORUS_RETURN_IF_ERROR(group.Barrier());
        return window.status().ToString();
      });
  ASSERT_TRUE(outcomes[0].ok() && outcomes[1].ok());
  EXPECT_THAT(*outcomes[0], HasSubstr("unsupported: open_window: 16 B at this address cannot be "
                                      "reached by other ranks; memory from Group::Allocate can"));
  EXPECT_THAT(*outcomes[1], HasSubstr("open_window: rank 0 has no memory that others can reach"));
}

TEST_P(WindowTest, ASignalThatNeverComesEndsAtTheDeadline) {
  JoinOptions options;
  options.timeout = std::chrono::milliseconds(200);
  const auto outcomes = OutcomeOfRanks(
      2, GetParam(),
      [](Group& group) -> Result<std::string> {
        CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<float>(4));
        CHORUS_ASSIGN_OR_RETURN(Window window, group.OpenWindow(memory));
        const Status status = window.WaitSignals(1 - group.rank(), 3);
        return status.ToString() + " | " + window.Put(std::vector<float>{1}, 0, 0).ToString();
      },
      options);
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_THAT(*outcome, testing::ContainsRegex("deadline exceeded: rank [01] waited 200 ms for "
                                                 "rank [01] in wait for 3 signals \\(group world\\)"
                                                 ".* \\| deadline exceeded"));
  }
}

}  // namespace
}  // namespace chorus
