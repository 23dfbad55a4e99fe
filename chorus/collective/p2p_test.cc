// Sends and receives over threads and over processes: matching, sizes, failures, random mixes.
#include "chorus/collective/p2p.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/group.h"
#include "chorus/collective/ranks_test.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using testing::HasSubstr;

std::vector<std::int32_t> Numbers(std::int64_t count, std::int32_t first) {
  std::vector<std::int32_t> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = first + static_cast<std::int32_t>(i);
  return x;
}

TEST(P2PFrameTest, AHeaderHoldsAllOfIt) {
  for (const std::int64_t tag : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    const P2PFrame frame{P2PFrame::Kind::kData, DType::kComplex128, 1ULL << 60, tag, 12345};
    EXPECT_EQ(P2PFrame::Of(frame.ToHeader()), frame);
  }
}

class P2PTest : public testing::TestWithParam<RankKind> {
 protected:
  static Status Run(int n, const std::function<Status(Group&)>& function,
                    std::int64_t channel_bytes = std::int64_t{256} << 10) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(30);
    options.channel_bytes = channel_bytes;
    return RunRanks(n, GetParam(), function, options);
  }
  static std::vector<std::string> Errors(int n, const std::function<Status(Group&)>& function,
                                         std::chrono::milliseconds timeout) {
    return chorus::Errors(n, GetParam(), function, Patient(timeout));
  }
};
INSTANTIATE_TEST_SUITE_P(All, P2PTest, testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

#define EXPECT_OK(status_expression)                 \
  do {                                               \
    const Status status_ = (status_expression);      \
    EXPECT_TRUE(status_.ok()) << status_.ToString(); \
  } while (false)

// Sizes around everything that changes: nothing, a line, early or not, a frame, many frames.
constexpr std::int64_t kSizes[] = {0,    1,    8,    9,     16,     2047,  2048,
                                   2049, 8192, 8193, 16384, 100000, 300001};

TEST_P(P2PTest, EverySizeArrives) {
  for (const std::int64_t channel_bytes : {std::int64_t{256}, std::int64_t{256} << 10}) {
    EXPECT_OK(Run(
        2,
        [channel_bytes](Group& group) -> Status {
          for (const std::int64_t count : kSizes) {
            if (channel_bytes == 256 && count > 10000) continue;  // some hundred times through it
            const std::vector<std::int32_t> want = Numbers(count, 7);
            if (group.rank() == 0) {
              CHORUS_RETURN_IF_ERROR(group.Send(want, 1, 5));
              continue;
            }
            std::vector<std::int32_t> got(want.size() + 3, -1);
            CHORUS_ASSIGN_OR_RETURN(const Received received, group.Recv(got, 0, 5));
            CHORUS_RETURN_IF_ERROR(Expect(
                received.source == 0 && received.tag == 5 && received.count == count, "received"));
            CHORUS_RETURN_IF_ERROR(Expect(got.back() == -1, "nothing is written beyond"));
            got.resize(want.size());
            CHORUS_RETURN_IF_ERROR(Expect(got == want, fmt::format("{} elements", count)));
          }
          return OkStatus();
        },
        channel_bytes));
  }
}

TEST_P(P2PTest, ReceivesChooseByTag) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    for (const std::int64_t count : kSizes) {
      if (group.rank() == 0) {
        const auto a = Numbers(count, 100);
        const auto b = Numbers(count, 200);
        Work first = group.SendAsync(a, 1, 1);
        CHORUS_RETURN_IF_ERROR(group.Send(b, 1, 2));  // overtakes the first, of another tag
        CHORUS_RETURN_IF_ERROR(first.Wait());
        continue;
      }
      std::vector<std::int32_t> x(static_cast<std::size_t>(count));
      CHORUS_RETURN_IF_ERROR(group.Recv(x, 0, 2).status());
      CHORUS_RETURN_IF_ERROR(Expect(x == Numbers(count, 200), "tag 2"));
      CHORUS_RETURN_IF_ERROR(group.Recv(x, 0, 1).status());
      CHORUS_RETURN_IF_ERROR(Expect(x == Numbers(count, 100), "tag 1"));
    }
    return OkStatus();
  }));
}

