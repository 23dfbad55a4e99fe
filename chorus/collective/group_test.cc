// Worked values and public reports (named beside each test) over threads and over processes.
#include "chorus/collective/group.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/call.h"
#include "chorus/collective/plan_cache.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/schedule/bytes.h"

namespace chorus {
namespace {

template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  return text;
}

class GroupTest : public testing::TestWithParam<RankKind> {
 protected:
  // What each rank's function gave back; on an error that alone.
  static std::vector<std::string> Collect(int n, const RankFunction& function) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(20);
    auto results = CollectFromRanks(n, GetParam(), function, options);
    if (!results.ok()) return {results.status().ToString()};
    return *results;
  }
};
INSTANTIATE_TEST_SUITE_P(All, GroupTest, testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

using Strings = std::vector<std::string>;

TEST_P(GroupTest, AllReduceOfThreeFullArrays) {  // S0-02
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      std::vector<float> x(5, static_cast<float>(group.rank() + 1));
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
                      return Text(x);
                    }),
            Strings(3, "6 6 6 6 6"));
}

// S0-03: block j of rank r is [r + 1, 2(r + 1)] to the power j + 1.
TEST_P(GroupTest, ReduceScatterOfPowers) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      std::vector<float> x(6);
                      for (int i = 0; i < 6; ++i) {
                        x[i] = 1;
                        const int base = (group.rank() + 1) * (i % 2 + 1);
                        for (int k = 0; k < i / 2 + 1; ++k) x[i] *= static_cast<float>(base);
                      }
                      std::vector<float> y(2);
                      CHORUS_RETURN_IF_ERROR(group.ReduceScatter(x, y));
                      return Text(y);
                    }),
            (Strings{"6 12", "14 56", "36 288"}));
}

// S3-01 .. S3-03: rank r holds [0, 1, 2, 3] + r, four ranks: sums 6, 10, 14, 18.
TEST_P(GroupTest, FourRanksFourNumbers) {
  EXPECT_EQ(Collect(4,
                    [](Group& group) -> Result<std::string> {
                      std::vector<float> x(4);
                      std::iota(x.begin(), x.end(), static_cast<float>(group.rank()));
                      std::vector<float> part(1);
                      CHORUS_RETURN_IF_ERROR(group.ReduceScatter(x, part));
                      std::vector<float> all(4);
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(x, all));
                      std::vector<int> sum(1);
                      const std::vector<int> own = {group.rank()};
                      CHORUS_RETURN_IF_ERROR(group.Reduce(own, sum, ReduceOp::kSum, 2));
                      return Text(part) + " | " + Text(all) + " | " + Text(sum);
                    }),
            (Strings{"6 | 6 10 14 18 | 0", "10 | 6 10 14 18 | 0", "14 | 6 10 14 18 | 6",
                     "18 | 6 10 14 18 | 0"}));
}

// S0-02, the other half: only the root gets the sum.
TEST_P(GroupTest, ReduceOfThreeFullArrays) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      std::vector<float> x(5, static_cast<float>(group.rank() + 1));
                      const MutableBuffer here = x;
                      const bool root = group.rank() == 0;
                      CHORUS_RETURN_IF_ERROR(group.Reduce(here, root ? here : MutableBuffer(),
                                                          ReduceOp::kSum, /*root=*/0));
                      return Text(x);
                    }),
            (Strings{"6 6 6 6 6", "2 2 2 2 2", "3 3 3 3 3"}));
}

// S4-07: four GPUs in a ring, each sends its own block first: GPU 0 ends with B, 1 with C, 2 with
// D, 3 with A. As a group in which GPU i is rank i + 1, whose ring sends block i first (the steps
// themselves are held by algorithm/trace_test.cc). Block b of GPU i is 10^i (b + 1).
TEST_P(GroupTest, RingReduceScatterThatSendsTheOwnBlockFirst) {
  EXPECT_EQ(Collect(4,
                    [](Group& world) -> Result<std::string> {
                      const int gpu = world.rank();
                      CHORUS_ASSIGN_OR_RETURN(Group ring, world.Split(0, (gpu + 1) % 4));
                      std::vector<int> x = {1, 2, 3, 4};
                      for (int& value : x) {
                        for (int k = 0; k < gpu; ++k) value *= 10;
                      }
                      std::vector<int> block(1);
                      CallOptions options;
                      options.algorithm = "ring";
                      CHORUS_RETURN_IF_ERROR(ring.ReduceScatter(x, block, ReduceOp::kSum, options));
                      return Text(block);
                    }),
            (Strings{"2222", "3333", "4444", "1111"}));
}

