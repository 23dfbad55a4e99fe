#include "chorus/apps/studio/server/bounded.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "chorus/base/test_path_test.h"

namespace chorus::studio {
namespace {

BoundedReply SleepForEver() {
  for (;;) sleep(1000);
}

TEST(AnswerWithin, GivesTheAnswerWhole) {
  const std::string body(3'000'000, 'x');
  const BoundedResult result = AnswerWithin({std::chrono::minutes(1)}, {}, [&] {
    return BoundedReply{422, body};
  });
  ASSERT_EQ(result.end, BoundedEnd::kAnswered);
  EXPECT_EQ(result.reply.status, 422);
  EXPECT_EQ(result.reply.body, body);
}

TEST(AnswerWithin, GivesUpWhatTakesTooLong) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(AnswerWithin({std::chrono::milliseconds(50)}, {}, SleepForEver).end,
            BoundedEnd::kTooLong);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(100));
}

TEST(AnswerWithin, AnAnswerThatEndsTheProcessIsNone) {
  EXPECT_EQ(AnswerWithin({std::chrono::minutes(1)}, {},
                         [] {
                           _exit(3);
                           return BoundedReply{};
                         })
                .end,
            BoundedEnd::kLost);
}

TEST(AnswerWithin, SaysWhichSignalEndedTheAnswer) {
  const BoundedResult result = AnswerWithin({std::chrono::minutes(1)}, {}, [] {
    raise(SIGKILL);
    return BoundedReply{};
  });
  EXPECT_EQ(result.end, BoundedEnd::kLost);
  EXPECT_EQ(result.signal, SIGKILL);
}

#if !defined(__SANITIZE_ADDRESS__)  // which ends the child itself when there is no memory
TEST(AnswerWithin, SaysThatAnAnswerWantsTooMuchMemory) {
  const auto wants = [](std::size_t bytes) {
    return AnswerWithin({std::chrono::minutes(1), std::int64_t{64} << 20}, {},
                        [bytes] {
                          const std::string held(bytes, 'x');
                          return BoundedReply{200, std::string(1, held.back())};
                        })
        .end;
  };
  EXPECT_EQ(wants(std::size_t{16} << 20), BoundedEnd::kAnswered);
  EXPECT_EQ(wants(std::size_t{80} << 20), BoundedEnd::kTooLarge);
  // This process may have what it likes.
  EXPECT_EQ(std::string(std::size_t{80} << 20, 'x').back(), 'x');
}
#endif

TEST(AnswerWithin, TheChildEndsWithTheProcessThatAsks) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // what it leaves behind comes here
  const std::string file = TestPath("studio_bounded_pid");
  std::filesystem::remove(file);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AnswerWithin({std::chrono::hours(1)}, {}, [&] {
      std::ofstream(file + ".new") << getpid();
      std::filesystem::rename(file + ".new", file);
      return SleepForEver();
    });
    _exit(0);
  }
  while (!std::filesystem::exists(file)) usleep(1000);
  pid_t grandchild = 0;
  std::ifstream(file) >> grandchild;
  ASSERT_GT(grandchild, 0);
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  int status = 0;
  ASSERT_EQ(waitpid(grandchild, &status, 0), grandchild);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST(AnswerWithin, EndsWhenItsWatchSaysSo) {
  int stop[2], connection[2];
  ASSERT_EQ(pipe2(stop, O_CLOEXEC), 0);
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection), 0);
  const BoundedWatch watch{stop[0], connection[0]};
  EXPECT_FALSE(GivesUp(watch));
  std::thread leaves([&] {
    usleep(20'000);
    close(connection[1]);
  });
  EXPECT_EQ(AnswerWithin({std::chrono::hours(1)}, watch, SleepForEver).end, BoundedEnd::kGivenUp);
  leaves.join();
  EXPECT_TRUE(GivesUp(watch));
  ASSERT_EQ(write(stop[1], "x", 1), 1);
  EXPECT_TRUE(GivesUp({stop[0], -1}));
  EXPECT_EQ(AnswerWithin({std::chrono::hours(1)}, {stop[0], -1}, SleepForEver).end,
            BoundedEnd::kGivenUp);
  for (const int fd : {stop[0], stop[1], connection[0]}) close(fd);
}

TEST(AnswerWithin, TheChildHoldsNoConnection) {
  int connection[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection), 0);
  const BoundedResult result = AnswerWithin({std::chrono::minutes(1)}, {}, [&] {
    return BoundedReply{fcntl(connection[1], F_GETFD) < 0 ? 1 : 2, ""};
  });
  EXPECT_EQ(result.reply.status, 1);
  for (const int fd : connection) close(fd);
}

}  // namespace
}  // namespace chorus::studio
