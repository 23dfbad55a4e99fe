// Ranks that die, stop or fork: named within a second by those who need them, and nothing is left.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "chorus/collective/ranks_test.h"
#include "chorus/launch/free_port.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Outcomes = std::vector<Result<std::string>>;

TEST(DeathTest, AKilledRankIsNamedWithinASecondAndLeavesNothing) {
  const std::size_t descriptors = Entries("/proc/self/fd");
  const std::size_t segments = Entries("/dev/shm");
  JoinOptions options = Patient();
  options.channel_bytes = 4096;
  const Outcomes outcomes = OutcomeOfRanks(
      4, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        std::vector<float> x(100000, 1.0f);
        for (int k = 0; k < 3; ++k) CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
        // In the middle of an operation: it starts before the others, so that it cannot have ended,
        // and dies when they have sent it what fits.
        if (group.rank() == 2) {
          const Work work = group.AllReduceAsync(x);
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
          kill(getpid(), SIGKILL);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const auto start = Clock::now();
        const Status status = group.AllReduce(x);
        const auto took = Clock::now() - start;
        if (took > std::chrono::seconds(1)) return Internal("it took longer than a second");
        return status.ToString();
      },
      options);
  EXPECT_EQ(outcomes[2].status().message(), "rank 2 was killed by signal 9");
  for (const int rank : {0, 1, 3}) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_THAT(*outcomes[rank], HasSubstr("peer lost: rank 2 was lost"));
    EXPECT_THAT(*outcomes[rank], HasSubstr("all_reduce #4 (group world, 400000 B)"));
  }
  EXPECT_EQ(Entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(Entries("/dev/shm"), segments);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

TEST(DeathTest, RanksOfProcessesEndWithWhoWaitsForThem) {
  int ends[2];  // that the ranks have: at an end once none is left
  ASSERT_EQ(pipe(ends), 0);
  const pid_t waits = fork();
  if (waits == 0) {
    close(ends[0]);
    OutcomeOfRanks(
        2, RankKind::kProcesses,
        [&ends](Group&) -> Result<std::string> {
          if (write(ends[1], "x", 1) != 1) return Internal("write");
          std::this_thread::sleep_for(std::chrono::seconds(60));
          return std::string();
        },
        Patient());
    _exit(0);
  }
  close(ends[1]);
  char begun = 0;
  for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(read(ends[0], &begun, 1), 1);
  const auto start = Clock::now();
  kill(waits, SIGKILL);
  EXPECT_EQ(waitpid(waits, nullptr, 0), waits);
  EXPECT_EQ(read(ends[0], &begun, 1), 0);
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(30));
  close(ends[0]);
}

TEST(DeathTest, AGroupThatWasSplitOffNamesTheWorldRank) {
  const Outcomes outcomes = OutcomeOfRanks(
      4, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        CHORUS_ASSIGN_OR_RETURN(Group half, group.Split(group.rank() % 2, 0));
        std::vector<float> x(100000, 1.0f);
        CHORUS_RETURN_IF_ERROR(half.AllReduce(x));
        if (group.rank() == 3) kill(getpid(), SIGKILL);
        if (group.rank() != 1) return std::string("not asked");
        return half.AllReduce(x).ToString();
      },
      Patient());
  ASSERT_TRUE(outcomes[1].ok()) << outcomes[1].status().message();
  EXPECT_THAT(*outcomes[1], HasSubstr("rank 1 (world rank 3) was lost"));
}

TEST(DeathTest, AStoppedRankIsReportedAtTheDeadline) {
  const Outcomes outcomes = OutcomeOfRanks(
      3, RankKind::kProcesses,
      [](Group& group) -> Result<std::string> {
        CHORUS_RETURN_IF_ERROR(group.Barrier());
        if (group.rank() == 0) {
          // A helper wakes rank 0 again, long after the others have given up.
          const pid_t stopped = getpid();
          if (fork() == 0) {
            usleep(1'500'000);
            kill(stopped, SIGCONT);
            _exit(0);
          }
          kill(stopped, SIGSTOP);
        }
        std::vector<float> x(8, 1.0f);
        const CallOptions options{std::chrono::milliseconds(400), "", nullptr};
        return group.AllReduce(x, ReduceOp::kSum, options).ToString();
      },
      Patient());
  for (int rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
    EXPECT_THAT(*outcomes[rank], HasSubstr("waited 400 ms for rank 0 in all_reduce #2"));
  }
}