TEST_P(P2PTest, MessagesOfOneRankDoNotOvertake) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    constexpr int kMessages = 300;
    const RandomStream random(11, "sizes");  // the same on both
    const auto count = [&](int i) {
      return static_cast<std::int64_t>(random.Bits(static_cast<std::uint64_t>(i)) % 5000);
    };
    std::vector<std::vector<std::int32_t>> data;
    std::vector<Work> works;
    for (int i = 0; i < kMessages; ++i) {
      data.push_back(group.rank() == 0 ? Numbers(count(i), i) : Numbers(5000, -9));
    }
    for (int i = 0; i < kMessages; ++i) {
      works.push_back(group.rank() == 0 ? group.SendAsync(data[i], 1, 3)
                                        : group.RecvAsync(data[i], i % 2 == 0 ? 0 : kAnySource,
                                                          i % 3 == 0 ? kAnyTag : 3));
    }
    for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
    for (int i = 0; i < kMessages && group.rank() == 1; ++i) {
      data[i].resize(static_cast<std::size_t>(count(i)));
      CHORUS_RETURN_IF_ERROR(Expect(data[i] == Numbers(count(i), i), fmt::format("#{}", i)));
    }
    return OkStatus();
  }));
}

TEST_P(P2PTest, AnySourceTellsWhoSent) {
  EXPECT_OK(Run(4, [](Group& group) -> Status {
    if (group.rank() != 2) {
      const auto mine = Numbers(group.rank() + 1, group.rank());
      return group.Send(mine, 2, 40 + group.rank());
    }
    std::vector<bool> seen(4, false);
    for (int i = 0; i < 3; ++i) {
      std::vector<std::int32_t> x(10);
      CHORUS_ASSIGN_OR_RETURN(const Received r, group.Recv(x, kAnySource, kAnyTag));
      CHORUS_RETURN_IF_ERROR(
          Expect(r.tag == 40 + r.source && r.count == r.source + 1, "tag and count"));
      x.resize(static_cast<std::size_t>(r.count));
      CHORUS_RETURN_IF_ERROR(Expect(x == Numbers(r.count, r.source), "data"));
      seen[static_cast<std::size_t>(r.source)] = true;
    }
    return Expect(seen == std::vector<bool>{true, true, false, true}, "each once");
  }));
}

TEST_P(P2PTest, SendRecvOfLargeMessagesInARing) {
  for (const int n : {1, 2, 3}) {
    EXPECT_OK(Run(n, [](Group& group) -> Status {
      const int to = (group.rank() + 1) % group.size();
      const int from = (group.rank() + group.size() - 1) % group.size();
      for (const std::int64_t count : kSizes) {
        const auto mine = Numbers(count, group.rank());
        std::vector<std::int32_t> theirs(mine.size());
        CHORUS_ASSIGN_OR_RETURN(const Received r, group.SendRecv(mine, to, 1, theirs, from, 1));
        CHORUS_RETURN_IF_ERROR(Expect(r.source == from, "source"));
        CHORUS_RETURN_IF_ERROR(Expect(theirs == Numbers(count, from), "data"));
      }
      return OkStatus();
    }));
  }
}

TEST_P(P2PTest, ARankSendsToItself) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    for (const std::int64_t count : kSizes) {
      const auto mine = Numbers(count, 1);
      std::vector<std::int32_t> early(mine.size());
      std::vector<std::int32_t> late(mine.size());
      Work received = group.RecvAsync(early, group.rank(), 1);
      CHORUS_RETURN_IF_ERROR(group.Send(mine, group.rank(), 1));
      CHORUS_RETURN_IF_ERROR(received.Wait());
      Work sent = group.SendAsync(mine, group.rank(), 2);
      CHORUS_RETURN_IF_ERROR(group.Recv(late, kAnySource, 2).status());
      CHORUS_RETURN_IF_ERROR(sent.Wait());
      CHORUS_RETURN_IF_ERROR(Expect(early == mine && late == mine, "data"));
    }
    return OkStatus();
  }));
}

