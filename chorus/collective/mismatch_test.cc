// Ranks that call different things: an error on every rank that needs what does not come, with both
// sides in it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <chrono>
#include <string>
#include <vector>

#include "chorus/collective/ranks_test.h"

namespace chorus {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class MismatchTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, MismatchTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(MismatchTest, CountsThatDifferAreShownOnAllRanks) {  // NVIDIA/nccl#1417
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

TEST_P(MismatchTest, OperationsThatDifferAreNamed) {  // pytorch/gloo#456
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
TEST_P(MismatchTest, ASplitMatchesNothingButASplit) {  // pytorch/pytorch#46181
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

TEST_P(MismatchTest, AgreementsAreNamedAsWhatTheyAre) {
  const auto errors = Errors(2, GetParam(), [](Group& group) {
    if (group.rank() == 0) return group.Allocate<float>(10).status();
    return group.Split(0, 0).status();
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, AllOf(HasSubstr("allocate"), HasSubstr("split")));
  }
}

TEST_P(MismatchTest, DtypesReductionsAndRootsMustAgree) {
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

// Rank 0 sends 2 elements to rank 1, which expects 3; the others agree, and rank 2 has no part in
// it. Rank 0 and rank 2 could be gone when rank 1 finds out.
TEST_P(MismatchTest, CountsOfAllToAllThatDisagreeNameThePairOnAllRanks) {  // pytorch/pytorch#101380
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

// Who receives something of another size names both; who only sends hears of it in the next call.
TEST_P(MismatchTest, CountsOfGatherAndScatterThatDisagreeNameThePair) {
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

// Rank 3 makes one barrier less than the others: what it calls next meets their barrier.
TEST_P(MismatchTest, ABarrierThatOneRankSkippedIsFoundAtTheNextCall) {  // pytorch/pytorch#138322
  const auto start = Clock::now();
  const auto errors = Errors(4, GetParam(), [](Group& group) -> Status {
    if (group.rank() != 3) CHORUS_RETURN_IF_ERROR(group.Barrier());
    CHORUS_RETURN_IF_ERROR(group.Barrier());
    std::vector<float> x(4, 1.0f);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    return group.AllReduce(x);
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("operation #2: rank "));
    EXPECT_THAT(error, HasSubstr("calls barrier, rank 3 calls all_reduce f32 x 4 sum"));
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

// As above, but the rank that has made one call less is done and leaves.
TEST_P(MismatchTest, ARankThatIsDoneOneBarrierEarlyIsNamed) {  // pytorch/pytorch#138322
  const auto errors = Errors(4, GetParam(), [](Group& group) -> Status {
    if (group.rank() != 3) CHORUS_RETURN_IF_ERROR(group.Barrier());
    return group.Barrier();
  });
  EXPECT_EQ(errors[3], "ok");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(errors[rank], HasSubstr("rank 3 has left the group"));
    EXPECT_THAT(errors[rank], HasSubstr("in barrier #2"));
  }
}

TEST_P(MismatchTest, ACallThatOneRankSkippedShowsBothNamesAndSizes) {  // pytorch/gloo#456
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(48, 1.0f);
    std::vector<double> y(1);
    if (group.rank() == 1) CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
    CHORUS_RETURN_IF_ERROR(group.AllReduce(y));
    return group.Barrier();
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, HasSubstr("all_reduce #1: rank 0 calls f64 x 1 sum, rank 1 calls f32 x 48 "
                                 "sum (group world)"));
  }
}

}  // namespace
}  // namespace chorus
