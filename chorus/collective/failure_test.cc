// What happens when ranks disagree, refuse, are late, leave or die: an error on every rank that
// needs what does not come, soon, and with the names in it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;
using Outcomes = std::vector<Result<std::string>>;

constexpr RankKind kKinds[] = {RankKind::kThreads, RankKind::kProcesses};

JoinOptions Patient(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  JoinOptions options;
  options.timeout = timeout;
  return options;
}

// Runs `function` and gives back each rank's error, or "ok".
std::vector<std::string> Errors(int n, RankKind kind, const std::function<Status(Group&)>& function,
                                const JoinOptions& options = Patient()) {
  const Outcomes outcomes = OutcomeOfRanks(
      n, kind,
      [&](Group& group) -> Result<std::string> {
        Status status = function(group);
        if (!status.ok()) return status;
        return std::string();
      },
      options);
  std::vector<std::string> errors;
  for (const auto& outcome : outcomes) errors.push_back(outcome.status().ToString());
  return errors;
}

class FailureTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, FailureTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(FailureTest, CountsThatDifferAreShownOnAllRanks) {  // NVIDIA/nccl#1417
  const auto errors = Errors(3, GetParam(), [](Group& group) {
    std::vector<float> x(group.rank() == 2 ? 8 : 10, 1.0f);
    return group.AllReduce(x);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("all_reduce #1: rank "));
    EXPECT_THAT(error, HasSubstr("calls f32 x 10 sum"));
    EXPECT_THAT(error, HasSubstr("rank 2 calls f32 x 8 sum"));
  }
}

TEST_P(FailureTest, OperationsThatDifferAreNamed) {  // pytorch/gloo#456
  const auto errors = Errors(2, GetParam(), [](Group& group) {
    std::vector<double> x(4, 1.0);
    return group.rank() == 0 ? group.AllReduce(x) : group.Broadcast(x, 0);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("operation #1: rank 0 calls all_reduce f64 x 4 sum, "
                                 "rank 1 calls broadcast f64 x 4 from root 0"));
  }
}

// A split exchanges two numbers a rank; who gathers as many does not take part in it.
TEST_P(FailureTest, ASplitMatchesNothingButASplit) {  // pytorch/pytorch#46181
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    if (group.rank() == 0) return group.Split(0, 0).status();
    const std::vector<std::int64_t> in = {0, 0};
    std::vector<std::int64_t> out(4);
    return group.AllGather(in, out);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("operation #1: rank 0 calls split, rank 1 calls all_gather i64"));
  }
}

TEST_P(FailureTest, DtypesReductionsAndRootsMustAgree) {
  for (int way = 0; way < 3; ++way) {
    const auto errors = Errors(3, GetParam(), [way](Group& group) {
      const bool odd = group.rank() == 1;
      std::vector<float> x(6, 1.0f);
      std::vector<std::int32_t> y(6, 1);
      if (way == 0) return odd ? group.AllReduce(y) : group.AllReduce(x);
      if (way == 1) return group.AllReduce(x, odd ? ReduceOp::kMax : ReduceOp::kMin);
      // Each root sends and goes on; who finds what it did not ask for notices in the next call.
      CHORUS_RETURN_IF_ERROR(group.Broadcast(x, odd ? 1 : 0));
      return group.AllReduce(x);
    });
    int mismatches = 0;
    for (const std::string& error : errors) {
      mismatches += error.find("mismatch: ") == 0 ? 1 : 0;
    }
    EXPECT_GE(mismatches, 2) << way << ": " << testing::PrintToString(errors);
  }
}

TEST_P(FailureTest, ARefusedCallIsAnErrorEverywhereAndTheGroupGoesOn) {
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(5, static_cast<float>(group.rank() + 1));
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    // #2: rank 1 gives no memory.
    const bool bad = group.rank() == 1;
    const Status second =
        bad ? group.AllReduce(MutableBuffer(nullptr, 5, DType::kF32)) : group.AllReduce(x);
    if (second.code() != StatusCode::kInvalidArgument) return Internal(second.ToString());
    const char* const text =
        bad ? "in is null but has 5 elements (refused, as all_reduce #2 of group world)"
            : "rank 1 refused its call";
    if (second.message().find(text) == std::string::npos) return Internal(second.message());
    // #3 .. #30 are as ever.
    for (int k = 0; k < 28; ++k) {
      std::vector<float> y(300, static_cast<float>(group.rank() + 1));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(y));
      if (y[299] != 6.0f) return Internal(fmt::format("#{}: {} is not 6", k + 3, y[299]));
    }
    return OkStatus();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// The refused call's peers have streamed half a message when they learn of it.