TEST_P(GroupTest, AverageOfIntegersTruncatesTowardZero) {  // InfiniTensor/InfiniCCL#37
  EXPECT_EQ(
      Collect(3,
              [](Group& group) -> Result<std::string> {
                const std::vector<std::vector<std::int32_t>> in = {{10, 7}, {20, 8}, {31, -20}};
                std::vector<std::int32_t> x = in[group.rank()];
                CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kAvg));
                return Text(x);
              }),
      Strings(3, "20 -1"));
}

TEST_P(GroupTest, AverageDividesByRanksNotElements) {  // meta-pytorch/torchcomms#287
  for (const auto& [n, count] : {std::pair{3, 6}, {5, 1}, {2, 7}}) {
    const float mean = static_cast<float>(n + 1) / 2;
    EXPECT_EQ(Collect(n,
                      [count = count](Group& group) -> Result<std::string> {
                        std::vector<float> x(count, static_cast<float>(group.rank() + 1));
                        CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kAvg));
                        return Text(x);
                      }),
              Strings(n, Text(std::vector<float>(count, mean))));
  }
}

TEST_P(GroupTest, SumOfBoolsIsOr) {  // pytorch/pytorch#24137
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      const std::array<bool, 4> in[3] = {{true, false, true, true},
                                                         {false, false, true, true},
                                                         {true, false, false, true}};
                      std::array<bool, 4> sum{};
                      std::array<bool, 4> product{};
                      const auto& mine = in[group.rank()];
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(mine, sum));
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(mine, product, ReduceOp::kProd));
                      std::string text;
                      for (const bool bit : sum) text += bit ? 'T' : 'F';
                      for (const bool bit : product) text += bit ? 'T' : 'F';
                      return text;
                    }),
            Strings(3, "TFTTFFFT"));
}

TEST_P(GroupTest, EmptyOperationsTakePartInTheOrder) {  // pytorch/pytorch#85234
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      std::vector<float> none;
                      for (int k = 0; k < 3; ++k) {
                        CHORUS_RETURN_IF_ERROR(group.AllGather(none, none));
                        CHORUS_RETURN_IF_ERROR(group.AllReduce(none));
                        CHORUS_RETURN_IF_ERROR(group.ReduceScatter(none, none));
                        CHORUS_RETURN_IF_ERROR(group.Broadcast(none, 1));
                        CHORUS_RETURN_IF_ERROR(group.Reduce(none, none, ReduceOp::kMax, 2));
                        CHORUS_RETURN_IF_ERROR(group.Gather(none, none, 1));
                        CHORUS_RETURN_IF_ERROR(group.Scatter(none, none, 0));
                        CHORUS_RETURN_IF_ERROR(group.AllToAll(none, none));
                        CHORUS_RETURN_IF_ERROR(group.Scan(none, none));
                        CHORUS_RETURN_IF_ERROR(group.ExScan(none, none));
                        const std::vector<std::int64_t> zeros(3, 0);
                        CHORUS_RETURN_IF_ERROR(group.AllGatherV(none, none, zeros));
                        CHORUS_RETURN_IF_ERROR(group.ReduceScatterV(none, none, zeros));
                        CHORUS_RETURN_IF_ERROR(group.GatherV(none, none, zeros, 2));
                        CHORUS_RETURN_IF_ERROR(group.ScatterV(none, none, zeros, 2));
                        CHORUS_RETURN_IF_ERROR(group.AllToAllV(none, none, zeros, zeros));
                      }
                      std::vector<float> x(1, 1.0f);
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
                      return Text(x);
                    }),
            Strings(3, "3"));
}

