#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "chorus/base/process_state_test.h"
#include "chorus/base/test_path_test.h"
#include "chorus/launch/environment.h"
#include "chorus/launch/free_port.h"
#include "chorus/launch/meeting.h"
#include "chorus/launch/program.h"
#include "chorus/launch/spawn.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

TEST(EnvironmentTest, GivenNumbersNeedNoVariables) {
  EXPECT_EQ(PlaceInJob(1, 3, 29500).value(), (JobPlace{1, 3, 29500}));
  EXPECT_EQ(PlaceInJob(0, 1, std::nullopt).value(), (JobPlace{0, 1, 0}));
}

TEST(EnvironmentTest, ErrorsNameTheVariable) {
  unsetenv("RANK");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(PlaceInJob(std::nullopt, 2, 1).status().message(), HasSubstr("RANK is not set"));
  setenv("RANK", "one", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(PlaceInJob(std::nullopt, 2, 1).status().message(),
              HasSubstr("RANK='one' is not a whole number from 0"));
  setenv("RANK", "1", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(PlaceInJob(std::nullopt, 2, 1)->rank, 1);
  unsetenv("RANK");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_THAT(PlaceInJob(2, 2, 1).status().message(),
              HasSubstr("RANK is 2 but WORLD_SIZE is 2; ranks are 0 to 1"));
  EXPECT_THAT(PlaceInJob(0, 2, 70000).status().message(),
              HasSubstr("MASTER_PORT is 70000; it must be from 1 to 65535"));
}

TEST(ProgramTest, IsFoundAsAShellWould) {
  EXPECT_THAT(FindProgram("sh").value(), HasSubstr("/sh"));
  EXPECT_EQ(FindProgram("/bin/sh").value(), "/bin/sh");
  EXPECT_THAT(FindProgram("no-such-program").status().message(),
              HasSubstr("there is no program 'no-such-program' in PATH"));
  EXPECT_THAT(FindProgram("/etc/passwd").status().message(), HasSubstr("is not executable"));
  EXPECT_EQ(FindProgram("/etc").status().code(), StatusCode::kNotFound);
}

// Meet needs hellos; those of ranks that are threads here do.
Status MeetAs(int rank, int size, int port, std::chrono::milliseconds timeout,
              const std::string& job = "") {
  const auto transport = ShmTransport::Open(rank, size, 512);
  CHORUS_RETURN_IF_ERROR(transport.status());
  const auto hello = (*transport)->Hello();
  CHORUS_RETURN_IF_ERROR(hello.status());
  const auto hellos = Meet({rank, size, port, job}, *hello, timeout);
  CHORUS_RETURN_IF_ERROR(hellos.status());
  for (int peer = 0; peer < size; ++peer) {
    const ShmHello& each = (*hellos)[static_cast<std::size_t>(peer)];
    if (peer != rank && (!each.arena.valid() || each.data.world_inbox.owner != peer)) {
      return Internal(fmt::format("the hello of rank {} is wrong", peer));
    }
  }
  return OkStatus();
}

// Ranks given as {rank, size} meet at one port; the outcome of each.
std::vector<std::string> Meeting(const std::vector<std::pair<int, int>>& who,
                                 std::chrono::milliseconds timeout) {
  const int port = FreePort().value();
  std::vector<std::string> results(who.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < who.size(); ++i) {
    threads.emplace_back(
        [&, i] { results[i] = MeetAs(who[i].first, who[i].second, port, timeout).ToString(); });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(MeetingTest, AllGetEveryonesHello) {
  EXPECT_THAT(Meeting({{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}}, std::chrono::seconds(20)),
              testing::Each("ok"));
}

// A process that may have no more descriptors, or one more: the listener.
TEST(MeetingTest, TooFewDescriptorsAreNamed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizers open pipes themselves";
#endif
  for (const rlim_t more : {0, 1}) {
    const int port = FreePort().value();
    const pid_t rank_zero = fork();
    if (rank_zero == 0) {
      const auto transport = ShmTransport::Open(0, 2, 512).value();
      const auto hello = transport->Hello();
      const int next = dup(STDERR_FILENO);
      close(next);
      const rlimit few{static_cast<rlim_t>(next) + more, static_cast<rlim_t>(next) + more};
      setrlimit(RLIMIT_NOFILE, &few);
      const Status status = Meet({0, 2, port}, *hello, std::chrono::seconds(20)).status();
      const bool named = status.message().find("ulimit -n") != std::string::npos;
      _exit(status.code() == StatusCode::kResourceExhausted && named ? 0 : 1);
    }
    if (more > 0) {
      EXPECT_FALSE(MeetAs(1, 2, port, std::chrono::seconds(2)).ok());
    }
    int state = -1;
    waitpid(rank_zero, &state, 0);
    EXPECT_EQ(state, 0) << more << " more";
  }
}

TEST(MeetingTest, WhoDoesNotComeIsNamedToAll) {
  const auto results = Meeting({{0, 4}, {2, 4}}, std::chrono::milliseconds(300));
  for (const std::string& result : results) {
    EXPECT_THAT(result, HasSubstr("ranks 1, 3 of 4 did not come within 300 ms"));
  }
}

// Who comes and goes away again is waited for once more, and may come anew.
TEST(MeetingTest, WhoGivesUpMayComeAgain) {
  const int port = FreePort().value();
  Status host;
  std::thread rank_zero([&] { host = MeetAs(0, 3, port, std::chrono::seconds(20)); });
  const auto transport = ShmTransport::Open(1, 3, 512).value();
  const auto hello = transport->Hello();
  MeetingProgress progress;
  EXPECT_FALSE(progress.missing().has_value()) << "it has not begun";
  std::thread hesitates([&] {
    const auto hellos = Meet({1, 3, port}, *hello, std::chrono::seconds(20), &progress);
    EXPECT_EQ(hellos.status().code(), StatusCode::kAborted);
    EXPECT_THAT(hellos.status().message(), HasSubstr("rank 1 gave up joining"));
  });
  while (!progress.missing().has_value()) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  progress.GiveUp();
  hesitates.join();
  std::thread rank_two([&] { EXPECT_TRUE(MeetAs(2, 3, port, std::chrono::seconds(20)).ok()); });
  const Status again = MeetAs(1, 3, port, std::chrono::seconds(20));
  rank_two.join();
  rank_zero.join();
  EXPECT_TRUE(again.ok()) << again.ToString();
  EXPECT_TRUE(host.ok()) << host.ToString();
}

TEST(MeetingTest, WithoutRankZeroThePortIsNamed) {
  EXPECT_THAT(Meeting({{1, 2}}, std::chrono::milliseconds(100))[0],
              HasSubstr("is MASTER_PORT the same for all ranks?"));
}

TEST(MeetingTest, RanksThatDisagreeAreTold) {
  for (const std::string& result : Meeting({{0, 2}, {1, 3}}, std::chrono::seconds(20))) {
    EXPECT_THAT(result, HasSubstr("rank 0 joins with WORLD_SIZE 2, rank 1 with 3"));
  }
}

// NVIDIA/Megatron-LM#125: two jobs at one port. The ranks of the second hear of it, the first goes
// on waiting for its own and meets.
TEST(MeetingTest, AStrangerIsSentAwayAndTheJobMeets) {
  const int port = FreePort().value();
  Status host;
  std::thread rank_zero([&] { host = MeetAs(0, 2, port, std::chrono::seconds(20), "first"); });
  for (int k = 0; k < 3; ++k) {
    const Status stranger = MeetAs(1, 2, port, std::chrono::seconds(20), "second");
    EXPECT_EQ(stranger.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(stranger.message(), HasSubstr("another job (CHORUS_JOB=first) meets at port"));
    EXPECT_THAT(stranger.message(), HasSubstr("choose another MASTER_PORT"));
  }
  EXPECT_TRUE(MeetAs(1, 2, port, std::chrono::seconds(20), "first").ok());
  rank_zero.join();
  EXPECT_TRUE(host.ok()) << host.ToString();
}

TEST(MeetingTest, AProcessWithoutAJobsNameFitsAny) {
  const int port = FreePort().value();
  Status host;
  std::thread rank_zero([&] { host = MeetAs(0, 3, port, std::chrono::seconds(20)); });
  std::thread rank_one(
      [&] { EXPECT_TRUE(MeetAs(1, 3, port, std::chrono::seconds(20), "a").ok()); });
  EXPECT_TRUE(MeetAs(2, 3, port, std::chrono::seconds(20), "b").ok());
  rank_zero.join();
  rank_one.join();
  EXPECT_TRUE(host.ok()) << host.ToString();
}

// huggingface/accelerate#74: a job that starts where one has just ended.
TEST(MeetingTest, APortIsFreeAgainAtOnce) {
  const int port = FreePort().value();
  for (int k = 0; k < 10; ++k) {
    std::thread rank_one([&] { EXPECT_TRUE(MeetAs(1, 2, port, std::chrono::seconds(20)).ok()); });
    const Status host = MeetAs(0, 2, port, std::chrono::seconds(20), std::to_string(k));
    rank_one.join();
    EXPECT_TRUE(host.ok()) << host.ToString();
  }
}

TEST(MeetingTest, ThePortOfAnotherJobThatMeetsNowIsRefused) {
  const int port = FreePort().value();
  std::thread first([&] { EXPECT_FALSE(MeetAs(0, 2, port, std::chrono::milliseconds(500)).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(MeetAs(0, 2, port, std::chrono::seconds(20)).message(),
              HasSubstr("choose another MASTER_PORT"));
  first.join();
}

// What `script` prints and how it ends, as n ranks under /bin/sh. Output goes to a file.
struct ShellRun {
  SpawnOutcome outcome;
  std::string output;
};

ShellRun Shell(int n, const std::string& script, bool keep_going = false) {
  const std::string file = TestPath("output");
  std::ofstream(file).flush();
  const auto outcome = SpawnRanks(
      {n, {"sh", "-c", fmt::format("exec >>{} 2>&1; {}", file, script)}, false, {}, keep_going});
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  unlink(file.c_str());
  return {*outcome, text.str()};
}

TEST(SpawnTest, RanksKnowTheirPlace) {
  const ShellRun run = Shell(3, "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE");
  EXPECT_EQ(run.outcome.exit_code, 0);
  EXPECT_EQ(run.outcome.failure, "");
  for (const char* line : {"0 3 0 3\n", "1 3 1 3\n", "2 3 2 3\n"}) {
    EXPECT_THAT(run.output, HasSubstr(line));
  }
}

TEST(SpawnTest, AFailureEndsAllAndGivesItsCode) {
  const auto start = Clock::now();
  const ShellRun run = Shell(3, "if [ $RANK = 2 ]; then echo broken; exit 3; fi; sleep 60");
  EXPECT_EQ(run.outcome.exit_code, 3);
  EXPECT_EQ(run.outcome.failure, "rank 2 exited with code 3; the others were ended");
  EXPECT_EQ(run.output, "broken\n");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(20));
}

TEST(SpawnTest, ARankThatIsKilledIsTold) {
  const ShellRun run = Shell(2, "if [ $RANK = 1 ]; then kill -9 $$; fi; sleep 60");
  EXPECT_EQ(run.outcome.exit_code, 137);
  EXPECT_EQ(run.outcome.failure, "rank 1 was killed by signal 9; the others were ended");
}

// Each rank waits for the end of the one after it, so neither failure has ended the others.
TEST(SpawnTest, TheOthersGoOnIfAsked) {
  const std::string pid = TestPath("pid");
  const ShellRun run =
      Shell(3,
            fmt::format("pid={};", pid) +
                "echo $$ > $pid.$RANK.new; mv $pid.$RANK.new $pid.$RANK; "
                "if [ $RANK = 2 ]; then kill -9 $$; fi; next=$pid.$((RANK + 1)); "
                "until [ -e $next ]; do sleep 0.01; done; "
                "until grep -q ') Z ' /proc/$(cat $next)/stat; do sleep 0.01; done; "
                "if [ $RANK = 1 ]; then exit 3; fi; echo done",
            true);
  for (const char* rank : {"0", "1", "2"}) unlink((pid + "." + rank).c_str());
  EXPECT_EQ(run.outcome.exit_code, 137);
  EXPECT_EQ(run.outcome.failure,
            "rank 2 was killed by signal 9; rank 1 exited with code 3; "
            "1 of 3 ranks ended with code 0");
  EXPECT_EQ(run.output, "done\n");
}

TEST(SpawnTest, WhoDoesNotListenIsMadeToEnd) {
  const ShellRun run = Shell(2,
                             "trap '' TERM; if [ $RANK = 1 ]; then sleep 0.3; exit 4; fi; "
                             "while true; do sleep 1; done");
  EXPECT_EQ(run.outcome.exit_code, 4);
}

// The ranks' own children hold the file open; none may be alive afterwards.
TEST(SpawnTest, NothingIsLeftBehind) {
  const ShellRun run = Shell(2, "sleep 100 & echo $!; [ $RANK = 0 ]");
  EXPECT_EQ(run.outcome.exit_code, 1);
  std::istringstream pids(run.output);
  int count = 0;
  for (pid_t pid = 0; pids >> pid; ++count) {
    // Killed; init or whoever has to may still be about to take note of it.
    bool gone = false;
    for (int i = 0; i < 100 && !gone; ++i) {
      const char state = ProcessState(pid);
      gone = state == '\0' || state == 'Z';
      if (!gone) usleep(50'000);
    }
    EXPECT_TRUE(gone) << "process " << pid;
  }
  EXPECT_GE(count, 1);
}

TEST(SpawnTest, BadInput) {
  EXPECT_EQ(SpawnRanks({0, {"sh"}, false, {}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SpawnRanks({2, {}, false, {}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SpawnRanks({2, {"no-such"}, false, {}}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace chorus
