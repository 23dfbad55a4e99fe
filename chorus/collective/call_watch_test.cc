#include "chorus/collective/call_watch_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CHORUS_CAN_WATCH 1
#else
#define CHORUS_CAN_WATCH 0
#endif

#if CHORUS_CAN_WATCH
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "chorus/collective/run_ranks.h"
#endif

namespace chorus {
namespace {

thread_local bool watching = false;
thread_local CallWatch::Seen seen_calls;

}  // namespace

std::string CallWatch::Seen::ToString() const {
  return fmt::format(
      "{} allocations, {} sleeps, {} wakes, {} yields, {} fences, {} reads, {} other system "
      "calls{}",
      allocations, sleeps, wakes, yields, fences, reads, others,
      others > 0 ? fmt::format(" (the last is number {})", other) : "");
}

CallWatch::CallWatch() {
  seen_calls = Seen();
  watching = true;
}

CallWatch::Seen CallWatch::Stop() {
  watching = false;
  return seen_calls;
}

#if CHORUS_CAN_WATCH

// The one instruction from which system calls are let through; its address is what the kernel says
// of a call, that after it.
extern "C" {
long ChorusWatchedCall(long number, long a, long b, long c, long d, long e, long f);
extern const char kChorusWatchedCallEnd[];
}
asm(R"(
.text
.globl ChorusWatchedCall
.hidden ChorusWatchedCall
.type ChorusWatchedCall, @function
ChorusWatchedCall:
  movq %rdi, %rax
  movq %rsi, %rdi
  movq %rdx, %rsi
  movq %rcx, %rdx
  movq %r8, %r10
  movq %r9, %r8
  movq 8(%rsp), %r9
  syscall
.globl kChorusWatchedCallEnd
.hidden kChorusWatchedCallEnd
kChorusWatchedCallEnd:
  ret
.size ChorusWatchedCall, . - ChorusWatchedCall
)");

namespace {

void Count(long number, long operation) {
  if (!watching) return;
  if (number == SYS_futex) {
    const long command = operation & FUTEX_CMD_MASK;
    ++(command == FUTEX_WAKE ? seen_calls.wakes : seen_calls.sleeps);
  } else if (number == SYS_sched_yield) {
    ++seen_calls.yields;
  } else if (number == SYS_membarrier) {
    ++seen_calls.fences;
  } else if (number == SYS_process_vm_readv) {
    ++seen_calls.reads;
  } else {
    ++seen_calls.others;
    seen_calls.other = number;
  }
}

void OnTrap(int /*signal*/, siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Count(registers[REG_RAX], registers[REG_RSI]);
  registers[REG_RAX] = ChorusWatchedCall(registers[REG_RAX], registers[REG_RDI], registers[REG_RSI],
                                         registers[REG_RDX], registers[REG_R10], registers[REG_R8],
                                         registers[REG_R9]);
}

}  // namespace

bool CallWatch::IsPossible() { return true; }

Status CallWatch::Install() {
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return Internal("there is no handler for SIGSYS");

  const auto gate = reinterpret_cast<std::uintptr_t>(kChorusWatchedCallEnd);
  constexpr std::uint32_t kCallLow = offsetof(seccomp_data, instruction_pointer);
  constexpr std::uint32_t kCallHigh = kCallLow + 4;
  // What must not be carried out from within a handler: its own end, the end of the thread, and
  // what another stack or a blocked SIGSYS would come of.
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCallLow),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(gate), 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kCallHigh),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(gate >> 32), 5, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    return Unsupported(fmt::format("seccomp: {}", std::strerror(errno)));
  }
  return OkStatus();
}

#else

bool CallWatch::IsPossible() { return false; }
Status CallWatch::Install() { return Unsupported("this build cannot watch its calls"); }

#endif

}  // namespace chorus

#if CHORUS_CAN_WATCH

// In front of the allocator of the C library, for the whole program.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  if (chorus::watching) ++chorus::seen_calls.allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  if (chorus::watching) ++chorus::seen_calls.allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  if (chorus::watching) ++chorus::seen_calls.allocations;
  return __libc_realloc(old, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  if (chorus::watching) ++chorus::seen_calls.allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  *result = memalign(alignment, size);
  return *result == nullptr ? ENOMEM : 0;
}
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

namespace chorus {
namespace {

TEST(CallWatchTest, CountsWhatAProcessDoes) {
  const Status status = RunRanks(1, RankKind::kProcesses, [](Group& /*group*/) {
    CHORUS_RETURN_IF_ERROR(CallWatch::Install());
    CallWatch nothing;
    CallWatch::Seen seen_then = nothing.Stop();
    if (seen_then.ToString() != CallWatch::Seen().ToString()) return Internal("of nothing");

    CallWatch watch;
    std::free(std::malloc(10));  // NOLINT
    sched_yield();
    const pid_t parent = getppid();
    std::uint32_t word = 0;
    const timespec soon{0, 1'000'000};
    const long waited = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &soon, nullptr, 0);
    const int why = errno;
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    seen_then = watch.Stop();
    if (waited != -1 || why != ETIMEDOUT) return Internal("the wait was not carried out");
    if (parent != getppid()) return Internal("getppid was not carried out");
    const CallWatch::Seen want{1, 1, 1, 1, 0, 0, 1, SYS_getppid};
    return seen_then.ToString() == want.ToString() ? OkStatus() : Internal(seen_then.ToString());
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

}  // namespace
}  // namespace chorus

#endif