TEST_P(GroupTest, ReduceInPlaceAndAsync) {  // open-mpi/ompi#2824
  for (const int n : {2, 3, 4}) {
    for (int root = 0; root < n; ++root) {
      const auto results = Collect(n, [=](Group& group) -> Result<std::string> {
        std::vector<double> x(16384, group.rank() + 1);
        CHORUS_RETURN_IF_ERROR(group.ReduceAsync(x, x, ReduceOp::kSum, root).Wait());
        const double want = group.rank() == root ? n * (n + 1) / 2 : group.rank() + 1;
        for (const double value : x) {
          if (value != want) return Internal(fmt::format("{} instead of {}", value, want));
        }
        return std::string("right");
      });
      EXPECT_EQ(results, Strings(n, "right")) << "root " << root;
    }
  }
}

TEST_P(GroupTest, ReduceScatterVAddsTheRootsPartToo) {  // meta-pytorch/torchcomms#477
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      const std::vector<std::int64_t> counts = {2, 1, 3};
                      std::vector<float> x(6);
                      for (int i = 0; i < 6; ++i) {
                        x[i] = static_cast<float>((group.rank() + 1) * (i + 1));
                      }
                      std::vector<float> y(counts[group.rank()]);
                      CHORUS_RETURN_IF_ERROR(group.ReduceScatterV(x, y, counts));
                      return Text(y);
                    }),
            (Strings{"6 12", "18", "24 30 36"}));
}

TEST_P(GroupTest, ReduceScatterIntoTheBeginningOfTheInput) {  // mpi-forum/mpi-issues#15
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      const auto r = static_cast<float>(group.rank() + 1);
                      std::vector<float> x = {r, 2 * r, 3 * r};
                      CHORUS_RETURN_IF_ERROR(
                          group.ReduceScatter(x, MutableBuffer(x.data(), 1, DType::kF32)));
                      return fmt::format("{}", x[0]);
                    }),
            (Strings{"6", "12", "18"}));
}

TEST_P(GroupTest, BroadcastOfFewerElementsThanRanks) {  // ofiwg/libfabric#5881
  EXPECT_EQ(Collect(7,
                    [](Group& group) -> Result<std::string> {
                      for (const Algorithm* algorithm : AlgorithmsFor(OpKind::kBroadcast)) {
                        CallOptions options;
                        options.algorithm = std::string(algorithm->name);
                        for (int root = 0; root < 7; ++root) {
                          std::vector<int> x(3, 0);
                          if (group.rank() == root) x = {1, 2, 3};
                          CHORUS_RETURN_IF_ERROR(group.Broadcast(x, root, options));
                          if (Text(x) != "1 2 3") return options.algorithm + ": " + Text(x);
                        }
                      }
                      return std::string("right");
                    }),
            Strings(7, "right"));
}

// And the same once more when the call is made again.
TEST_P(GroupTest, AllRanksHoldTheSameBits) {  // open-mpi/ompi#12258
  constexpr std::size_t kBytes = 4000;
  for (const int n : {3, 4, 5, 6, 7}) {
    std::vector<std::string> names;
    for (const Algorithm* algorithm : AlgorithmsFor(OpKind::kAllReduce)) {
      if (algorithm->Fits(n).ok()) names.emplace_back(algorithm->name);
    }
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const auto results = Collect(n, [&](Group& group) -> Result<std::string> {
        const std::int64_t count = dtype == DType::kBF16 ? 2000 : 1000;
        std::string all;
        for (const std::string& name : names) {
          std::string first;
          for (int again = 0; again < 2; ++again) {
            // 1e8, 1, -1e8, 1 over and over, shifted by the rank, and 3 ranks more.
            const float cycle[] = {1e8f, 1.0f, -1e8f, 1.0f, 0.3f};
            std::vector<float> x(1000);
            for (int i = 0; i < 1000; ++i) x[i] = cycle[(i + group.rank()) % 5];
            const CallOptions options{{}, name, nullptr};
            CHORUS_RETURN_IF_ERROR(
                group.AllReduce(MutableBuffer(x.data(), count, dtype), ReduceOp::kSum, options));
            const std::string bits(reinterpret_cast<const char*>(x.data()), kBytes);
            if (again == 0) first = bits;
            if (bits != first) return Internal(name + ": other bits when called again");
          }
          all += first;
        }
        return all;
      });
      ASSERT_EQ(results.size(), static_cast<std::size_t>(n)) << results[0];
      for (std::size_t i = 0; i < names.size(); ++i) {
        for (const std::string& result : results) {
          EXPECT_EQ(result.substr(i * kBytes, kBytes), results[0].substr(i * kBytes, kBytes))
              << names[i] << " on " << n << " ranks";
        }
      }
    }
  }
}

