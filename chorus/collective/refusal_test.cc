// Calls that are wrong by themselves: refused before anything is sent, told to whom it concerns,
// and the group goes on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chorus/collective/ranks_test.h"
#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

class RefusalTest : public testing::TestWithParam<RankKind> {};
INSTANTIATE_TEST_SUITE_P(All, RefusalTest, testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(RefusalTest, ARefusedCallIsAnErrorEverywhereAndTheGroupGoesOn) {
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

// #1 waits for rank 1, so #2, which rank 0 has wrong, still waits for its turn when #3 is called.
TEST_P(RefusalTest, ARefusedCallBehindAnotherKeepsItsNumber) {
  const auto errors = Errors(2, GetParam(), [](Group& group) -> Status {
    std::vector<float> x(5, 1.0f);
    std::vector<float> y(5, 1.0f);
    if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Work first = group.AllReduceAsync(x);
    const Status second = group.rank() == 0
                              ? group.AllReduce(MutableBuffer(nullptr, 5, DType::kF32))
                              : group.AllReduce(y);
    CHORUS_RETURN_IF_ERROR(Expect(second.code() == StatusCode::kInvalidArgument, "refused"));
    std::vector<float> z(5, 1.0f);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(z));
    CHORUS_RETURN_IF_ERROR(first.Wait());
    CHORUS_RETURN_IF_ERROR(Expect(x[4] == 2 && z[4] == 2, "sums of two ones"));
    const std::vector<OperationRecord> records = group.Records(0);
    CHORUS_RETURN_IF_ERROR(Expect(records.size() == 3, "a record of each call"));
    return Expect(records[1].number == 2 && records[1].state == OperationRecord::State::kRefused,
                  "that #2 is recorded as refused");
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

// The refused call's peers have streamed half a message when they learn of it.
TEST_P(RefusalTest, ARefusedCallAmongLongMessages) {
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

TEST_P(RefusalTest, LocalFaultsAreRefusedBeforeAnythingIsSent) {
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

// A list that is wrong by itself is refused before anything is sent, and the group goes on.
TEST_P(RefusalTest, AListOfCountsThatCannotBeIsRefused) {  // pytorch/pytorch#117486
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

TEST_P(RefusalTest, AnAlgorithmThatPassesBlocksOnIsNoneForPrivateCounts) {
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

TEST_P(RefusalTest, SizesThatWrapAroundAreRefused) {
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
TEST_P(RefusalTest, EmptyBuffersOverlapNothing) {
  const auto errors = Errors(2, GetParam(), [](Group& group) {
    std::vector<float> all(4, static_cast<float>(group.rank() + 1));
    const bool first = group.rank() == 0;
    return group.ReduceScatterV(
        all, MutableBuffer(all.data() + (first ? 0 : 1), first ? 4 : 0, DType::kF32), {4, 0});
  });
  EXPECT_THAT(errors, testing::Each("ok"));
}

}  // namespace
}  // namespace chorus
