// Memory that all ranks can reach: results, mixed calls, what is counted, what is given back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using Ints = SymmetricArray<std::int32_t>;

// in[i] of a rank.
std::int32_t Value(int rank, std::int64_t i) {
  return static_cast<std::int32_t>(rank * 1000 + i % 997);
}

Status ExpectNumbers(const char* what, std::int64_t n, const std::int32_t* got,
                     const std::function<std::int64_t(std::int64_t)>& want) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (got[i] == want(i)) continue;
    return Internal(fmt::format("{} of {}: element {} is {}, not {}", what, n, i, got[i], want(i)));
  }
  return OkStatus();
}

// Every operation with V = n elements a block, `in` and `out` of all ranks in such memory unless
// `ordinary` is this rank.
Status AllOperations(Group& group, std::int64_t n, int ordinary) {
  const int size = group.size();
  const int rank = group.rank();
  const std::int64_t all = n * size;
  auto in_array = group.Allocate<std::int32_t>(all);
  auto out_array = group.Allocate<std::int32_t>(all);
  if (!in_array.ok()) return in_array.status();
  if (!out_array.ok()) return out_array.status();
  std::vector<std::int32_t> in_vector(static_cast<std::size_t>(all));
  std::vector<std::int32_t> out_vector(static_cast<std::size_t>(all));
  std::int32_t* const in = rank == ordinary ? in_vector.data() : in_array->data();
  std::int32_t* const out = rank == ordinary ? out_vector.data() : out_array->data();
  const auto fill = [&](std::int32_t* data) {
    for (std::int64_t i = 0; i < all; ++i) data[i] = Value(rank, i);
  };
  const auto from = [](const std::int32_t* data, std::int64_t count) {
    return ConstBuffer(data, count, DType::kI32);
  };
  const auto to = [](std::int32_t* data, std::int64_t count) {
    return MutableBuffer(data, count, DType::kI32);
  };
  const auto sum = [&](std::int64_t i) {
    std::int64_t total = 0;
    for (int r = 0; r < size; ++r) total += Value(r, i);
    return total;
  };
  const int root = size - 1;

  fill(in);
  CHORUS_RETURN_IF_ERROR(group.AllReduce(from(in, all), to(out, all)));
  CHORUS_RETURN_IF_ERROR(ExpectNumbers("all_reduce", all, out, sum));
  fill(out);
  CHORUS_RETURN_IF_ERROR(group.AllReduce(to(out, all)));
  CHORUS_RETURN_IF_ERROR(ExpectNumbers("all_reduce in place", all, out, sum));
  CHORUS_RETURN_IF_ERROR(group.ReduceScatter(from(in, all), to(out, n)));
  CHORUS_RETURN_IF_ERROR(
      ExpectNumbers("reduce_scatter", n, out, [&](std::int64_t i) { return sum(rank * n + i); }));
  CHORUS_RETURN_IF_ERROR(group.AllGather(from(in, n), to(out, all)));
  CHORUS_RETURN_IF_ERROR(ExpectNumbers("all_gather", all, out, [&](std::int64_t i) {
    return Value(static_cast<int>(i / n), i % n);
  }));
  CHORUS_RETURN_IF_ERROR(group.AllToAll(from(in, all), to(out, all)));
  CHORUS_RETURN_IF_ERROR(ExpectNumbers("all_to_all", all, out, [&](std::int64_t i) {
    return Value(static_cast<int>(i / n), rank * n + i % n);
  }));
  CHORUS_RETURN_IF_ERROR(group.Reduce(from(in, all), to(out, all), ReduceOp::kSum, root));
  if (rank == root) CHORUS_RETURN_IF_ERROR(ExpectNumbers("reduce", all, out, sum));
  CHORUS_RETURN_IF_ERROR(group.Gather(from(in, n), to(out, rank == root ? all : 0), root));
  if (rank == root) {
    CHORUS_RETURN_IF_ERROR(ExpectNumbers(
        "gather", all, out, [&](std::int64_t i) { return Value(static_cast<int>(i / n), i % n); }));
  }
  CHORUS_RETURN_IF_ERROR(group.Scatter(from(in, rank == root ? all : 0), to(out, n), root));
  CHORUS_RETURN_IF_ERROR(
      ExpectNumbers("scatter", n, out, [&](std::int64_t i) { return Value(root, rank * n + i); }));
  fill(out);
  CHORUS_RETURN_IF_ERROR(group.Broadcast(to(out, all), root));
  CHORUS_RETURN_IF_ERROR(
      ExpectNumbers("broadcast", all, out, [&](std::int64_t i) { return Value(root, i); }));
  CHORUS_RETURN_IF_ERROR(group.Scan(from(in, all), to(out, all)));
  return ExpectNumbers("scan", all, out, [&](std::int64_t i) {
    std::int64_t total = 0;
    for (int r = 0; r <= rank; ++r) total += Value(r, i);
    return total;
  });
}

class AllocateTest : public testing::TestWithParam<RankKind> {};

TEST_P(AllocateTest, EveryOperationIsRightWhicheverRankBringsOrdinaryMemory) {
  for (int size = 1; size <= 4; ++size) {
    const Status status = RunRanks(size, GetParam(), [](Group& group) {
      for (const std::int64_t n : {1, 63, 300, 5000, 70001}) {
        for (int ordinary = -1; ordinary < group.size(); ++ordinary) {
          CHORUS_RETURN_IF_ERROR(AllOperations(group, n, ordinary));
        }
      }
      return OkStatus();
    });
    EXPECT_TRUE(status.ok()) << size << ": " << status.message();
  }
}

