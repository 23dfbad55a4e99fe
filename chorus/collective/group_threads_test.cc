// Several threads of each rank in calls at once, and callbacks while threads wait, over threads and
// over processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using std::chrono::milliseconds;

class GroupThreadsTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, GroupThreadsTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

// Whichever thread's barrier is #k on a rank, it is the same call.
TEST_P(GroupThreadsTest, TwoThreadsThatBothBlockOnOneGroup) {
  constexpr int kCalls = 1000;
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    Status outcomes[2];
    const auto call = [&group](Status& outcome) {
      for (int i = 0; i < kCalls && outcome.ok(); ++i) outcome = group.Barrier();
    };
    std::thread other(call, std::ref(outcomes[1]));
    call(outcomes[0]);
    other.join();
    CHORUS_RETURN_IF_ERROR(outcomes[0]);
    CHORUS_RETURN_IF_ERROR(outcomes[1]);
    const auto calls = group.traffic()[OpKind::kBarrier].calls;
    return Expect(calls == 2 * kCalls, "2,000 barriers");
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Rank 1 sends only after the all_gather that rank 0's callback starts, while rank 0 receives.
TEST_P(GroupThreadsTest, CallbacksRunWhileTheThreadWaits) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(10, 1.0f);
    std::vector<float> all(20);
    Work gather;
    if (group.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(20));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
      CHORUS_RETURN_IF_ERROR(group.AllGather(x, all));
      return group.Send(x, 0);
    }
    group.AllReduceAsync(x).OnDone([&](const Status& status) {
      gather = status.ok() ? group.AllGatherAsync(x, all) : Work();
    });
    std::vector<float> got(10);
    CHORUS_RETURN_IF_ERROR(group.Recv(got, 1).status());
    CHORUS_RETURN_IF_ERROR(gather.Wait());
    return Expect(all[0] == 2 && all[19] == 2 && got[9] == 2, "sums of two ones");
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

TEST_P(GroupThreadsTest, AbortRunsTheCallbacksOfWhatItEnds) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(10);
    StatusCode seen = StatusCode::kOk;
    if (group.rank() == 1) return OkStatus();
    group.RecvAsync(x, 0).OnDone([&](const Status& status) { seen = status.code(); });
    group.Abort("enough");
    return Expect(seen == StatusCode::kAborted, "the callback has run");
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// Each callback starts the next of a chain; nobody polls anything but the call that is done.
TEST_P(GroupThreadsTest, PollingACallThatIsDoneMovesTheOthers) {
  constexpr int kLinks = 30;
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(5000, 1.0f);
    int links = 0;
    Status failed;
    std::function<void(const Status&)> next = [&](const Status& status) {
      if (!status.ok()) failed = status;
      if (!status.ok() || ++links == kLinks) return;
      group.AllReduceAsync(x, ReduceOp::kMax).OnDone(next);
    };
    Work first = group.AllReduceAsync(x, ReduceOp::kMax);
    CHORUS_RETURN_IF_ERROR(first.Wait());
    next(OkStatus());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (links < kLinks && failed.ok() && std::chrono::steady_clock::now() < end) {
      if (!first.Done()) return Internal("it was done");
    }
    CHORUS_RETURN_IF_ERROR(failed);
    return Expect(links == kLinks, "all links of the chain");
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// A receive, or a large send, that sleeps when another thread of the rank brings the other side.
TEST_P(GroupThreadsTest, AMessageToItselfWakesTheThreadThatWaitsForIt) {
  const auto errors = Errors(1, GetParam(), [](Group& group) -> Status {
    for (const std::size_t size : {std::size_t{10}, std::size_t{1} << 20}) {
      for (const bool receive_first : {true, false}) {
        std::vector<float> x(size, 3.0f);
        std::vector<float> y(size);
        Status outcomes[2];
        const auto call = [&](bool receives) {
          outcomes[receives ? 0 : 1] = receives ? group.Recv(y, 0).status() : group.Send(x, 0);
        };
        const auto begin = std::chrono::steady_clock::now();
        std::thread first(call, receive_first);
        std::this_thread::sleep_for(milliseconds(20));
        call(!receive_first);
        first.join();
        CHORUS_RETURN_IF_ERROR(outcomes[0]);
        CHORUS_RETURN_IF_ERROR(outcomes[1]);
        // The deadline, at which a thread looks again, is after 20 s.
        CHORUS_RETURN_IF_ERROR(
            Expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10), "woken"));
        CHORUS_RETURN_IF_ERROR(Expect(y[size - 1] == 3, "the message"));
      }
    }
    return OkStatus();
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

}  // namespace
}  // namespace chorus