TEST_P(P2PTest, NothingWaitsBehindALargeMessage) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    constexpr std::int64_t kLarge = std::int64_t{8} << 20;
    std::vector<std::int32_t> large = group.rank() == 0 ? Numbers(kLarge, 3) : Numbers(kLarge, 0);
    std::vector<float> sum(1000, 1.0f);
    if (group.rank() == 0) {
      Work first = group.SendAsync(large, 1, 1);
      CHORUS_RETURN_IF_ERROR(group.AllReduce(sum));
      CHORUS_RETURN_IF_ERROR(group.Send(Numbers(4, 9), 1, 2));
      return first.Wait();
    }
    // Rank 0 has begun the large one; a sum, and a small one, come before it is even asked for.
    CHORUS_RETURN_IF_ERROR(group.AllReduce(sum));
    std::vector<std::int32_t> small(4);
    CHORUS_RETURN_IF_ERROR(group.Recv(small, 0, 2).status());
    CHORUS_RETURN_IF_ERROR(Expect(small == Numbers(4, 9), "small"));
    CHORUS_RETURN_IF_ERROR(group.Recv(large, 0, 1).status());
    return Expect(large == Numbers(kLarge, 3), "large");
  }));
}

TEST_P(P2PTest, CollectivesGoOnWhileAReceiveWaits) {
  EXPECT_OK(Run(3, [](Group& group) -> Status {
    std::vector<std::int32_t> x(1);
    Work work = group.RecvAsync(x, kAnySource, 77);
    for (int i = 0; i < 20; ++i) {
      std::vector<float> sum(500, 1.0f);
      CHORUS_RETURN_IF_ERROR(group.AllReduce(sum));
      CHORUS_RETURN_IF_ERROR(Expect(sum[499] == 3.0f, "sum"));
    }
    CHORUS_RETURN_IF_ERROR(group.Send(Numbers(1, 4), (group.rank() + 1) % 3, 77));
    CHORUS_RETURN_IF_ERROR(work.Wait());
    return Expect(x[0] == 4, "data");
  }));
}

// More than a rank may send early: the rest is only announced, and all arrive in order.
TEST_P(P2PTest, EarlyMessagesBeyondTheWindow) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    constexpr int kMessages = 1500;
    constexpr std::int64_t kCount = 1000;  // 6 MB in all
    if (group.rank() == 0) {
      std::vector<std::vector<std::int32_t>> data;
      std::vector<Work> works;
      for (int i = 0; i < kMessages; ++i) data.push_back(Numbers(kCount, i));
      for (int i = 0; i < kMessages; ++i) works.push_back(group.SendAsync(data[i], 1));
      CHORUS_RETURN_IF_ERROR(group.Barrier());
      for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
      return OkStatus();
    }
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    for (int i = 0; i < kMessages; ++i) {
      std::vector<std::int32_t> x(kCount);
      CHORUS_RETURN_IF_ERROR(group.Recv(x, 0).status());
      CHORUS_RETURN_IF_ERROR(Expect(x == Numbers(kCount, i), fmt::format("#{}", i)));
    }
    return OkStatus();
  }));
}