TEST_P(FailureTest, ARefusedCallAmongLongMessages) {
  JoinOptions options = Patient();
  options.channel_bytes = 512;
  const auto errors = Errors(
      4, GetParam(),
      [](Group& group) -> Status {
        std::vector<double> x(5000, 1.0);
        for (int k = 0; k < 6; ++k) {
          const int bad = k % 4;
          const Status status = group.rank() == bad
                                    ? group.AllReduce(MutableBuffer(x.data(), -1, DType::kF64))
                                    : group.AllReduce(x);
          if (status.code() != StatusCode::kInvalidArgument) return Internal(status.ToString());
          std::vector<double> y(3000, 1.0);
          CHORUS_RETURN_IF_ERROR(group.AllReduce(y));
          if (y[0] != 4.0 || y[2999] != 4.0) return Internal(fmt::format("{} {}", y[0], y[2999]));
        }
        return OkStatus();
      },
      options);
  EXPECT_THAT(errors, testing::Each("ok"));
}

TEST_P(FailureTest, LocalFaultsAreRefusedBeforeAnythingIsSent) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(4);
    std::vector<float> y(4);
    std::vector<std::int32_t> z(4);
    const std::pair<Status, const char*> cases[] = {
        {group.AllReduce(x, z), "all_reduce: in is f32, out is i32"},
        {group.AllReduce(x, MutableBuffer(y.data(), 3, DType::kF32)),
         "out has 3 elements where 4 are needed"},
        {group.Broadcast(x, 2), "root 2 is not a rank of a group of 2"},
        {group.Broadcast(x, -1), "root -1"},
        {group.AllGather(x, y), "out has 4 elements where 8 are needed, ranks times `in`"},
        {group.AllGatherV(x, y, {4}), "all_gather_v: 1 counts are given for 2 ranks"},
        {group.ReduceScatterV(x, y, {5, -1}), "the count of rank 1 is -1"},
        {group.AllReduce(ConstBuffer(x.data(), 3, DType::kF32),
                         MutableBuffer(x.data() + 1, 3, DType::kF32)),
         "`in` and `out` overlap but are not the same"},
        {group.AllReduce(x, ReduceOp::kSum, {{}, "rings", nullptr}), "rings"},
        {group.AllReduce(MutableBuffer(x.data(), 4, DType::kBool), ReduceOp::kAvg),
         "bools have no average"},
        {group.Gather(x, MutableBuffer(y.data(), 4, DType::kF32), group.rank()),
         "gather: out has 4 elements where 8 are needed, ranks times `in`"},
        {group.Gather(x, y, 2), "gather: root 2 is not a rank of a group of 2"},
        {group.GatherV(x, y, {4}, group.rank()), "gather_v: 1 counts are given for 2 ranks"},
        {group.Scatter(x, y, group.rank()),
         "scatter: in has 4 elements where 8 are needed, ranks times `out`"},
        {group.ScatterV(x, y, {-4, 8}, group.rank()), "scatter_v: the count of rank 0 is -4"},
        {group.AllToAll(MutableBuffer(x.data(), 3, DType::kF32), y),
         "all_to_all: in has 3 elements, which 2 ranks cannot share evenly; all_to_all_v takes "
         "counts"},
        {group.AllToAllV(x, y, {1, 2}, {1, 2}),
         "all_to_all_v: in has 4 elements where 3 are needed, the sum of all send counts"},
        {group.AllToAllV(x, y, {2, 2}, {2, -1}), "the recv count of rank 1 is -1"},
        {group.AllToAllV(x, y, {2, 2}, {2}), "1 recv counts are given for 2 ranks"},
        {group.AllToAllV(x, y, {1, 3}, {3, 1}),
         group.rank() == 0 ? "rank 0 sends itself 1 elements and expects 3"
                           : "rank 1 sends itself 3 elements and expects 1"},
        {group.Scan(x, y, ReduceOp::kAvg), "scan: there is no average over the ranks up to one"},
        {group.Scan(x, MutableBuffer(y.data(), 3, DType::kF32)),
         "out has 3 elements where 4 are needed"},
    };
    for (const auto& [status, text] : cases) {
      if (status.scope() != ErrorScope::kCall || status.message().find(text) == std::string::npos) {
        return Internal(fmt::format("'{}' instead of '{}'", status.ToString(), text));
      }
    }
    if (group.traffic().Total().bytes_sent != 0) return Internal("bytes were sent");
    return group.Barrier();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Rank 0 sends 2 elements to rank 1, which expects 3; the others agree, and rank 2 has no part in
