// Shrink: whoever is left gets the same new group, whatever happens to whom and when.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "chorus/base/process_state_test.h"
#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Outcomes = std::vector<Result<std::string>>;
using std::chrono::milliseconds;

// Sums 2^(old rank) over `group`, small and large: which ranks really take part.
Result<std::string> Census(Group& group, int old_rank) {
  for (const std::size_t count : {1, 50'000}) {
    std::vector<std::int64_t> x(count, std::int64_t{1} << old_rank);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    if (x.front() != x.back()) return Internal("a wrong sum");
    if (count > 1) return fmt::format("rank {} of {}, sum {}", group.rank(), group.size(), x[0]);
  }
  return Internal("unreachable");
}

class ShrinkTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, ShrinkTest, testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(ShrinkTest, AfterAFailureWithoutADeathAllGoOn) {
  const Outcomes outcomes = OutcomeOfRanks(
      3, GetParam(),
      [](Group& group) -> Result<std::string> {
        std::vector<float> x(group.rank() == 2 ? 8 : 10);
        if (group.AllReduce(x).code() != StatusCode::kMismatch) return Internal("no mismatch");
        CHORUS_ASSIGN_OR_RETURN(Group rest, group.Shrink());
        if (rest.name() != "world/shrunk") return Internal(rest.name());
        return Census(rest, group.rank());
      },
      Patient());
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_EQ(*outcomes[rank], fmt::format("rank {} of 3, sum 7", rank));
  }
}

// The group of ranks that wait is ended by the one that shrinks; who has left is no survivor.
TEST_P(ShrinkTest, EndsTheGroupAndLeavesOutWhoHasLeft) {
  const Outcomes outcomes = OutcomeOfRanks(
      4, GetParam(),
      [](Group& group) -> Result<std::string> {
        // Rank 3 may come out of it, and end the group, before another has.
        static_cast<void>(group.Barrier());
        if (group.rank() == 0) return std::string("left");
        std::vector<int> survivors;
        if (group.rank() != 3) {
          const Status status = group.Barrier();
          if (status.ok()) return Internal("the barrier was done");
        }
        CHORUS_ASSIGN_OR_RETURN(Group rest, group.Shrink(milliseconds(0), &survivors));
        if (survivors != std::vector<int>{1, 2, 3}) {
          return Internal(fmt::format("survivors {}", fmt::join(survivors, ", ")));
        }
        if (group.Barrier().ok()) return Internal("the old group goes on");
        const Status again = group.Shrink().status();
        if (again.message().find("was shrunk before") == std::string::npos) return again;
        return Census(rest, group.rank());
      },
      Patient());
  for (int rank = 1; rank < 4; ++rank) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_EQ(*outcomes[rank], fmt::format("rank {} of 3, sum 14", rank - 1));
  }
}

TEST_P(ShrinkTest, AGroupThatWasSplitOffShrinksToo) {
  const Outcomes outcomes = OutcomeOfRanks(
      5, GetParam(),
      [](Group& group) -> Result<std::string> {
        CHORUS_ASSIGN_OR_RETURN(Group half, group.Split(group.rank() % 2, -group.rank()));
        CHORUS_ASSIGN_OR_RETURN(Group rest, half.Shrink());
        CHORUS_RETURN_IF_ERROR(group.Barrier());  // the world is another group
        CHORUS_ASSIGN_OR_RETURN(Group part, rest.Split(0, 0));
        return Census(part, group.rank());
      },
      Patient());
  const char* const expected[] = {"rank 2 of 3, sum 21", "rank 1 of 2, sum 10",
                                  "rank 1 of 3, sum 21", "rank 0 of 2, sum 10",
                                  "rank 0 of 3, sum 21"};
  for (int rank = 0; rank < 5; ++rank) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_EQ(*outcomes[rank], expected[rank]);
  }
}

TEST_P(ShrinkTest, WhoComesTooLateIsToldWhoWentOn) {
  const Outcomes outcomes = OutcomeOfRanks(
      3, GetParam(),
      [](Group& group) -> Result<std::string> {
        if (group.rank() == 1) std::this_thread::sleep_for(milliseconds(700));
        Result<Group> rest = group.Shrink(milliseconds(200));
        if (!rest.ok()) return rest.status();
        CHORUS_ASSIGN_OR_RETURN(std::string census, Census(*rest, group.rank()));
        // Rank 1 asks while these still live.
        std::this_thread::sleep_for(milliseconds(900));
        return census;
      },
      Patient());
  EXPECT_EQ(outcomes[1].status().ToString(),
            "deadline exceeded: shrink of group world: rank 1 came too late; ranks 0, 2 have gone "
            "on without it");
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_EQ(*outcomes[rank], fmt::format("rank {} of 2, sum 5", rank / 2));
  }
}

