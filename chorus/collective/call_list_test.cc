// Calls posted together and calls started again and again, over threads and over processes.
#include "chorus/collective/call_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "chorus/collective/persistent_calls.h"
#include "chorus/collective/ranks_test.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class CallListTest : public testing::TestWithParam<RankKind> {
 protected:
  static Status Run(int n, const std::function<Status(Group&)>& function) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(30);
    return RunRanks(n, GetParam(), function, options);
  }
  static std::vector<std::string> Errors(
      int n, const std::function<Status(Group&)>& function,
      std::chrono::milliseconds timeout = std::chrono::seconds(30)) {
    return chorus::Errors(n, GetParam(), function, Patient(timeout));
  }
};
INSTANTIATE_TEST_SUITE_P(All, CallListTest,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

// Numbers whose sum depends on the order in which they are added.
std::vector<float> Uneven(int rank, std::size_t count, int seed) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(1 + rank * 37 + seed) / static_cast<float>(3 + i * 7 + 2 * rank);
  }
  return x;
}

// Packed or not, each call has the bits that it has by itself; one call is counted where they are.
TEST_P(CallListTest, PackedCallsHaveTheBitsOfSeparateOnes) {
  for (const int n : {2, 3, 5}) {
    const Status status = Run(n, [](Group& group) -> Status {
      std::vector<std::vector<float>> alone;
      std::vector<std::vector<float>> together;
      std::vector<int> counts = {1, 7, 100, 0, 3, 16};
      for (std::size_t k = 0; k < counts.size(); ++k) {
        alone.push_back(
            Uneven(group.rank(), static_cast<std::size_t>(counts[k]), static_cast<int>(k)));
        together.push_back(alone.back());
      }
      for (auto& x : alone) CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
      const Traffic before = group.traffic();
      CallList calls(group);
      for (auto& x : together) calls.AllReduce(x);
      CHORUS_RETURN_IF_ERROR(Expect(calls.size() == 6, "six calls"));
      CHORUS_RETURN_IF_ERROR(calls.Run());
      CHORUS_RETURN_IF_ERROR(Expect(calls.size() == 0, "the list is empty again"));
      for (std::size_t k = 0; k < alone.size(); ++k) {
        CHORUS_RETURN_IF_ERROR(Expect(alone[k] == together[k], fmt::format("call {}", k)));
      }
      const std::int64_t made =
          group.traffic()[OpKind::kAllReduce].calls - before[OpKind::kAllReduce].calls;
      return Expect(made == 2, fmt::format("{} operations: one packed, one empty", made));
    });
    EXPECT_TRUE(status.ok()) << n << ": " << status.ToString();
  }
}