// it. Rank 0 and rank 2 could be gone when rank 1 finds out.
TEST_P(FailureTest, CountsOfAllToAllThatDisagreeNameThePairOnAllRanks) {  // pytorch/pytorch#101380
  const auto start = Clock::now();
  const auto errors = Errors(3, GetParam(), [](Group& group) {
    const int r = group.rank();
    std::vector<float> x(6, static_cast<float>(r));
    std::vector<float> y(r == 1 ? 7 : 6);
    const std::vector<std::int64_t> send = {2, 2, 2};
    const std::vector<std::int64_t> recv = {r == 1 ? 3 : 2, 2, 2};
    return group.AllToAllV(x, y, send, recv);
  });
  for (const std::string& error : errors) {
    EXPECT_EQ(
        error,
        "mismatch: all_to_all_v #1: rank 0 sends 2 elements to rank 1, which expects 3 (group "
        "world)");
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

// A list that is wrong by itself is refused before anything is sent, and the group goes on.
TEST_P(FailureTest, AListOfCountsThatCannotBeIsRefused) {  // pytorch/pytorch#117486
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(6);
    std::vector<float> y(6);
    const std::vector<std::int64_t> good = {2, 2, 2};
    for (const std::vector<std::int64_t>& bad :
         {std::vector<std::int64_t>{2, 2, 1}, {-1, 2, 5}, {}}) {
      const Status status = group.AllToAllV(x, y, group.rank() == 1 ? bad : good, good);
      if (status.code() != StatusCode::kInvalidArgument) return Internal(status.ToString());
    }
    return group.AllToAllV(x, y, good, good);
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Who receives something of another size names both; who only sends hears of it in the next call.
TEST_P(FailureTest, CountsOfGatherAndScatterThatDisagreeNameThePair) {
  for (const bool gathers : {true, false}) {
    const auto errors = Errors(3, GetParam(), [gathers](Group& group) -> Status {
      const std::vector<std::int64_t> counts = {2, 2, 2};
      std::vector<float> all(6);
      std::vector<float> own(group.rank() == 2 ? 3 : 2);
      CHORUS_RETURN_IF_ERROR(gathers ? group.GatherV(own, all, counts, 0)
                                     : group.ScatterV(all, own, counts, 0));
      return group.Barrier();
    });
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr(gathers ? "gather_v #1: rank 2 sends 3 elements to rank 0, "
                                             "which expects 2 (group world)"
                                           : "scatter_v #1: rank 0 sends 2 elements to rank 2, "
                                             "which expects 3 (group world)"));
    }
  }
}

TEST_P(FailureTest, AnAlgorithmThatPassesBlocksOnIsNoneForPrivateCounts) {
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    // Rank 1 passes to the root what rank 2 has.
    const Schedule chain = Schedule::Parse(R"(
schedule chain gather
  blocks N
  owns r
  tmp 1
begin
  c: copy out[r] = in[r] if r == root
  a: send in[r] to root as 0 if r == 1
  b: send in[r] to 1 as 0 if r == 2
  p: recv tmp[0 : 2] from 2 as 0 if r == 1
  q: send tmp[0 : 2] to root as 1 after p if r == 1
  v: recv out[1] from 1 as 0 if r == root
  w: recv out[2] from 1 as 1 if r == root
end)")
                               .value();
    CallOptions options;
    options.schedule = &chain;
    std::vector<float> all(6);
    std::vector<float> own(2, static_cast<float>(group.rank()));
    CHORUS_RETURN_IF_ERROR(group.Gather(own, all, 0, options));
    if (group.rank() == 0 && all[5] != 2.0f) return Internal("a wrong result");
    const Status status = group.GatherV(own, all, {2, 2, 2}, 0, options);
    const char* const text =
        "gather_v: chain passes blocks through other ranks, which do not know "
        "their sizes; direct does not";
    if (status.message().find(text) == std::string::npos) return Internal(status.ToString());
    return group.Barrier();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

TEST_P(FailureTest, SizesThatWrapAroundAreRefused) {
  const auto errors = Errors(3, GetParam(), [](Group& group) -> Status {
    constexpr std::int64_t kHuge = INT64_MAX / 2;  // 3 times this is below 0 in 64 bits
    char byte = 0;
    const ConstBuffer in(&byte, kHuge, DType::kI8);
    const MutableBuffer out(&byte, kHuge + 1, DType::kI8);
    for (const Status& status : {group.AllGather(in, out), group.ReduceScatter(in, out)}) {
      if (status.message().find("are more than 2^63 bytes") == std::string::npos) return status;
    }
    return group.Barrier();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Empty blocks of a longer buffer, wherever they point to.
TEST_P(FailureTest, EmptyBuffersOverlapNothing) {
  const auto errors = Errors(2, GetParam(), [](Group& group) {
    std::vector<float> all(4, static_cast<float>(group.rank() + 1));
    const bool first = group.rank() == 0;
    return group.ReduceScatterV(
        all, MutableBuffer(all.data() + (first ? 0 : 1), first ? 4 : 0, DType::kF32), {4, 0});
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

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

// Descriptors of this process, and segments of the shared-memory file system.
std::size_t Entries(const char* folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) count += entry.exists();
  return count;
}

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

}  // namespace
}  // namespace chorus
