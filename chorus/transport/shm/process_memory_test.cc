#include "chorus/transport/shm/process_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace chorus {
namespace {

int PidfdOf(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

TEST(ProcessMemoryTest, ReadsAnotherProcessUntilItEnds) {
  std::vector<std::uint64_t> words(10000, 7);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();  // with the same words at the same place
  }
  const int pidfd = PidfdOf(child);
  ProcessMemory memory = ProcessMemory::Of(pidfd);
  const auto address = reinterpret_cast<std::uint64_t>(words.data());
  words.assign(words.size(), 8);  // not in the child
  if (!memory.Holds(address, 7)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(pidfd);
    GTEST_SKIP() << "the kernel does not allow it here";
  }
  EXPECT_TRUE(memory.Holds(address, 9)) << "the first answer is kept";
  std::vector<std::uint64_t> read(words.size());
  const auto bytes = static_cast<std::int64_t>(words.size() * sizeof(words[0]));
  EXPECT_TRUE(memory.Read(address, read.data(), bytes).ok());
  EXPECT_EQ(read, std::vector<std::uint64_t>(words.size(), 7));
  const Status bad = memory.Read(8, read.data(), 16);
  EXPECT_EQ(bad.code(), StatusCode::kUnsupported);
  EXPECT_EQ(bad.message(), "16 bytes: Bad address");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(memory.Read(address, read.data(), 8).code(), StatusCode::kPeerLost);
  close(pidfd);
}

TEST(ProcessMemoryTest, OfNoProcessHoldsNothing) {
  std::uint64_t word = 5;
  EXPECT_FALSE(ProcessMemory().Holds(reinterpret_cast<std::uint64_t>(&word), 5));
  EXPECT_FALSE(ProcessMemory::Of(-1).Holds(reinterpret_cast<std::uint64_t>(&word), 5));
}

}  // namespace
}  // namespace chorus
