// The second call of a shape allocates nothing and makes no system call but those by which a rank
// sleeps, yields, or wakes one that sleeps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/call_case_test.h"
#include "chorus/collective/call_list.h"
#include "chorus/collective/call_watch_test.h"
#include "chorus/collective/group.h"
#include "chorus/collective/persistent_calls.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/collective/window.h"

namespace chorus {
namespace {

// The buffers of a rank, made before anybody counts.
struct Buffers {
  std::shared_ptr<void> memory;
  float* in = nullptr;  // (n V), as `out`
  float* out = nullptr;
  std::int64_t n = 0;
  std::int64_t share = 0;  // V, elements

  ConstBuffer one_in() const { return {in, share, DType::kF32}; }
  ConstBuffer all_in() const { return {in, n * share, DType::kF32}; }
  MutableBuffer one() const { return {out, share, DType::kF32}; }
  MutableBuffer all() const { return {out, n * share, DType::kF32}; }
};

Result<Buffers> Make(Group& group, std::int64_t share, bool is_symmetric) {
  Buffers b;
  b.n = group.size();
  b.share = share;
  const std::int64_t elements = 2 * b.n * share;
  if (is_symmetric) {
    CHORUS_ASSIGN_OR_RETURN(b.memory, group.AllocateReachable(elements * 4));
  } else {
    b.memory = std::shared_ptr<float[]>(new float[static_cast<std::size_t>(elements)]());
  }
  b.in = static_cast<float*>(b.memory.get());
  b.out = b.in + b.n * share;
  return b;
}

struct NamedCall {
  std::string name;
  CallArguments arguments;
};

// Every operation, and every v-variant that there is.
std::vector<NamedCall> CallsWith(const Buffers& b) {
  std::vector<NamedCall> calls;
  const auto add = [&](OpKind op, ConstBuffer in, MutableBuffer out, std::string_view how = "") {
    CallArguments a;
    a.op = op;
    a.in = in;
    a.out = out;
    a.root = 1;
    calls.push_back({fmt::format("{}{}", Name(op), how), a});
    if (!HasOwners(op) && op != OpKind::kAllToAll) return;
    a.by_counts = true;
    a.counts.assign(static_cast<std::size_t>(b.n), b.share);
    a.recv_counts = a.counts;
    calls.push_back({fmt::format("{}_v{}", Name(op), how), a});
  };
  add(OpKind::kAllReduce, b.one_in(), b.one());
  add(OpKind::kAllReduce, b.one(), b.one(), " in place");
  add(OpKind::kAllGather, b.one_in(), b.all());
  add(OpKind::kReduceScatter, b.all_in(), b.one());
  // The result of every rank but the first is made elsewhere and copied.
  add(OpKind::kReduceScatter, b.all(), b.one(), " into the beginning of in");
  add(OpKind::kBroadcast, b.one(), b.one());
  add(OpKind::kReduce, b.one_in(), b.one());
  add(OpKind::kGather, b.one_in(), b.all());
  add(OpKind::kScatter, b.all_in(), b.one());
  add(OpKind::kAllToAll, b.all_in(), b.all());
  add(OpKind::kAllToAll, b.all(), b.all(), " in place");
  add(OpKind::kScan, b.one_in(), b.one());
  add(OpKind::kExScan, b.one_in(), b.one());
  add(OpKind::kBarrier, {}, {});
  return calls;
}

// The first call may do as it likes, the next ones must be quiet.
Status CheckQuiet(const std::string& name, const std::function<Status()>& call) {
  CHORUS_RETURN_IF_ERROR(call());
  for (int k = 2; k < 5; ++k) {
    CallWatch watch;
    const Status status = call();
    const CallWatch::Seen seen = watch.Stop();
    CHORUS_RETURN_IF_ERROR(status);
    if (seen.allocations > 0 || seen.others > 0) {
      return Internal(fmt::format("call {} of {}: {}", k, name, seen.ToString()));
    }
  }
  return OkStatus();
}

class QuietTest : public testing::TestWithParam<int> {
 protected:
  static void Run(const std::function<Status(Group&)>& function) {
    if (!CallWatch::IsPossible()) GTEST_SKIP() << "this build cannot watch its calls";
    JoinOptions options;
    options.timeout = std::chrono::seconds(20);
    const auto watched = [&](Group& group) {
      CHORUS_RETURN_IF_ERROR(CallWatch::Install());
      return function(group);
    };
    const Status status = RunRanks(GetParam(), RankKind::kProcesses, watched, options);
    EXPECT_TRUE(status.ok()) << status.message();
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, QuietTest, testing::Values(2, 3));

TEST_P(QuietTest, EveryOperationSmallAndLargeOrdinaryAndSymmetric) {
  Run([](Group& group) -> Status {
    for (const bool is_symmetric : {false, true}) {
      for (const std::int64_t share : {0, 2, 300, 10'000, 300'000}) {
        CHORUS_ASSIGN_OR_RETURN(const Buffers b, Make(group, share, is_symmetric));
        for (const auto& [name, arguments] : CallsWith(b)) {
          const std::string what = fmt::format("{} of {} elements, {}", name, share,
                                               is_symmetric ? "symmetric" : "ordinary");
          CHORUS_RETURN_IF_ERROR(
              CheckQuiet(what, [&, &a = arguments] { return MakeCall(group, a); }));
          CHORUS_RETURN_IF_ERROR(CheckQuiet(
              what + ", async", [&, &a = arguments] { return BeginCall(group, a).Wait(); }));
        }
      }
    }
    return OkStatus();
  });
}

TEST_P(QuietTest, EveryAlgorithm) {
  Run([](Group& group) -> Status {
    for (const std::int64_t share : {2, 10'000}) {
      CHORUS_ASSIGN_OR_RETURN(const Buffers b, Make(group, share, false));
      for (auto& [name, arguments] : CallsWith(b)) {
        for (const Algorithm* algorithm : AlgorithmsFor(arguments.op)) {
          if (!algorithm->Fits(group.size()).ok() || arguments.by_counts) continue;
          arguments.options.algorithm = std::string(algorithm->name);
          const std::string what =
              fmt::format("{} of {} elements by {}", name, share, algorithm->name);
          CHORUS_RETURN_IF_ERROR(
              CheckQuiet(what, [&, &a = arguments] { return MakeCall(group, a); }));
        }
      }
    }
    return OkStatus();
  });
}

// What is prepared once is quiet from its second start on, a list that goes as one packed call too.
TEST_P(QuietTest, PersistentCalls) {
  Run([](Group& group) -> Status {
    for (const bool is_symmetric : {false, true}) {
      for (const std::int64_t share : {2, 300, 10'000}) {
        CHORUS_ASSIGN_OR_RETURN(const Buffers b, Make(group, share, is_symmetric));
        CHORUS_ASSIGN_OR_RETURN(const Buffers other, Make(group, share, is_symmetric));
        const auto check = [&](const std::string& name, CallList& calls) -> Status {
          CHORUS_ASSIGN_OR_RETURN(PersistentCalls prepared, calls.Prepare());
          return CheckQuiet(fmt::format("{} of {} elements, prepared, {}", name, share,
                                        is_symmetric ? "symmetric" : "ordinary"),
                            [&] { return prepared.Run(); });
        };
        CallList sum(group);
        sum.AllReduce(b.one_in(), b.one());
        CHORUS_RETURN_IF_ERROR(check("all_reduce", sum));
        CallList gather(group);
        gather.AllGather(b.one_in(), b.all());
        CHORUS_RETURN_IF_ERROR(check("all_gather", gather));
        CallList sums(group);
        sums.AllReduce(b.one_in(), b.one()).AllReduce(other.one_in(), other.one());
        CHORUS_RETURN_IF_ERROR(check("two all_reduces", sums));
      }
    }
    return OkStatus();
  });
}

// How much memory messages take depends on how far ranks are ahead of each other. Here they are so
// as far as they will ever be: all messages come before their receives, and the other way round.
Status HaveManyUnderWay(Group& group, const Buffers& b, int left, int right) {
  for (const bool sends_first : {true, false}) {
    std::vector<Work> works;
    for (int turn = 0; turn < 2; ++turn) {
      for (int k = 0; k < 10; ++k) {
        works.push_back((turn == 0) == sends_first ? group.SendAsync(b.one_in(), right, 1)
                                                   : group.RecvAsync(b.one(), left, 1));
      }
      CHORUS_RETURN_IF_ERROR(group.Barrier());
      static_cast<void>(works[0].Done());  // takes in what has come
      CHORUS_RETURN_IF_ERROR(group.Barrier());
    }
    for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
  }
  return OkStatus();
}

TEST_P(QuietTest, MessagesBetweenTwoRanksAndPutsIntoAWindow) {
  Run([](Group& group) -> Status {
    const int right = (group.rank() + 1) % group.size();
    const int left = (group.rank() + group.size() - 1) % group.size();
    for (const std::int64_t share : {0, 2, 300, 10'000, 300'000}) {
      for (const bool is_symmetric : {false, true}) {
        CHORUS_ASSIGN_OR_RETURN(const Buffers b, Make(group, share, is_symmetric));
        const std::string name =
            fmt::format("{} elements, {}", share, is_symmetric ? "symmetric" : "ordinary");
        CHORUS_RETURN_IF_ERROR(HaveManyUnderWay(group, b, left, right));
        CHORUS_RETURN_IF_ERROR(CheckQuiet("send_recv of " + name, [&] {
          return group.SendRecv(b.one_in(), right, 1, b.one(), left, 1).status();
        }));
        CHORUS_RETURN_IF_ERROR(CheckQuiet("send and recv of " + name, [&]() -> Status {
          if (group.rank() == 0) return group.Send(b.one_in(), 1, 7);
          if (group.rank() == 1) return group.Recv(b.one(), kAnySource, kAnyTag).status();
          return OkStatus();
        }));
        CHORUS_RETURN_IF_ERROR(group.Barrier());
      }
      CHORUS_ASSIGN_OR_RETURN(auto target, group.Allocate<float>(share));
      CHORUS_ASSIGN_OR_RETURN(Window window, group.OpenWindow(target));
      CHORUS_ASSIGN_OR_RETURN(const Buffers b, Make(group, share, false));
      std::uint64_t round = 0;
      const auto put = [&]() -> Status {
        CHORUS_RETURN_IF_ERROR(window.Put(b.one_in(), right, 0));
        return window.WaitSignals(left, ++round);
      };
      CHORUS_RETURN_IF_ERROR(CheckQuiet(fmt::format("put of {} elements", share), put));
      CHORUS_RETURN_IF_ERROR(group.Barrier());
    }
    return OkStatus();
  });
}

}  // namespace
}  // namespace chorus