TEST(ForkTest, TheChildIsNoRank) {
  const Status status = RunRanks(
      2, RankKind::kProcesses,
      [](Group& group) -> Status {
        std::vector<float> x(8, 1.0f);
        CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
        const pid_t child = fork();
        if (child == 0) {
          const Status refused = group.AllReduce(x);
          const bool right = refused.code() == StatusCode::kAborted &&
                             refused.message().find("forked from rank") != std::string::npos;
          _exit(right ? 0 : 1);
        }
        int code = -1;
        waitpid(child, &code, 0);
        if (code != 0) return Internal("the child's call was not refused");
        return group.AllReduce(x);  // the parent is unaffected
      },
      Patient());
  EXPECT_TRUE(status.ok()) << status.message();
}

// At the moment of the fork another thread is in a call, and holds what calls lock.
TEST(ForkTest, TheChildWaitsForNoThreadOfItsParent) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own allocator may be locked at the moment of the fork";
#endif
  Group group = JoinThreads(1).value().front();
  std::atomic<bool> ended{false};
  std::thread caller([&] {
    while (!ended && group.Barrier().ok()) {
    }
  });
  for (int round = 0; round < 50; ++round) {
    Work work = group.BarrierAsync();
    const pid_t child = fork();
    if (child == 0) {
      alarm(10);
      Work mine = work;
      mine.OnDone([](const Status&) {});
      const bool silent = group.traffic().Total().calls == 0;
      const Status split = group.Split(0, 0).status();
      group.Abort("a child's word counts for nothing");
      _exit(silent && split.code() == StatusCode::kAborted ? 0 : 1);
    }
    int state = 0;
    EXPECT_EQ(waitpid(child, &state, 0), child);
    EXPECT_EQ(state, 0) << "round " << round;
    if (state != 0) break;
  }
  ended = true;
  caller.join();
}

// One rank ends, in each way there is, at each time; the others end because of it or by themselves.
TEST(DeathTest, NothingIsLeftHoweverRanksEnd) {  // open-mpi/ompi#6322, #7394, #7220
  const std::size_t descriptors = Entries("/proc/self/fd");
  const std::size_t segments = Entries("/dev/shm");
  enum Way { kInterrupt, kTerminate, kThrow, kExit, kReturn, kWays };
  enum Time { kBefore, kWithin, kAfter, kTimes };
  for (const int n : {2, 4}) {
    for (int way = 0; way < kWays; ++way) {
      for (int time = 0; time < kTimes; ++time) {
        const auto end = [way] {
          if (way == kInterrupt) kill(getpid(), SIGINT);
          if (way == kTerminate) kill(getpid(), SIGTERM);
          if (way == kThrow) throw std::runtime_error("enough");
          if (way == kExit) _exit(5);
        };
        const Outcomes outcomes = OutcomeOfRanks(
            n, RankKind::kProcesses,
            [&](Group& group) -> Result<std::string> {
              std::vector<float> x(100'000, 1.0f);
              if (group.rank() == 1 && time == kBefore) return end(), std::string();
              const Work work = group.AllReduceAsync(x);
              if (group.rank() == 1 && time == kWithin) return end(), std::string();
              const Status status = Work(work).Wait();
              if (group.rank() == 1) return end(), std::string();
              if (!status.ok()) return status;
              return std::string();
            },
            Patient());
        EXPECT_EQ(outcomes[1].ok(), way == kReturn) << way << " " << time;
        for (int rank = 0; rank < n; ++rank) {
          if (rank == 1) continue;
          EXPECT_TRUE(outcomes[rank].ok() || outcomes[rank].status().scope() == ErrorScope::kGroup)
              << outcomes[rank].status().message();
        }
        EXPECT_EQ(Entries("/proc/self/fd"), descriptors);
        EXPECT_EQ(Entries("/dev/shm"), segments);
        EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
      }
    }
  }
}

// Ctrl-C while ranks still wait for one that never comes.
TEST(DeathTest, NothingIsLeftOfRanksThatEndWhileTheyJoin) {  // open-mpi/ompi#7220
  const std::size_t segments = Entries("/dev/shm");
  JoinOptions options = Patient();
  options.size = 3;
  options.port = FreePort().value();
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    std::vector<pid_t> ranks;
    for (options.rank = 0; options.rank < 2; ++options.rank) {
      ranks.push_back(fork());
      if (ranks.back() == 0) _exit(Join(options).ok() ? 1 : 2);
    }
    usleep(50'000);
    for (const pid_t rank : ranks) kill(rank, signal);
    for (const pid_t rank : ranks) {
      int state = 0;
      EXPECT_EQ(waitpid(rank, &state, 0), rank);
      // The second may have noticed that the first has gone.
      EXPECT_TRUE(WIFSIGNALED(state) || WEXITSTATUS(state) == 2) << state;
    }
    EXPECT_EQ(Entries("/dev/shm"), segments);
  }
}

}  // namespace
}  // namespace chorus