// Where they are read from memory and where they are sent.
TEST_P(P2PTest, LongMessagesOfOneTagComeInTheirOrder) {
  for (const bool mapped : {false, true}) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(30);
    options.use_mapped = mapped;
    options.use_reads = mapped;
    EXPECT_OK(RunRanks(
        2, GetParam(),
        [](Group& group) -> Status {
          const std::vector<std::int64_t> counts = {3000000, 400000, 50000, 5000};
          std::vector<std::vector<std::int32_t>> data;
          std::vector<Work> works;
          for (const std::int64_t count : counts) data.push_back(Numbers(count, 3));
          const int peer = 1 - group.rank();
          for (auto& x : data) {
            works.push_back(group.rank() == 0 ? group.SendAsync(x, peer)
                                              : group.RecvAsync(x, peer));
          }
          for (std::size_t last = works.size(); group.rank() == 1 && last-- > 1;) {
            while (!works[last].Done()) {
            }
            for (std::size_t i = 0; i < last; ++i) {
              CHORUS_RETURN_IF_ERROR(Expect(works[i].Done(), fmt::format("{} before {}", last, i)));
            }
          }
          for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
          return group.Barrier();
        },
        options));
  }
}

TEST_P(P2PTest, AMessageThatDoesNotFitIsDroppedAndTheGroupGoesOn) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    for (const std::int64_t count : {std::int64_t{10}, std::int64_t{50000}}) {
      for (const bool early : {false, true}) {
        if (group.rank() == 0) {
          if (!early) CHORUS_RETURN_IF_ERROR(group.Barrier());
          CHORUS_RETURN_IF_ERROR(group.Send(Numbers(count, 0), 1, 6));
          const std::vector<std::int32_t> one = Numbers(1, 0);
          Work sent = group.SendAsync(one, 1, 6);
          if (early) CHORUS_RETURN_IF_ERROR(group.Barrier());
          CHORUS_RETURN_IF_ERROR(sent.Wait());
          CHORUS_RETURN_IF_ERROR(group.Barrier());
          continue;
        }
        std::vector<std::int32_t> x(8);
        std::vector<float> y(60000);
        Work small;
        Work other;
        if (count == 50000 &&
            early) {  // rank 0 waits for the receive before it comes to the barrier
          small = group.RecvAsync(x, 0, 6);
          other = group.RecvAsync(y, 0, 6);
          CHORUS_RETURN_IF_ERROR(group.Barrier());
        } else {
          if (early) CHORUS_RETURN_IF_ERROR(group.Barrier());
          small = group.RecvAsync(x, 0, 6);
          other = group.RecvAsync(y, 0, 6);
          if (!early) CHORUS_RETURN_IF_ERROR(group.Barrier());
        }
        const Status truncated = small.Wait();
        const Status mistyped = other.Wait();
        CHORUS_RETURN_IF_ERROR(Expect(
            truncated.message() == fmt::format("recv tag 6 (group world, 32 B): the message of "
                                               "rank 0 is i32 x {}, which does not fit into i32 x "
                                               "8; it was dropped",
                                               count),
            truncated.ToString()));
        CHORUS_RETURN_IF_ERROR(Expect(
            truncated.scope() == ErrorScope::kCall && mistyped.scope() == ErrorScope::kCall &&
                mistyped.message().find("is i32 x 1, which does not fit into f32 x 60000") !=
                    std::string::npos,
            mistyped.ToString()));
        CHORUS_RETURN_IF_ERROR(group.Barrier());
      }
    }
    return OkStatus();
  }));
}

TEST_P(P2PTest, WhatIsWrongIsRefusedBeforeAnythingIsSent) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    std::vector<float> x(4);
    CallOptions ring;
    ring.algorithm = "ring";
    const std::pair<Status, std::string> refusals[] = {
        {group.Send(x, 2), "send: 2 is not a rank of a group of 2"},
        {group.Send(x, kAnySource), "send: -1 is not a rank"},
        {group.Send(x, 1, kAnyTag), "send: the tag is -1; a tag is 0 or more"},
        {group.Recv(x, 0, -5).status(), "recv: the tag is -5; a tag is 0 or more, or kAnyTag"},
        {group.Recv(MutableBuffer(nullptr, 3, DType::kF32), 0).status(),
         "recv: the buffer is null"},
        {group.Send(ConstBuffer(x.data(), -1, DType::kF32), 1), "send: the buffer has -1 elements"},
        {group.Send(x, 1, 0, ring), "send: takes neither an algorithm"},
        {group.SendRecv(x, 0, 0, x, 0, 0).status(), "send_recv: the two buffers overlap"},
    };
    for (const auto& [status, text] : refusals) {
      CHORUS_RETURN_IF_ERROR(
          Expect(status.code() == StatusCode::kInvalidArgument && status.message().find(text) == 0,
                 status.ToString()));
    }
    // They used no number and left nothing behind.
    return group.Barrier();
  }));
}