TEST(OffsetTest, CountsAddUpIn64Bits) {  // open-mpi/ompi#9942: 5 ranks of 600,000,000
  Call call;
  call.op = OpKind::kAllGather;
  call.has_counts = true;
  const std::vector<std::int64_t> counts(5, 600'000'000);
  call.counts = counts;
  EXPECT_EQ(call.total(), 3'000'000'000);
  // In place at the right byte, 2,400,000,000, and refused four bytes before it.
  auto* const out = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);  // NOLINT: never read
  call.out = {out, 3'000'000'000, DType::kU8};
  call.in = {out + 2'400'000'000, 600'000'000, DType::kU8};
  EXPECT_TRUE(CheckCall(call, 4, 5).ok());
  call.in.data = out + 2'399'999'996;
  EXPECT_FALSE(CheckCall(call, 4, 5).ok());
}

// The places of blocks as the executor will use them, of a gather onto rank 0 and of an all_to_all
// whose row has 5 x 600,000,000 elements.
TEST(OffsetTest, PlacesOfBlocksAreIn64Bits) {  // pmodels/mpich#2317
  Call call;
  call.group_size = 5;
  call.op = OpKind::kGather;
  call.has_counts = true;
  const std::vector<std::int64_t> counts(5, 600'000'000);
  call.counts = counts;
  PlanCache::Entry entry;
  entry.plan.group_size = 5;
  entry.plan.frame.blocks = 5;
  entry.owners = {0, 1, 2, 3, 4};
  Binding binding;
  PlanCache::BindBlocks(call, entry, binding);
  EXPECT_EQ(binding.out_offsets[4], 2'400'000'000);
  EXPECT_EQ(binding.in_offsets[4], 0);

  call.op = OpKind::kAllToAll;
  const std::vector<std::int64_t> received = {600'000'000, 0, 1, 600'000'000,
                                              std::int64_t{1} << 40};
  call.recv_counts = received;
  entry.owners.clear();
  entry.plan.frame.blocks = 25;
  PlanCache::BindBlocks(call, entry, binding);
  EXPECT_EQ(binding.in_offsets[4], 2'400'000'000);       // block (0, 4)
  EXPECT_EQ(binding.out_offsets[4 * 5], 1'200'000'001);  // block (4, 0)
  EXPECT_EQ(binding.block_elements[4 * 5], std::int64_t{1} << 40);
}

TEST_P(GroupTest, GatherAndScatterAreInverse) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      const int r = group.rank();
                      std::vector<int> x = {10 * r, 10 * r + 1};
                      std::vector<int> all(r == 1 ? 6 : 0, -1);
                      CHORUS_RETURN_IF_ERROR(group.Gather(x, all, 1));
                      std::vector<int> back(2, -1);
                      CHORUS_RETURN_IF_ERROR(group.Scatter(all, back, 1));
                      return Text(all) + "|" + Text(back);
                    }),
            (Strings{"|0 1", "0 1 10 11 20 21|10 11", "|20 21"}));
}

// In place the root's own block stays where it is.
TEST_P(GroupTest, GatherVAndScatterVInPlaceOnTheRoot) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      const std::vector<std::int64_t> counts = {2, 0, 1};
                      const int r = group.rank();
                      std::vector<double> all(3, r);
                      const MutableBuffer own(all.data() + (r == 2 ? 2 : 0), counts[r],
                                              DType::kF64);
                      const bool root = r == 2;
                      CHORUS_RETURN_IF_ERROR(
                          group.GatherV(own, all, root ? counts : std::vector<std::int64_t>(), 2));
                      const std::string gathered = Text(all);
                      for (double& value : all) value += root ? 5 : 0;
                      CHORUS_RETURN_IF_ERROR(
                          group.ScatterV(all, own, root ? counts : std::vector<std::int64_t>(), 2));
                      return gathered + "|" + Text(all);
                    }),
            (Strings{"0 0 0|5 5 0", "1 1 1|1 1 1", "0 0 2|5 5 7"}));
}