TEST_P(CallListTest, AllKindsOfCallsInOneList) {
  const Status status = Run(3, [](Group& group) -> Status {
    const int n = group.size();
    const int r = group.rank();
    std::vector<std::int32_t> sum = {r, 1};
    std::vector<std::int32_t> low = {r + 5};
    std::vector<double> mean = {static_cast<double>(r)};
    std::vector<std::int32_t> word = {r == 1 ? 77 : 0};
    const std::vector<std::int32_t> mine = {10 * r};
    std::vector<std::int32_t> all(3);
    std::vector<std::int32_t> from_left(1);
    std::vector<std::int32_t> big_in(100000, r);
    std::vector<std::int32_t> big_out(100000);
    Received received;
    CallList calls(group);
    calls.Recv(from_left, (r + n - 1) % n, 3, &received)
        .AllReduce(sum)
        .Recv(big_out, (r + 1) % n, 4)
        .AllReduce(low, ReduceOp::kMin)
        .Send(mine, (r + 1) % n, 3)
        .Broadcast(word, 1)
        .AllGather(mine, all)
        .Barrier()
        .Send(big_in, (r + n - 1) % n, 4)
        .AllReduce(mean, ReduceOp::kAvg);
    Work work = calls.Start();
    CHORUS_RETURN_IF_ERROR(work.Wait());
    CHORUS_RETURN_IF_ERROR(Expect(sum == std::vector<std::int32_t>({3, 3}), "the sum"));
    CHORUS_RETURN_IF_ERROR(Expect(low[0] == 5 && mean[0] == 1 && word[0] == 77, "small ones"));
    CHORUS_RETURN_IF_ERROR(Expect(all == std::vector<std::int32_t>({0, 10, 20}), "all_gather"));
    CHORUS_RETURN_IF_ERROR(Expect(from_left[0] == 10 * ((r + 2) % 3), "from the left"));
    CHORUS_RETURN_IF_ERROR(Expect(received.source == (r + 2) % 3 && received.count == 1, "what"));
    return Expect(big_out[99999] == (r + 1) % 3, "the large message");
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// What a rank's part is depends on the size of the group; calls by themselves, of the same shape,
// go on as before.
TEST_P(CallListTest, CallsWithBlocksInOneList) {
  const Status status = Run(3, [](Group& group) -> Status {
    const int r = group.rank();
    const std::vector<std::int32_t> one = {r + 1};
    const std::vector<std::int32_t> three = {r, r + 10, r + 20};
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<std::int32_t> gathered(3), scattered(1), reduced(1), swapped(3);
      CallList calls(group);
      calls.Gather(one, gathered, 1)
          .Scatter(three, scattered, 2)
          .ReduceScatter(three, reduced)
          .AllToAll(three, swapped);
      if (turn == 0) {
        CHORUS_RETURN_IF_ERROR(calls.Run());
      } else {
        CHORUS_RETURN_IF_ERROR(group.Gather(one, gathered, 1));
        CHORUS_RETURN_IF_ERROR(group.Scatter(three, scattered, 2));
        CHORUS_RETURN_IF_ERROR(group.ReduceScatter(three, reduced));
        CHORUS_RETURN_IF_ERROR(group.AllToAll(three, swapped));
      }
      CHORUS_RETURN_IF_ERROR(
          Expect(r != 1 || gathered == std::vector<std::int32_t>({1, 2, 3}), "gather"));
      CHORUS_RETURN_IF_ERROR(Expect(scattered[0] == 2 + 10 * r, "scatter"));
      CHORUS_RETURN_IF_ERROR(Expect(reduced[0] == 3 + 30 * r, "reduce_scatter"));
      CHORUS_RETURN_IF_ERROR(Expect(
          swapped == std::vector<std::int32_t>({10 * r, 10 * r + 1, 10 * r + 2}), "all_to_all"));
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(CallListTest, SeveralListsInFlightAndACallback) {
  const Status status = Run(2, [](Group& group) -> Status {
    std::vector<std::vector<std::int64_t>> x(40, std::vector<std::int64_t>(1, group.rank() + 1));
    int told = 0;
    std::vector<Work> works;
    for (std::size_t k = 0; k < x.size(); k += 4) {
      CallList calls(group);
      for (std::size_t i = k; i < k + 4; ++i) calls.AllReduce(x[i]);
      works.push_back(calls.Start());
      works.back().OnDone([&](const Status& outcome) { told += outcome.ok() ? 1 : 100; });
    }
    // What a later call reads an earlier list may write.
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x[39], ReduceOp::kMax));
    for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
    for (const auto& each : x) CHORUS_RETURN_IF_ERROR(Expect(each[0] == 3, "all are 3"));
    return Expect(told == 10, fmt::format("{} callbacks", told));
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(CallListTest, AnEmptyListIsDone) {
  const Status status = Run(2, [](Group& group) -> Status {
    CallList calls(group);
    CHORUS_RETURN_IF_ERROR(Expect(calls.Start().Done(), "done"));
    return Expect(calls.Prepare().status().code() == StatusCode::kInvalidArgument, "refused");
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(CallListTest, ErrorsNameTheCallOfTheList) {
  const auto counts = Errors(3, [](Group& group) {
    std::vector<float> a(4), b(5), c(group.rank() == 2 ? 7 : 6);
    return CallList(group).AllReduce(a).AllReduce(b).AllReduce(c).Run();
  });
  EXPECT_THAT(counts, Each(HasSubstr("all_reduce #1, call 3 of 3: rank ")));
  EXPECT_THAT(counts, Each(HasSubstr("calls f32 x 6 sum")));
  EXPECT_THAT(counts, Each(HasSubstr("rank 2 calls f32 x 7 sum")));

  const auto lengths = Errors(2, [](Group& group) {
    std::vector<float> a(4), b(4), c(4);
    CallList calls(group);
    calls.AllReduce(a).AllReduce(b);
    if (group.rank() == 0) calls.AllReduce(c);
    return calls.Run();
  });
  EXPECT_THAT(lengths, Each(HasSubstr("rank 0 calls f32 x 12 sum in 3 calls, rank 1 calls f32 x 8 "
                                      "sum in 2 calls")));

  const auto later = Errors(2, [](Group& group) {
    std::vector<float> a(4);
    std::vector<double> b(4);
    return CallList(group).Broadcast(a, 0).AllReduce(b).Run();
  });
  EXPECT_THAT(later, Each(StartsWith("ok")));
}

TEST_P(CallListTest, ARefusedCallOfAListLeavesTheGroupUsable) {
  const auto errors = Errors(2, [](Group& group) -> Status {
    std::vector<float> a(4, 1), b(4, 1);
    CallList calls(group);
    calls.AllReduce(a);
    if (group.rank() == 0) {
      calls.AllReduce(b);
    } else {
      calls.AllReduce(ConstBuffer(nullptr, 4, DType::kF32), b);
    }
    Status refused = calls.Run();
    std::vector<float> x(1, 1);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    CHORUS_RETURN_IF_ERROR(Expect(x[0] == 2, "the group goes on"));
    return refused;
  });
  EXPECT_THAT(errors[0], HasSubstr("rank 1 refused its call"));
  EXPECT_THAT(errors[1], HasSubstr("call 2 of 2: all_reduce: in is null but has 4 elements"));
}

TEST_P(CallListTest, CallsThatShareMemoryAreRefused) {
  const auto errors = Errors(2, [](Group& group) {
    std::vector<float> a(4), b(4);
    Status status = CallList(group).AllReduce(a).AllReduce(a, b).Run();
    std::vector<float> x(1, 1);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    return status;
  });
  EXPECT_THAT(errors, Each(HasSubstr("calls 1 and 2 of a list use the same memory")));
}

TEST_P(CallListTest, TheDeadlineNamesTheCall) {
  const auto errors = Errors(
      2,
      [](Group& group) -> Status {
        std::vector<float> a(4), b(4);
        if (group.rank() == 1) return group.Recv(a, 0, 99).status();  // never sent
        CallList calls(group);
        calls.AllReduce(a).AllReduce(b);
        return calls.Start().Wait(std::chrono::milliseconds(100));
      },
      std::chrono::seconds(20));
  EXPECT_THAT(errors[0],
              HasSubstr("rank 0 waited 100 ms for rank 1 in all_reduce #1, calls 1 and 2 of 2"));
}

TEST_P(CallListTest, PersistentCallsAreStartedManyTimes) {
  for (const int n : {1, 2, 3}) {
    const Status status = Run(n, [n](Group& group) -> Status {
      std::vector<std::int32_t> x(1000);
      CHORUS_ASSIGN_OR_RETURN(SymmetricArray<std::int32_t> y, group.Allocate<std::int32_t>(2000));
      CHORUS_ASSIGN_OR_RETURN(PersistentCalls one, CallList(group).AllReduce(x).Prepare());
      CHORUS_ASSIGN_OR_RETURN(PersistentCalls shared, CallList(group).AllReduce(y).Prepare());
      CHORUS_RETURN_IF_ERROR(one.Wait());  // never started
      for (int turn = 0; turn < 20; ++turn) {
        for (auto& value : x) value = turn + group.rank();
        for (auto& value : y) value = turn;
        CHORUS_RETURN_IF_ERROR(one.Run());
        CHORUS_RETURN_IF_ERROR(Expect(x[999] == n * turn + n * (n - 1) / 2, "the sum"));
        CHORUS_RETURN_IF_ERROR(shared.Start());
        std::vector<float> between(3, 1);  // other calls may come between
        CHORUS_RETURN_IF_ERROR(group.AllReduce(between));
        CHORUS_RETURN_IF_ERROR(shared.Wait());
        CHORUS_RETURN_IF_ERROR(
            Expect(y[1999] == n * turn && between[2] == static_cast<float>(n), "others"));
        CHORUS_RETURN_IF_ERROR(Expect(shared.Done(), "done"));
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << n << ": " << status.ToString();
  }
}

TEST_P(CallListTest, APersistentListOfAllKinds) {
  const Status status = Run(3, [](Group& group) -> Status {
    const int r = group.rank();
    std::vector<std::int32_t> a(1), b(2), word(1), mine(1), left(1);
    CallList calls(group);
    calls.AllReduce(a)
        .Send(mine, (r + 1) % 3)
        .AllReduce(b)
        .Recv(left, (r + 2) % 3)
        .Broadcast(word, 2);
    CHORUS_ASSIGN_OR_RETURN(PersistentCalls all, calls.Prepare());
    for (int turn = 0; turn < 5; ++turn) {
      a[0] = b[0] = b[1] = turn;
      mine[0] = 10 * turn + r;
      word[0] = r == 2 ? turn : -1;
      CHORUS_RETURN_IF_ERROR(all.Run());
      CHORUS_RETURN_IF_ERROR(Expect(a[0] == 3 * turn && b[1] == 3 * turn, "sums"));
      CHORUS_RETURN_IF_ERROR(Expect(left[0] == 10 * turn + (r + 2) % 3, "the message"));
      CHORUS_RETURN_IF_ERROR(Expect(word[0] == turn, "the word"));
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(CallListTest, WhatIsPreparedIsAgreedOn) {
  const auto errors = Errors(3, [](Group& group) -> Status {
    std::vector<float> a(4), b(group.rank() == 2 ? 9U : 8U);
    Status status = CallList(group).Broadcast(a, 0).AllReduce(b).Prepare().status();
    std::vector<float> x(1, 1);  // the group is not over
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    return status;
  });
  EXPECT_THAT(errors, Each(HasSubstr("prepare: call 2 of 2: rank 0 has all_reduce f32 x 8 sum, "
                                     "persistent, rank 2 has all_reduce f32 x 9 sum, persistent")));
  const auto refused = Errors(2, [](Group& group) -> Status {
    std::vector<float> a(4), b(group.rank() == 1 ? 5 : 4);
    Status status = CallList(group).AllReduce(a, b).Prepare().status();
    std::vector<float> x(1, 1);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    return status;
  });
  EXPECT_THAT(refused[0], HasSubstr("rank 1 refused its call"));
  EXPECT_THAT(refused[1], HasSubstr("prepare: all_reduce: out has 5 elements where 4 are needed"));
}

TEST_P(CallListTest, APersistentCallRunsOnceAtATime) {
  const Status status = Run(2, [](Group& group) -> Status {
    std::vector<float> x(8, 1);
    CHORUS_ASSIGN_OR_RETURN(PersistentCalls sum, CallList(group).AllReduce(x).Prepare());
    if (group.rank() == 0) {
      CHORUS_RETURN_IF_ERROR(sum.Start());
      CHORUS_RETURN_IF_ERROR(
          Expect(sum.Start().code() == StatusCode::kInvalidArgument, "it still runs"));
      CHORUS_RETURN_IF_ERROR(group.Send(ConstBuffer(nullptr, 0, DType::kU8), 1));
      return sum.Wait();
    }
    CHORUS_RETURN_IF_ERROR(group.Recv(MutableBuffer(nullptr, 0, DType::kU8), 0).status());
    return sum.Run();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// A persistent call and an ordinary one go different ways, so they do not match.
TEST_P(CallListTest, APersistentCallMatchesItsLikeOnly) {
  const auto errors = Errors(2, [](Group& group) -> Status {
    std::vector<float> x(8, 1);
    CHORUS_ASSIGN_OR_RETURN(PersistentCalls sum, CallList(group).AllReduce(x).Prepare());
    return group.rank() == 0 ? sum.Run() : group.AllReduce(x);
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 0 calls f32 x 8 sum, persistent, rank 1 calls f32 x 8 "
                                     "sum (group world)")));
}

TEST_P(CallListTest, APersistentCallAfterTheEndOfItsGroup) {
  const auto errors = Errors(2, [](Group& group) -> Status {
    std::vector<float> x(8, 1);
    CHORUS_ASSIGN_OR_RETURN(PersistentCalls sum, CallList(group).AllReduce(x).Prepare());
    CHORUS_RETURN_IF_ERROR(sum.Run());
    if (group.rank() == 1) group.Abort("enough");
    const Status first = sum.Run();
    const Status second = sum.Start();
    CHORUS_RETURN_IF_ERROR(Expect(first == second, "the same error again"));
    return second;
  });
  EXPECT_THAT(errors, Each(HasSubstr("rank 1 aborted group world: enough")));
}

}  // namespace
}  // namespace chorus