TEST_P(P2PTest, AReceiveThatNothingComesForEndsAtTheDeadline) {
  const auto errors = Errors(
      2,
      [](Group& group) -> Status {
        std::vector<float> x(1024);
        if (group.rank() == 1) return group.Recv(x, 0, 9).status();
        return group.Recv(x, 0, 9).status();  // from itself
      },
      std::chrono::milliseconds(200));
  for (const std::string& error : errors) {
    EXPECT_THAT(error, testing::ContainsRegex(
                           "deadline exceeded: rank [01] waited 200 ms for rank 0 in recv tag 9 "
                           "\\(group world, 4096 B\\)"));
  }
}

TEST_P(P2PTest, WhoWaitsForARankThatLeftHearsOfIt) {
  const auto errors = Errors(
      3,
      [](Group& group) -> Status {
        std::vector<float> x(100000);
        if (group.rank() == 0) {
          CHORUS_RETURN_IF_ERROR(group.Send(Numbers(3, 1), 1));  // sent before it leaves: arrives
          return OkStatus();
        }
        if (group.rank() == 2) return group.Send(x, 0);
        std::vector<std::int32_t> y(3);
        CHORUS_RETURN_IF_ERROR(group.Recv(y, 0).status());
        return group.Recv(y, 0).status();
      },
      std::chrono::seconds(20));
  EXPECT_EQ(errors[0], "ok");
  for (const int rank : {1, 2}) {
    EXPECT_THAT(errors[rank], testing::ContainsRegex("peer lost: rank 0 has left the group; rank "
                                                     "[12] waits in (recv|send) tag 0"));
  }
}

TEST(P2PDeathTest, WhoWaitsForARankThatDiedHearsOfIt) {
  for (const bool receives : {false, true}) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(20);
    const auto outcomes = OutcomeOfRanks(
        3, RankKind::kProcesses,
        [&](Group& group) -> Result<std::string> {
          std::vector<float> large(std::size_t{4} << 20);
          if (group.rank() == 0) {  // dies with a message half sent, or half received
            Work work = receives ? group.RecvAsync(large, 1) : group.SendAsync(large, 1);
            for (int looks = 0; looks < 20; ++looks) work.Done();
            kill(getpid(), SIGKILL);
          }
          if (group.rank() == 2) return group.Recv(large, kAnySource).status().ToString();
          if (receives) return group.Send(large, 0).ToString();
          return group.Recv(large, 0).status().ToString();
        },
        options);
    for (const int rank : {1, 2}) {
      ASSERT_TRUE(outcomes[rank].ok()) << outcomes[rank].status().message();
      EXPECT_THAT(*outcomes[rank], HasSubstr("rank 0 was lost: its process ended"));
    }
  }
}

TEST_P(P2PTest, AbortEndsAReceiveOnAnotherRank) {
  const auto errors = Errors(
      2,
      [](Group& group) -> Status {
        std::vector<float> x(10);
        if (group.rank() == 1) return group.Recv(x, kAnySource, kAnyTag).status();
        group.Abort("enough");
        return group.Send(x, 1);
      },
      std::chrono::seconds(20));
  for (const std::string& error : errors)
    EXPECT_THAT(error, HasSubstr("rank 0 aborted group world"));
}