TEST_P(GroupTest, AllToAllTurnsRowsIntoColumns) {
  for (const bool in_place : {false, true}) {
    EXPECT_EQ(Collect(3,
                      [in_place](Group& group) -> Result<std::string> {
                        std::vector<std::int64_t> x(3);
                        for (int j = 0; j < 3; ++j) x[j] = 10 * group.rank() + j;
                        std::vector<std::int64_t> y(3);
                        CHORUS_RETURN_IF_ERROR(group.AllToAll(x, in_place ? x : y));
                        return Text(in_place ? x : y);
                      }),
              (Strings{"0 10 20", "1 11 21", "2 12 22"}));
  }
}

// Rank r sends j elements to rank j, so it gets r from each; rank 0 gets nothing.
TEST_P(GroupTest, AllToAllVKnowsOnlyRowAndColumn) {
  for (const bool in_place : {false, true}) {
    EXPECT_EQ(Collect(3,
                      [in_place](Group& group) -> Result<std::string> {
                        const int r = group.rank();
                        std::vector<float> x(6);
                        const auto mark = static_cast<float>(10 * r);
                        for (int i = 0; i < 3; ++i) x[i] = mark + static_cast<float>(i);
                        MutableBuffer y(x.data(), 3 * r, DType::kF32);
                        std::vector<float> other(3 * r);
                        if (!in_place) y = other;
                        const std::vector<std::int64_t> recv(3, r);
                        CHORUS_RETURN_IF_ERROR(group.AllToAllV(
                            ConstBuffer(x.data(), 3, DType::kF32), y, {0, 1, 2}, recv));
                        const auto* const got = static_cast<const float*>(y.data);
                        return Text(std::vector<float>(got, got + y.count));
                      }),
              (Strings{"", "0 10 20", "1 2 11 12 21 22"}));
  }
}

TEST_P(GroupTest, ScansAddTheRanksBefore) {
  for (const bool in_place : {false, true}) {
    EXPECT_EQ(Collect(4,
                      [in_place](Group& group) -> Result<std::string> {
                        const int r = group.rank();
                        std::vector<int> x = {r + 1, 1};
                        std::vector<int> y = {-7, -7};
                        CHORUS_RETURN_IF_ERROR(group.Scan(x, in_place ? x : y));
                        const std::string scan = Text(in_place ? x : y);
                        x = {r + 1, 1};
                        y = {-7, -7};
                        CHORUS_RETURN_IF_ERROR(group.ExScanAsync(x, in_place ? x : y).Wait());
                        return scan + "|" + Text(in_place ? x : y);
                      }),
              (Strings{in_place ? "1 1|1 1" : "1 1|-7 -7", "3 2|1 1", "6 3|3 2", "10 4|6 3"}));
  }
}

