// Hosts that have little room for shared memory: open-mpi/ompi#4553, NVIDIA/nccl#290 and #525.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

constexpr int kNotAllowed = 77;

// The exit code of a child process that `life` runs in, as what it changes of itself cannot be
// changed back; -1 if a signal ended it.
int InAChild(const std::function<int()>& life) {
  const pid_t pid = fork();
  if (pid == 0) _exit(life());
  int state = 0;
  waitpid(pid, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

Status SumOf16MiB(Group& group) {
  std::vector<float> x(4 << 20, 1.0f);
  CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
  return x.front() == 3.0f && x.back() == 3.0f ? OkStatus() : Internal("a wrong sum");
}

// Our shared memory lies in no file system, so the size of /dev/shm is no limit.
TEST(SmallMemoryProcessTest, ASmallShmFileSystemIsEnough) {
  const int code = InAChild([] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
      return kNotAllowed;
    }
    return RunRanks(3, RankKind::kProcesses, SumOf16MiB).ok() ? 0 : 1;
  });
  if (code == kNotAllowed) GTEST_SKIP() << "this process may not mount a small /dev/shm";
  EXPECT_EQ(code, 0);
}

// A limit of the size of files holds for shared memory too; the kernel would end who goes beyond
// it.
TEST(SmallMemoryProcessTest, ALimitOfTheSizeOfFilesIsNamed) {
  const int code = InAChild([] {
    const rlimit small{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    const auto errors = Errors(3, RankKind::kProcesses, SumOf16MiB);
    for (const std::string& error : errors) {
      if (error.find("may make files of 1048576 bytes only; `ulimit -f unlimited` would help") ==
          std::string::npos) {
        return 1;
      }
    }
    return errors.size() == 3 ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace chorus