TEST_P(P2PTest, TrafficCountsThePayload) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    const std::vector<std::int32_t> small = Numbers(10, 0);
    std::vector<std::int32_t> large = Numbers(100000, 0);
    if (group.rank() == 0) {
      CHORUS_RETURN_IF_ERROR(group.Send(small, 1));
      CHORUS_RETURN_IF_ERROR(group.Send(large, 1));
    } else {
      CHORUS_RETURN_IF_ERROR(group.Recv(large, 0).status());
      CHORUS_RETURN_IF_ERROR(group.Recv(large, 0).status());
    }
    const OpTraffic want = group.rank() == 0 ? OpTraffic{400040, 2, 2} : OpTraffic{0, 0, 2};
    return Expect(group.traffic().point_to_point == want && group.traffic().Total() == want,
                  "traffic");
  }));
}

// A payload in memory that the receiver can map is read there, not sent through the channel.
TEST_P(P2PTest, MessagesFromReachableMemory) {
  EXPECT_OK(Run(2, [](Group& group) -> Status {
    for (const std::int64_t count : kSizes) {
      CHORUS_ASSIGN_OR_RETURN(auto memory, group.Allocate<std::int32_t>(count + 1));
      const std::vector<std::int32_t> want = Numbers(count, group.rank());
      std::copy(want.begin(), want.end(), memory.begin());
      const MutableBuffer mine(memory.data(), count, DType::kI32);
      std::vector<std::int32_t> theirs(want.size());
      const std::int64_t before = group.traffic().point_to_point.bytes_sent;
      CHORUS_RETURN_IF_ERROR(
          group.SendRecv(mine, 1 - group.rank(), 0, theirs, 1 - group.rank(), 0).status());
      CHORUS_RETURN_IF_ERROR(Expect(theirs == Numbers(count, 1 - group.rank()), "data"));
      CHORUS_RETURN_IF_ERROR(
          Expect(group.traffic().point_to_point.bytes_sent - before == 4 * count, "traffic"));
      CHORUS_RETURN_IF_ERROR(group.Barrier());
    }
    return OkStatus();
  }));
}

TEST_P(P2PTest, GroupsDoNotMixTheirMessages) {
  EXPECT_OK(Run(4, [](Group& world) -> Status {
    CHORUS_ASSIGN_OR_RETURN(Group part, world.Split(world.rank() % 2, -world.rank()));
    // In the part, rank 0 is world rank 2 or 3.
    std::vector<std::int32_t> of_part(1);
    std::vector<std::int32_t> of_world(1);
    Work a = part.RecvAsync(of_part, kAnySource, kAnyTag);
    Work b = world.RecvAsync(of_world, kAnySource, kAnyTag);
    CHORUS_RETURN_IF_ERROR(world.Send(Numbers(1, 100 + world.rank()), 3 - world.rank(), 8));
    CHORUS_RETURN_IF_ERROR(part.Send(Numbers(1, 200 + world.rank()), 1 - part.rank(), 8));
    CHORUS_RETURN_IF_ERROR(a.Wait());
    CHORUS_RETURN_IF_ERROR(b.Wait());
    return Expect(of_world[0] == 103 - world.rank() && of_part[0] == 200 + (world.rank() ^ 2),
                  fmt::format("{} {}", of_world[0], of_part[0]));
  }));
}

// Every rank knows all messages of a round from the seed. Receives name source and tag, in any
// order between pairs but in sending order within one; or they name neither.
struct Plan {
  struct Message {
    int from, to, tag;
    std::int64_t count;
    std::int32_t first;
  };
  std::vector<Message> messages;

  Plan(std::uint64_t seed, int round, int n) {
    const RandomStream random(seed, fmt::format("round {}", round));
    std::uint64_t k = 0;
    const auto draw = [&](std::uint64_t below) { return random.Bits(k++) % below; };
    const auto messages_count = 20 + draw(60);
    for (std::uint64_t i = 0; i < messages_count; ++i) {
      const std::uint64_t most = std::array<std::uint64_t, 5>{4, 300, 1000, 6000, 40000}[draw(5)];
      messages.push_back({static_cast<int>(draw(n)), static_cast<int>(draw(n)),
                          static_cast<int>(draw(3)) + 3 * round,
                          static_cast<std::int64_t>(draw(most)),
                          static_cast<std::int32_t>(draw(1000000))});
    }
  }
};

