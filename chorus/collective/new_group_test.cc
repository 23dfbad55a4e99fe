// Groups out of lists of ranks, groups that grow, and joining without waiting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/group.h"
#include "chorus/collective/joining.h"
#include "chorus/collective/ranks_test.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/launch/free_port.h"

namespace chorus {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// What a rank adds up to on a group: proves that it is the group it should be.
Result<int> SumOf(Group& group, int value) {
  std::vector<std::int32_t> x = {value};
  CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
  return x[0];
}

class NewGroupTest : public testing::TestWithParam<RankKind> {
 protected:
  static Status Run(int n, const std::function<Status(Group&)>& function) {
    JoinOptions options;
    options.timeout = seconds(30);
    return RunRanks(n, GetParam(), function, options);
  }
  static std::vector<std::string> Errors(int n, const std::function<Status(Group&)>& function,
                                         milliseconds timeout = seconds(30)) {
    return chorus::Errors(n, GetParam(), function, Patient(timeout));
  }
};
INSTANTIATE_TEST_SUITE_P(All, NewGroupTest,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(NewGroupTest, OnlyTheMembersCallItInTheirOrder) {
  const Status status = Run(5, [](Group& world) -> Status {
    if (world.rank() % 2 == 1) return OkStatus();  // never hears of it
    CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup({4, 0, 2}));
    CHORUS_RETURN_IF_ERROR(Expect(group.size() == 3 && group.name() == "world/{4 0 2}", "name"));
    const int expected = world.rank() == 4 ? 0 : world.rank() == 0 ? 1 : 2;
    CHORUS_RETURN_IF_ERROR(Expect(group.rank() == expected, "the rank is the place in the list"));
    CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(group, world.rank()));
    return Expect(sum == 6, fmt::format("0 + 2 + 4 is {}", sum));
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// Each rank makes only the group of its parity: nobody meets the other one's.
TEST_P(NewGroupTest, OddAndEvenRanksEachMakeOnlyTheirOwn) {  // pytorch/pytorch#46181
  for (const int n : {4, 5}) {
    const Status status = Run(n, [n](Group& world) -> Status {
      const int parity = world.rank() % 2;
      std::vector<int> members;
      for (int rank = parity; rank < n; rank += 2) members.push_back(rank);
      CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup(members));
      for (int root = 0; root < group.size(); ++root) {
        std::vector<int> x = {world.rank()};
        CHORUS_RETURN_IF_ERROR(group.Broadcast(x, root));
        CHORUS_RETURN_IF_ERROR(Expect(x[0] == members[root], fmt::format("{} is sent", x[0])));
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
}

// pytorch/pytorch#173608, huggingface/transformers#48302: each rank makes the groups it is in only,
// and has made another number of groups before than the other members have.
TEST_P(NewGroupTest, RanksThatMadeOtherNumbersOfGroupsBeforeMeet) {
  const std::vector<std::vector<std::vector<int>>> lists_of_rank = {
      {{0, 1}, {0, 1}},                     // rank 0
      {{0, 1}, {1, 2, 3}, {0, 1}},          // rank 1
      {{1, 2, 3}},                          // rank 2
      {{3, 4}, {4, 3}, {1, 2, 3}, {3, 4}},  // rank 3
      {{3, 4}, {4, 3}, {3, 4}},             // rank 4
  };
  const Status status = Run(5, [&](Group& world) -> Status {
    std::vector<Group> groups;
    const auto& lists = lists_of_rank[static_cast<std::size_t>(world.rank())];
    for (const std::vector<int>& list : lists) {
      CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup(list));
      groups.push_back(std::move(group));
    }
    // {0, 1} and {3, 4} are at work at the same time.
    for (std::size_t i = 0; i < lists.size(); ++i) {
      CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(groups[i], 1 << world.rank()));
      int expected = 0;
      for (const int rank : lists[i]) expected += 1 << rank;
      CHORUS_RETURN_IF_ERROR(Expect(sum == expected, fmt::format("{} is not {}", sum, expected)));
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(NewGroupTest, GroupsOverlapAndNest) {
  const Status status = Run(4, [](Group& world) -> Status {
    const int r = world.rank();
    // All pairs, made by each rank in the order of the pairs; then all are used at once.
    std::vector<Group> pairs;
    std::vector<int> others;
    for (int a = 0; a < 4; ++a) {
      for (int b = a + 1; b < 4; ++b) {
        if (r != a && r != b) continue;
        CHORUS_ASSIGN_OR_RETURN(Group pair, world.NewGroup({a, b}));
        pairs.push_back(pair);
        others.push_back(r == a ? b : a);
      }
    }
    std::vector<std::vector<std::int32_t>> sums(pairs.size(), std::vector<std::int32_t>{r + 1});
    std::vector<Work> works;
    for (std::size_t i = pairs.size(); i-- > 0;) works.push_back(pairs[i].AllReduceAsync(sums[i]));
    for (Work& work : works) CHORUS_RETURN_IF_ERROR(work.Wait());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      CHORUS_RETURN_IF_ERROR(Expect(sums[i][0] == r + others[i] + 2, "the sum of a pair"));
    }
    if (r == 3) return OkStatus();
    CHORUS_ASSIGN_OR_RETURN(Group three, world.NewGroup({0, 1, 2}));
    if (r == 1) return OkStatus();
    CHORUS_ASSIGN_OR_RETURN(Group two, three.NewGroup({2, 0}));
    CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(two, r));
    CHORUS_RETURN_IF_ERROR(Expect(sum == 2, "the nested group"));
    CHORUS_ASSIGN_OR_RETURN(Group alone, two.NewGroup({two.rank()}));
    CHORUS_ASSIGN_OR_RETURN(const int own, SumOf(alone, 7));
    return Expect(own == 7, "a group of one");
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

// Its messages are not those of users, whatever these receive.
TEST_P(NewGroupTest, AnyTagTakesNoMessageOfIt) {
  const Status status = Run(2, [](Group& world) -> Status {
    std::vector<std::int32_t> got(1);
    Received received;
    Work any = world.RecvAsync(got, kAnySource, kAnyTag, &received);
    CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup({0, 1}));
    const std::vector<std::int32_t> given = {5};
    CHORUS_RETURN_IF_ERROR(world.Send(given, 1 - world.rank(), 3));
    CHORUS_RETURN_IF_ERROR(any.Wait());
    return Expect(got[0] == 5 && received.tag == 3, "the message of the other");
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(NewGroupTest, TagsKeepGroupsOfThreadsApart) {
  const Status status = Run(2, [](Group& world) -> Status {
    Status outcomes[2];
    const auto make = [&](int tag) -> Status {
      CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup({0, 1}, tag));
      CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(group, tag));
      return Expect(sum == 2 * tag, fmt::format("tag {}: {}", tag, sum));
    };
    std::thread other([&] { outcomes[1] = make(1); });
    outcomes[0] = make(0);
    other.join();
    CHORUS_RETURN_IF_ERROR(outcomes[0]);
    return outcomes[1];
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST_P(NewGroupTest, ListsThatDifferAreShown) {
  const auto errors = Errors(3, [](Group& world) -> Status {
    const std::vector<int> list =
        world.rank() == 1 ? std::vector<int>{1, 0, 2} : std::vector<int>{0, 1, 2};
    const Status status = world.NewGroup(list).status();
    CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(world, 1));  // it goes on
    CHORUS_RETURN_IF_ERROR(Expect(sum == 3, "the sum"));
    return status;
  });
  EXPECT_THAT(errors[0], HasSubstr("new_group: rank 0 calls it with {0 1 2}, rank 1 with {1 0 2}"));
  EXPECT_THAT(errors[1], HasSubstr("new_group: rank 1 calls it with {1 0 2}, rank 0 with {0 1 2}"));
  EXPECT_THAT(errors[2], HasSubstr("new_group: rank 2 calls it with {0 1 2}, rank 1 with {1 0 2}"));
}

TEST_P(NewGroupTest, ARefusedListIsToldToTheOthers) {
  struct Case {
    std::vector<int> list;
    int tag;
    std::string error;
  };
  const std::vector<Case> cases = {
      {{0, 1, 3}, 0, "new_group: 3 is not a rank of a group of 3"},
      {{-1, 0}, 0, "new_group: -1 is not a rank of a group of 3"},
      {{0, 2, 0}, 0, "new_group: rank 0 is in the list twice"},
      {{0, 1}, 0, "new_group: rank 2 calls it but is not in the list {0 1}"},
      {{}, 0, "new_group: rank 2 calls it but is not in the list {}"},
      {{0, 1, 2}, -5, "new_group: the tag is -5; a tag is 0 or more"}};
  for (const Case& each : cases) {
    const bool tells = each.tag == 0 && !each.list.empty();
    const auto errors = Errors(3, [&](Group& world) -> Status {
      const Status status = world.rank() == 2 ? world.NewGroup(each.list, each.tag).status()
                            : tells && world.rank() == 0 ? world.NewGroup({0, 2}).status()
                                                         : OkStatus();
      CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(world, 1));
      CHORUS_RETURN_IF_ERROR(Expect(sum == 3, "the sum"));
      return status;
    });
    EXPECT_THAT(errors[2], HasSubstr(each.error));
    if (tells) {
      EXPECT_THAT(errors[0], HasSubstr("new_group: rank 2 refused its call"));
    }
  }
}

TEST_P(NewGroupTest, AMemberThatDoesNotComeIsNamed) {
  const auto errors = Errors(
      3,
      [](Group& world) -> Status {
        std::vector<float> never(1);
        if (world.rank() == 1) return world.Recv(never, 0, 9).status();
        CallOptions soon;
        soon.timeout = milliseconds(200);
        return world.NewGroup({0, 1, 2}, 4, soon).status();
      },
      seconds(20));
  EXPECT_THAT(errors, Each(AllOf(HasSubstr("waited 200 ms for rank 1 in new_group tag 4"),
                                 HasSubstr("deadline"))));
}

TEST_P(NewGroupTest, ItsRanksAreNamedWithTheirWorldRanks) {
  const auto errors = Errors(3, [](Group& world) -> Status {
    if (world.rank() == 0) return OkStatus();
    CHORUS_ASSIGN_OR_RETURN(Group group, world.NewGroup({2, 1}));
    std::vector<float> x(group.rank() == 0 ? 3 : 4);
    return group.AllReduce(x);
  });
  EXPECT_THAT(errors[1], HasSubstr("rank 0 (world rank 2) calls f32 x 3 sum, rank 1 calls"));
  EXPECT_THAT(errors[2], HasSubstr("(group world/{2 1})"));
}

// Runs `function(rank)` on ranks 0 .. n-1, each a thread.
void OnThreads(int n, const std::function<void(int)>& function) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < n; ++rank) threads.emplace_back(function, rank);
  for (std::thread& thread : threads) thread.join();
}

JoinOptions PlaceOf(int rank, int size, int port, milliseconds patience = seconds(20)) {
  JoinOptions options;
  options.rank = rank;
  options.size = size;
  options.port = port;
  options.join_timeout = patience;
  options.timeout = seconds(20);
  return options;
}

TEST_P(NewGroupTest, AGroupGrowsByNewProcesses) {
  const int port = FreePort().value();
  // Two processes more, ranks 3 and 4, that come by Join.
  std::vector<pid_t> children;
  for (int rank = 3; rank < 5; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      Result<Group> grown = Join(PlaceOf(rank, 5, port));
      const bool right = grown.ok() && grown->rank() == rank && *SumOf(*grown, rank) == 10;
      grown = InvalidArgument("left");
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  const Status status = Run(3, [port](Group& world) -> Status {
    JoinOptions where;
    where.port = port;
    where.join_timeout = seconds(20);
    CHORUS_ASSIGN_OR_RETURN(Group grown, world.Grow(5, where));
    CHORUS_RETURN_IF_ERROR(Expect(grown.rank() == world.rank() && grown.size() == 5, "the rank"));
    CHORUS_RETURN_IF_ERROR(Expect(grown.name() == "world+2", grown.name()));
    CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(grown, world.rank()));
    CHORUS_RETURN_IF_ERROR(Expect(sum == 10, "0 + 1 + 2 + 3 + 4"));
    CHORUS_ASSIGN_OR_RETURN(const int before, SumOf(world, 1));
    return Expect(before == 3, "the old group is still there");
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  for (const pid_t child : children) {
    int how = 0;
    ASSERT_EQ(waitpid(child, &how, 0), child);
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
  }
}

TEST_P(NewGroupTest, AGroupThatCannotGrowStaysAsItIs) {
  const int port = FreePort().value();
  struct Case {
    std::function<int(int)> size;  // of a rank
    std::function<int(int)> port;
    std::string error;
  };
  const std::vector<Case> cases = {
      {[](int) { return 3; }, [=](int) { return port; }, "rank 2 of 3 did not come within 200 ms"},
      {[](int) { return 2; }, [=](int) { return port; },
       "grow: the group has 2 ranks and is to have 2; it must become larger"},
      {[](int rank) { return 3 + rank; }, [=](int) { return port; },
       fmt::format("grow: rank 0 calls it for 3 ranks at port {0}, rank 1 for 4 ranks at port {0}",
                   port)}};
  for (const Case& each : cases) {
    const auto errors = Errors(2, [&](Group& world) -> Status {
      JoinOptions where;
      where.port = each.port(world.rank());
      where.join_timeout = milliseconds(200);
      const Status status = world.Grow(each.size(world.rank()), where).status();
      CHORUS_ASSIGN_OR_RETURN(const int sum, SumOf(world, 1));
      CHORUS_RETURN_IF_ERROR(Expect(sum == 2, "it goes on"));
      return status;
    });
    EXPECT_THAT(errors, Each(HasSubstr(each.error)));
  }
}

TEST(JoiningTest, ReturnsAtOnceAndGivesTheGroup) {
  const int port = FreePort().value();
  Joining early = JoinAsync(PlaceOf(0, 3, port));
  EXPECT_FALSE(early.Done());
  Status waits = early.Wait(milliseconds(20)).status();
  while (waits.message().find("it has only begun") != std::string::npos) {
    waits = early.Wait(milliseconds(20)).status();
  }
  EXPECT_EQ(waits.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(waits.message(), HasSubstr("within 20 ms: waits for ranks 1, 2"));
  OnThreads(3, [&](int rank) {
    const Joining joining = rank == 0 ? early : JoinAsync(PlaceOf(rank, 3, port));
    Result<Group> group = joining.Wait();
    ASSERT_TRUE(group.ok()) << group.status().ToString();
    EXPECT_TRUE(joining.Done());
    EXPECT_EQ(*SumOf(*group, rank), 3);
    EXPECT_TRUE(joining.Wait(milliseconds(0)).ok());
  });
}

TEST(JoiningTest, TheDeadlineNamesTheAbsentees) {
  const int port = FreePort().value();
  OnThreads(2, [&](int rank) {
    const Result<Group> group = JoinAsync(PlaceOf(rank, 4, port, milliseconds(300))).Wait();
    EXPECT_EQ(group.status().code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(group.status().message(), HasSubstr("ranks 2, 3 of 4 did not come within 300 ms"));
  });
}

TEST(JoiningTest, ACancelledRankMayComeAgain) {
  const int port = FreePort().value();
  const Joining host = JoinAsync(PlaceOf(0, 2, port));
  const Joining first = JoinAsync(PlaceOf(1, 2, FreePort().value()));  // at the wrong place
  const auto begin = Clock::now();
  first.Cancel();
  EXPECT_EQ(first.Wait().status().code(), StatusCode::kAborted);
  EXPECT_THAT(first.Wait().status().message(), HasSubstr("rank 1 gave up joining"));
  EXPECT_LT(Clock::now() - begin, seconds(2));
  const Joining second = JoinAsync(PlaceOf(1, 2, port));
  EXPECT_TRUE(second.Wait().ok());
  EXPECT_TRUE(host.Wait().ok());
}

TEST(JoiningTest, WhenRankZeroGivesUpAllHear) {
  const int port = FreePort().value();
  Joining visitor = JoinAsync(PlaceOf(1, 3, port));
  Joining host = JoinAsync(PlaceOf(0, 3, port));
  while (host.Wait(milliseconds(10)).status().message().find("rank 2") == std::string::npos) {
  }
  host.Cancel();
  EXPECT_EQ(host.Wait().status().code(), StatusCode::kAborted);
  EXPECT_THAT(visitor.Wait().status().message(), HasSubstr("rank 0 gave up joining"));
}

TEST(JoiningTest, DroppingTheHandleCancels) {
  const auto begin = Clock::now();
  { const Joining joining = JoinAsync(PlaceOf(1, 2, FreePort().value())); }
  EXPECT_LT(Clock::now() - begin, seconds(2));
}

TEST(JoiningTest, BadOptionsAreAnErrorOfWait) {
  JoinOptions options = PlaceOf(2, 2, 29500);
  EXPECT_THAT(JoinAsync(options).Wait().status().message(), HasSubstr("RANK is 2"));
}

}  // namespace
}  // namespace chorus