TEST_P(ShrinkTest, ManyRanksInAnyOrder) {
  const Outcomes outcomes = OutcomeOfRanks(
      9, GetParam(),
      [](Group& group) -> Result<std::string> {
        Group current = group;
        // Each time the last rank leaves, and the others come in another order.
        for (int left = 9; left > 1; --left) {
          const int rank = current.rank();
          if (rank == left - 1) return std::string("left");
          std::this_thread::sleep_for(std::chrono::microseconds((rank * 7 + left * 3) % 5 * 100));
          CHORUS_ASSIGN_OR_RETURN(Group next, current.Shrink());
          // It may have been quicker than the one that was to leave.
          if (next.size() == left) {
            CHORUS_RETURN_IF_ERROR(next.Barrier());
            return Internal("who has not come is in the group");
          }
          current = next;
        }
        return Census(current, 0);
      },
      Patient());
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status().message();
  EXPECT_EQ(*outcomes[0], "rank 0 of 1, sum 1");
  for (int rank = 1; rank < 9; ++rank) {
    ASSERT_TRUE(outcomes[rank].ok()) << rank << ": " << outcomes[rank].status().message();
  }
}

TEST(ShrinkProcessTest, OneAfterTheOtherIsKilled) {
  const auto start = Clock::now();
  const Outcomes outcomes = OutcomeOfRanks(
      5, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        Group current = group;
        while (current.size() > 1) {
          std::vector<float> x(100'000, 1.0f);
          CHORUS_RETURN_IF_ERROR(current.AllReduce(x));
          if (current.rank() == current.size() / 2) kill(getpid(), SIGKILL);
          const Status lost = current.AllReduce(x);
          if (lost.code() != StatusCode::kPeerLost) return lost;
          const int before = current.size();
          CHORUS_ASSIGN_OR_RETURN(current, current.Shrink());
          if (current.size() != before - 1) return Internal("a wrong size");
        }
        return Census(current, group.rank());
      },
      Patient());
  // Of 0 1 2 3 4 go 2, then 3, then 1, then 4.
  ASSERT_TRUE(outcomes[0].ok()) << outcomes[0].status().message();
  EXPECT_EQ(*outcomes[0], "rank 0 of 1, sum 1");
  for (int rank = 1; rank < 5; ++rank) {
    EXPECT_EQ(outcomes[rank].status().message(),
              fmt::format("rank {} was killed by signal 9", rank));
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

// Wakes a stopped process at the latest when its scope is left.
struct Waker {
  explicit Waker(std::int64_t sleeper) : pid(static_cast<pid_t>(sleeper)) {}
  ~Waker() { Wake(); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;
  void Wake() const { kill(pid, SIGCONT); }
  const pid_t pid;
};

// Rank 1 stops in the middle of an operation, the others go on without it; when it runs again it is
// told so and disturbs nobody.
TEST(ShrinkProcessTest, AStoppedRankIsLeftOutAndToldWhenItRunsAgain) {
  const Outcomes outcomes = OutcomeOfRanks(
      3, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        std::vector<std::int64_t> pids(3);
        const std::vector<std::int64_t> own = {getpid()};
        CHORUS_RETURN_IF_ERROR(group.AllGather(own, pids));
        std::vector<float> x(100'000, 1.0f);
        if (group.rank() == 1) {
          const Work work = group.AllReduceAsync(x);
          kill(getpid(), SIGSTOP);
          if (Work(work).Wait().ok()) return Internal("it was done");
          return group.Shrink(milliseconds(100)).status();
        }
        const Waker sleeper(pids[1]);
        while (ProcessState(sleeper.pid) != 'T') std::this_thread::sleep_for(milliseconds(1));
        const CallOptions soon{milliseconds(100), "", nullptr};
        const Status late = group.AllReduce(x, ReduceOp::kSum, soon);
        if (late.code() != StatusCode::kDeadlineExceeded) return late;
        CHORUS_ASSIGN_OR_RETURN(Group rest, group.Shrink(milliseconds(100)));
        if (rest.rank() == 0) sleeper.Wake();
        for (int k = 0; k < 20; ++k) {
          std::vector<float> y(100'000, 1.0f);
          CHORUS_RETURN_IF_ERROR(rest.AllReduce(y));
          if (y.front() != 2.0f || y.back() != 2.0f) return Internal("it was disturbed");
          std::this_thread::sleep_for(milliseconds(5));
        }
        return Census(rest, group.rank());
      },
      Patient());
  EXPECT_THAT(outcomes[1].status().message(), HasSubstr("rank 1 came too late; ranks 0, 2 have"));
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_EQ(*outcomes[rank], fmt::format("rank {} of 2, sum 5", rank / 2));
  }
}

}  // namespace
}  // namespace chorus