Status RandomRound(Group& group, std::uint64_t seed, int round) {
  const Plan plan(seed, round, group.size());
  const RandomStream random(seed, fmt::format("order {} {}", round, group.rank()));
  std::uint64_t k = 0;
  const bool by_name = round % 2 == 0;
  // What this rank has to do, sends and receives mixed; per (from, tag) in order.
  std::vector<const Plan::Message*> mine;
  std::map<std::pair<int, int>, std::vector<const Plan::Message*>> incoming;
  for (const Plan::Message& message : plan.messages) {
    if (message.from == group.rank()) mine.push_back(&message);
    if (message.to == group.rank()) incoming[{message.from, message.tag}].push_back(&message);
  }
  std::vector<std::pair<int, int>> receives;
  for (const auto& [pair, list] : incoming) receives.insert(receives.end(), list.size(), pair);
  for (std::size_t i = receives.size(); i > 1; --i) {
    std::swap(receives[i - 1], receives[random.Bits(k++) % i]);
  }
  std::vector<std::vector<std::int32_t>> sent(mine.size());
  std::vector<std::vector<std::int32_t>> got(receives.size());
  std::vector<Received> received(receives.size());
  std::vector<Work> works;
  std::vector<float> sum(300, 1.0f);
  std::size_t s = 0;
  std::size_t r = 0;
  Work collective = group.AllReduceAsync(sum);
  while (s < mine.size() || r < receives.size()) {
    if (r == receives.size() || (s < mine.size() && random.Bits(k++) % 2 == 0)) {
      sent[s] = Numbers(mine[s]->count, mine[s]->first);
      works.push_back(group.SendAsync(sent[s], mine[s]->to, mine[s]->tag));
      ++s;
    } else {
      got[r].resize(40000);
      works.push_back(group.RecvAsync(got[r], by_name ? receives[r].first : kAnySource,
                                      by_name ? receives[r].second : kAnyTag, &received[r]));
      ++r;
    }
  }
  CHORUS_RETURN_IF_ERROR(collective.Wait());
  for (std::size_t i = works.size(); i > 0; --i) CHORUS_RETURN_IF_ERROR(works[i - 1].Wait());
  // Receives were posted in order, so the i-th of a pair has the i-th message of the pair.
  std::map<std::pair<int, int>, std::size_t> next;
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const std::pair<int, int> pair = {received[i].source, received[i].tag};
    CHORUS_RETURN_IF_ERROR(Expect(!by_name || pair == receives[i], "named"));
    const auto& list = incoming[pair];
    const std::size_t at = next[pair]++;
    CHORUS_RETURN_IF_ERROR(
        Expect(at < list.size(), fmt::format("round {}: rank {} tag {} sent {}", round, pair.first,
                                             pair.second, list.size())));
    got[i].resize(static_cast<std::size_t>(received[i].count));
    CHORUS_RETURN_IF_ERROR(Expect(
        got[i] == Numbers(list[at]->count, list[at]->first),
        fmt::format("round {}: message {} of rank {} tag {}", round, at, pair.first, pair.second)));
  }
  return group.Barrier();  // lest a receive that names nothing takes a message of the next round
}

TEST_P(P2PTest, RandomMixes) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const auto seed = static_cast<std::uint64_t>(now);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  for (const int n : {2, 3, 5}) {
    for (const std::int64_t channel_bytes : {std::int64_t{4096}, std::int64_t{256} << 10}) {
      const Status status = Run(
          n,
          [&](Group& group) -> Status {
            for (int round = 0; round < 6; ++round) {
              CHORUS_RETURN_IF_ERROR(RandomRound(group, seed, round));
            }
            return OkStatus();
          },
          channel_bytes);
      EXPECT_TRUE(status.ok()) << "seed " << seed << ", " << n << " ranks: " << status.ToString();
    }
  }
}

}  // namespace
}  // namespace chorus