// World 5, group [3, 1, 4]: roots are ranks of the group, not of the world, and rank 0 is not in
// it.
TEST_P(GroupTest, RootsOfASubgroupAreItsOwnRanks) {  // pytorch/pytorch#74602
  EXPECT_EQ(
      Collect(5,
              [](Group& world) -> Result<std::string> {
                constexpr int kKeys[] = {0, 1, 0, 0, 2};  // 3, 1, 4 in this order
                const bool in = world.rank() == 3 || world.rank() == 1 || world.rank() == 4;
                CHORUS_ASSIGN_OR_RETURN(Group group, world.Split(in ? 1 : 0, kKeys[world.rank()]));
                if (!in) return std::string("not in it");
                constexpr int kRoot = 2;  // world rank 4
                std::vector<int> x = {world.rank()};
                CHORUS_RETURN_IF_ERROR(group.Broadcast(x, kRoot));
                std::vector<int> mine = {world.rank()};
                std::vector<int> sum = {0};
                CHORUS_RETURN_IF_ERROR(group.Reduce(mine, sum, ReduceOp::kSum, kRoot));
                std::vector<int> all(3, 0);
                CHORUS_RETURN_IF_ERROR(group.Gather(mine, all, kRoot));
                const std::vector<int> parts = {70, 80, 90};
                std::vector<int> part = {0};
                CHORUS_RETURN_IF_ERROR(group.Scatter(parts, part, kRoot));
                return fmt::format("{} {} [{}] {}", x[0], sum[0], Text(all), part[0]);
              }),
      (Strings{"not in it", "4 0 [0 0 0] 80", "not in it", "4 0 [0 0 0] 70", "4 8 [3 1 4] 90"}));
}

TEST_P(GroupTest, SplitByParityAndReversed) {
  EXPECT_EQ(Collect(5,
                    [](Group& group) -> Result<std::string> {
                      // Even and odd ranks; within each the order is turned round.
                      CHORUS_ASSIGN_OR_RETURN(Group half,
                                              group.Split(group.rank() % 2, -group.rank()));
                      std::vector<int> x = {group.rank()};
                      std::vector<int> all(half.size());
                      CHORUS_RETURN_IF_ERROR(half.AllGather(x, all));
                      // A group of a group, and the parent, go on working.
                      CHORUS_ASSIGN_OR_RETURN(Group one, half.Split(half.rank(), 0));
                      CHORUS_RETURN_IF_ERROR(one.AllReduce(x));
                      CHORUS_RETURN_IF_ERROR(group.AllReduce(x));
                      return fmt::format("{} {} of {}: {} | {}", half.name(), half.rank(),
                                         half.size(), Text(all), x[0]);
                    }),
            (Strings{"world/1:0 2 of 3: 4 2 0 | 10", "world/1:1 1 of 2: 3 1 | 10",
                     "world/1:0 1 of 3: 4 2 0 | 10", "world/1:1 0 of 2: 3 1 | 10",
                     "world/1:0 0 of 3: 4 2 0 | 10"}));
}

TEST_P(GroupTest, ManySplitsGiveTheirMemoryBack) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      for (int k = 0; k < 50; ++k) {
                        CHORUS_ASSIGN_OR_RETURN(Group copy, group.Split(0, group.rank()));
                        std::vector<int> x(1000, 1);
                        CHORUS_RETURN_IF_ERROR(copy.AllReduce(x));
                        if (x[999] != 3) return Internal("a wrong sum");
                      }
                      return std::string("right");
                    }),
            Strings(3, "right"));
}

TEST_P(GroupTest, ANegativeColorIsRefusedByAll) {
  EXPECT_EQ(Collect(2,
                    [](Group& group) -> Result<std::string> {
                      const auto half = group.Split(group.rank() == 0 ? -1 : 0, 0);
                      if (half.ok()) return Internal("split");
                      CHORUS_RETURN_IF_ERROR(group.Barrier());
                      return std::string(Name(half.status().code()));
                    }),
            Strings(2, "invalid argument"));
}

// Rank 0 waits on group a first, rank 1 on group b: any wait moves both.
TEST_P(GroupTest, CrossedGroupsDoNotBlock) {
  EXPECT_EQ(Collect(2,
                    [](Group& group) -> Result<std::string> {
                      CHORUS_ASSIGN_OR_RETURN(Group a, group.Split(0, group.rank()));
                      CHORUS_ASSIGN_OR_RETURN(Group b, group.Split(0, group.rank()));
                      std::vector<double> x(200000, 1.0);
                      std::vector<double> y(200000, 2.0);
                      const bool first = group.rank() == 0;
                      Work one = (first ? a : b).AllReduceAsync(first ? x : y);
                      Work two = (first ? b : a).AllReduceAsync(first ? y : x);
                      CHORUS_RETURN_IF_ERROR(one.Wait());
                      CHORUS_RETURN_IF_ERROR(two.Wait());
                      return fmt::format("{} {}", x[199999], y[199999]);
                    }),
            Strings(2, "2 4"));
}