TEST_P(AllocateTest, AnyPartAndAnyGroupWillDo) {
  const Status status = RunRanks(4, GetParam(), [](Group& group) -> Status {
    constexpr std::int64_t kCount = 20000;
    CHORUS_ASSIGN_OR_RETURN(Ints array, group.Allocate<std::int32_t>(2 * kCount + 10));
    CHORUS_ASSIGN_OR_RETURN(Group pair, group.Split(group.rank() % 2, 0));
    std::int32_t* const x = array.data() + 3 + group.rank();
    for (std::int64_t i = 0; i < kCount; ++i) x[i] = Value(group.rank(), i);
    CHORUS_RETURN_IF_ERROR(pair.AllReduce(MutableBuffer(x, kCount, DType::kI32)));
    return ExpectNumbers("all_reduce", kCount, x, [&](std::int64_t i) {
      return Value(group.rank() % 2, i) + Value(group.rank() % 2 + 2, i);
    });
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

// Whoever moves them, bytes count along the edges of the schedule.
TEST_P(AllocateTest, CountsAsMuchAsMessagesWould) {
  const auto bytes_of = [&](bool mapped) {
    JoinOptions options;
    options.use_mapped = mapped;
    return CollectFromRanks(
        3, GetParam(),
        [](Group& group) -> Result<std::string> {
          CHORUS_ASSIGN_OR_RETURN(Ints array, group.Allocate<std::int32_t>(30000));
          const MutableBuffer x(array.data(), 30000, DType::kI32);
          CallOptions direct;
          direct.algorithm = "direct";
          CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kSum, direct));
          CHORUS_RETURN_IF_ERROR(group.AllGather(
              ConstBuffer(array.data() + group.rank() * 10000, 10000, DType::kI32), x, direct));
          CHORUS_RETURN_IF_ERROR(
              group.Scatter(x, MutableBuffer(array.data(), 10000, DType::kI32), 0, direct));
          std::string text;
          for (const OpKind op : {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kScatter}) {
            const OpTraffic traffic = group.traffic()[op];
            text += fmt::format("{} {} B {} messages; ", Name(op), traffic.bytes_sent,
                                traffic.messages_sent);
          }
          return text;
        },
        options);
  };
  const auto by_messages = bytes_of(false);
  const auto mapped = bytes_of(true);
  ASSERT_TRUE(by_messages.ok()) << by_messages.status().message();
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_EQ(*by_messages, *mapped);
  EXPECT_NE((*mapped)[1].find("all_reduce 160000 B 4 messages"), std::string::npos) << (*mapped)[1];
}

TEST_P(AllocateTest, MemoryIsZeroAndGivenBack) {
  const Status status = RunRanks(2, GetParam(), [](Group& group) -> Status {
    // Each time the memory of the time before, zero again.
    for (int i = 0; i < 8; ++i) {
      constexpr std::int64_t kCount = std::int64_t{1} << 20;
      CHORUS_ASSIGN_OR_RETURN(Ints array, group.Allocate<std::int32_t>(kCount));
      if (array.size() != kCount || array[0] != 0 || array[kCount - 1] != 0) {
        return Internal("memory is not zero");
      }
      array[0] = array[kCount - 1] = 1;
    }
    CHORUS_ASSIGN_OR_RETURN(Ints none, group.Allocate<std::int32_t>(0));
    return none.size() == 0 ? OkStatus() : Internal("not empty");
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(AllocateTest, MoreThanThereIsIsAnErrorOnEveryRank) {
  const Status status = RunRanks(2, GetParam(), [](Group& group) -> Status {
    const std::int64_t n = group.rank() == 1 ? std::int64_t{1} << 60 : 10;
    const auto array = group.Allocate<std::int32_t>(n);
    if (array.ok()) return Internal("2^62 bytes were had");
    // The group goes on.
    return group.Barrier();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

// A rank whose own block is empty, in memory of its own: its peers must not take that for mapped.
TEST_P(AllocateTest, ARankWithAnEmptyBlockTellsWhereItsMemoryIs) {
  const Status status = RunRanks(3, GetParam(), [](Group& group) -> Status {
    constexpr std::int64_t kCount = 3001;
    const int rank = group.rank();
    auto array = group.Allocate<std::int32_t>(kCount);
    if (!array.ok()) return array.status();
    std::vector<std::int32_t> in(kCount);
    std::iota(in.begin(), in.end(), rank);
    std::vector<std::int32_t> out(kCount);
    const MutableBuffer all =
        rank == 2 ? MutableBuffer(array->data(), kCount, DType::kI32) : MutableBuffer(out);
    const std::vector<std::int64_t> counts = {0, 0, kCount};
    const std::int64_t own = counts[static_cast<std::size_t>(rank)];
    // Only the rank with elements has them in memory that all can reach.
    if (rank == 2) std::copy(in.begin(), in.end(), array->data());
    CHORUS_RETURN_IF_ERROR(group.AllGatherV(ConstBuffer(all.data, own, DType::kI32), all, counts));
    const auto* const gathered = static_cast<const std::int32_t*>(all.data);
    CHORUS_RETURN_IF_ERROR(
        ExpectNumbers("all_gather_v", kCount, gathered, [](std::int64_t i) { return 2 + i; }));
    std::copy(in.begin(), in.end(), static_cast<std::int32_t*>(all.data));
    CHORUS_RETURN_IF_ERROR(
        group.ReduceScatterV(all, MutableBuffer(all.data, own, DType::kI32), counts));
    return ExpectNumbers("reduce_scatter_v", own, gathered,
                         [](std::int64_t i) { return 3 + 3 * i; });
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(All, AllocateTest,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace
}  // namespace chorus