TEST_P(GroupTest, ManyOperationsInFlightEndInOrder) {
  EXPECT_EQ(Collect(3,
                    [](Group& group) -> Result<std::string> {
                      std::vector<std::vector<int>> x(20);
                      std::vector<Work> works;
                      std::string order;
                      for (int k = 0; k < 20; ++k) {
                        x[k].assign(1000 * (k % 3) + 1, k);
                        works.push_back(group.AllReduceAsync(x[k]));
                        works.back().OnDone([&order, k](const Status& status) {
                          order += status.ok() ? static_cast<char>('a' + k) : '!';
                        });
                      }
                      CHORUS_RETURN_IF_ERROR(works.back().Wait());
                      for (int k = 0; k < 20; ++k) {
                        if (!works[k].Done() || x[k].back() != 3 * k) return Internal("wrong");
                      }
                      return order;
                    }),
            Strings(3, "abcdefghijklmnopqrst"));
}

// A schedule of the user's that sends everything twice: the counted bytes must show it.
TEST_P(GroupTest, ADoubledSendIsCountedTwice) {
  const Schedule once = FindAlgorithm("direct", OpKind::kAllGather).value()->Build();
  const Schedule twice = Schedule::Parse(R"(
schedule doubled all_gather
  blocks N
  owns r
  tmp N
begin
  c: copy out[r] = in[r]
  for d in 1 .. N - 1
    let q = (r + d) % N
    let p = (r - d) % N
    s[d]: send out[r] to q as 0 after c
    t[d]: send out[r] to q as 1 after c
    v[d]: recv out[p] from p as 0
    w[d]: recv tmp[p : p] from p as 1
  end
end)")
                             .value();
  constexpr std::int64_t kCount = 100;
  const auto results = Collect(3, [&](Group& group) -> Result<std::string> {
    std::vector<float> x(kCount, static_cast<float>(group.rank()));
    std::vector<float> y(3 * kCount);
    const CallOptions options{{}, "", &twice};
    CHORUS_RETURN_IF_ERROR(group.AllGather(x, y, options));
    if (y[2 * kCount] != 2.0f) return Internal("a wrong result");
    return fmt::format("{}", group.traffic()[OpKind::kAllGather].bytes_sent);
  });
  const std::vector<std::int64_t> blocks(3, kCount);
  for (int rank = 0; rank < 3; ++rank) {
    const auto predicted = [&](const Schedule& schedule) {
      return std::to_string(BytesSent(schedule, 3, rank, 0, blocks, {4, 4}).value().value());
    };
    ASSERT_EQ(results.size(), 3u) << results[0];
    EXPECT_EQ(results[rank], predicted(twice));
    EXPECT_NE(results[rank], predicted(once));
  }
}

TEST_P(GroupTest, TrafficIsCountedByOperation) {
  EXPECT_EQ(Collect(2,
                    [](Group& group) -> Result<std::string> {
                      std::vector<double> x(10);
                      std::vector<double> y(20);
                      CHORUS_RETURN_IF_ERROR(group.AllGather(x, y));
                      CHORUS_RETURN_IF_ERROR(group.ReduceScatter(y, x));
                      CHORUS_RETURN_IF_ERROR(group.ReduceScatter(y, x));
                      CHORUS_RETURN_IF_ERROR(group.Barrier());
                      const Traffic t = group.traffic();
                      const auto text = [&](OpKind op) {
                        return fmt::format("{}/{}/{} ", t[op].bytes_sent, t[op].messages_sent,
                                           t[op].calls);
                      };
                      return text(OpKind::kAllGather) + text(OpKind::kReduceScatter) +
                             text(OpKind::kAllReduce) + text(OpKind::kBarrier) +
                             fmt::format("{}", t.Total().bytes_sent);
                    }),
            Strings(2, "80/1/1 160/2/2 0/0/0 0/1/1 240"));
}

}  // namespace
}  // namespace chorus
