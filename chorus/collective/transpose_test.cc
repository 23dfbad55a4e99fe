// What a collective does to the numbers of all ranks together is a linear map; its matrix is built
// here column by column, from basis vectors, by the calls themselves. The gradient of a call is the
// transposed map, and that is a collective as well:
//
//   all_gather  [1]            reduce_scatter [1 1]        (one element a rank, 2 ranks;
//               [  1]                         [   1 1]      rows: out of rank 0, out of rank 1;
//               [1  ]                                       columns: in of rank 0, in of rank 1)
//               [  1]
//
//   all_gather <-> reduce_scatter     broadcast <-> reduce     gather <-> scatter
//   all_reduce, all_to_all: themselves (of all_to_all_v with the counts turned)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "chorus/collective/run_ranks.h"

namespace chorus {
namespace {

using Numbers = std::vector<double>;
using Matrix = std::vector<Numbers>;  // by row

// One linear collective: what each rank gives and gets, and the call.
struct LinearCall {
  std::vector<std::int64_t> in;   // elements of each rank
  std::vector<std::int64_t> out;  // of each rank
  std::function<Status(Group& group, Numbers& in, Numbers& out)> call;
};

std::int64_t Total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Column (r, e) is what all ranks get when element e of rank r is 1 and everything else is 0.
Matrix MatrixOf(const LinearCall& linear) {
  const auto ranks = static_cast<int>(linear.in.size());
  Matrix matrix(static_cast<std::size_t>(Total(linear.out)),
                Numbers(static_cast<std::size_t>(Total(linear.in)), 0));
  const Status status = RunRanks(ranks, RankKind::kThreads, [&](Group& group) -> Status {
    const auto me = static_cast<std::size_t>(group.rank());
    const auto first_row = static_cast<std::size_t>(
        std::accumulate(linear.out.begin(), linear.out.begin() + group.rank(), std::int64_t{0}));
    std::size_t column = 0;
    for (std::size_t r = 0; r < linear.in.size(); ++r) {
      for (std::int64_t e = 0; e < linear.in[r]; ++e, ++column) {
        Numbers in(static_cast<std::size_t>(linear.in[me]), 0);
        if (r == me) in[static_cast<std::size_t>(e)] = 1;
        Numbers out(static_cast<std::size_t>(linear.out[me]), 0);
        const Status called = linear.call(group, in, out);
        if (!called.ok()) return called;
        for (std::size_t i = 0; i < out.size(); ++i) matrix[first_row + i][column] = out[i];
      }
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return matrix;
}

Matrix Transposed(const Matrix& matrix) {
  Matrix turned(matrix.empty() ? 0 : matrix[0].size(), Numbers(matrix.size()));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix[i].size(); ++j) turned[j][i] = matrix[i][j];
  }
  return turned;
}

std::vector<std::int64_t> Each(int ranks, std::int64_t count) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), count);
}
std::vector<std::int64_t> OnlyAt(int ranks, int root, std::int64_t count) {
  std::vector<std::int64_t> counts = Each(ranks, 0);
  counts[static_cast<std::size_t>(root)] = count;
  return counts;
}

LinearCall AllGatherOf(const std::vector<std::int64_t>& counts) {
  return {counts, Each(static_cast<int>(counts.size()), Total(counts)),
          [counts](Group& g, Numbers& in, Numbers& out) { return g.AllGatherV(in, out, counts); }};
}
LinearCall ReduceScatterOf(const std::vector<std::int64_t>& counts) {
  return {
      Each(static_cast<int>(counts.size()), Total(counts)), counts,
      [counts](Group& g, Numbers& in, Numbers& out) { return g.ReduceScatterV(in, out, counts); }};
}
LinearCall AllReduceOf(int ranks, std::int64_t count) {
  return {Each(ranks, count), Each(ranks, count),
          [](Group& g, Numbers& in, Numbers& out) { return g.AllReduce(in, out); }};
}
LinearCall BroadcastOf(int ranks, int root, std::int64_t count) {
  return {OnlyAt(ranks, root, count), Each(ranks, count),
          [root](Group& g, Numbers& in, Numbers& out) {
            if (g.rank() == root) out = in;
            return g.Broadcast(out, root);
          }};
}
LinearCall ReduceOf(int ranks, int root, std::int64_t count) {
  return {Each(ranks, count), OnlyAt(ranks, root, count),
          [root](Group& g, Numbers& in, Numbers& out) {
            return g.Reduce(in, out, ReduceOp::kSum, root);
          }};
}
LinearCall GatherOf(const std::vector<std::int64_t>& counts, int root) {
  return {counts, OnlyAt(static_cast<int>(counts.size()), root, Total(counts)),
          [counts, root](Group& g, Numbers& in, Numbers& out) {
            return g.GatherV(in, out, counts, root);
          }};
}
LinearCall ScatterOf(const std::vector<std::int64_t>& counts, int root) {
  return {OnlyAt(static_cast<int>(counts.size()), root, Total(counts)), counts,
          [counts, root](Group& g, Numbers& in, Numbers& out) {
            return g.ScatterV(in, out, counts, root);
          }};
}
// counts[r][s]: what rank r gives rank s.
LinearCall AllToAllOf(const std::vector<std::vector<std::int64_t>>& counts) {
  LinearCall linear;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    linear.in.push_back(Total(counts[r]));
    std::int64_t got = 0;
    for (const auto& row : counts) got += row[r];
    linear.out.push_back(got);
  }
  linear.call = [counts](Group& g, Numbers& in, Numbers& out) {
    const auto me = static_cast<std::size_t>(g.rank());
    std::vector<std::int64_t> got;
    for (const auto& row : counts) got.push_back(row[me]);
    return g.AllToAllV(in, out, counts[me], got);
  };
  return linear;
}

TEST(Transpose, OfTheSmallestAllGatherIsTheReduceScatter) {
  EXPECT_EQ(MatrixOf(AllGatherOf({1, 1})), (Matrix{{1, 0}, {0, 1}, {1, 0}, {0, 1}}));
  EXPECT_EQ(MatrixOf(ReduceScatterOf({1, 1})), (Matrix{{1, 0, 1, 0}, {0, 1, 0, 1}}));
}

// Even, uneven and empty blocks, up to five ranks.
const std::vector<std::vector<std::int64_t>> kBlocks = {{2},       {1, 1},       {3, 0},
                                                        {2, 1, 3}, {2, 2, 2, 2}, {1, 0, 4, 2, 1}};

TEST(Transpose, OfAllGatherIsReduceScatter) {
  for (const auto& counts : kBlocks) {
    EXPECT_EQ(MatrixOf(ReduceScatterOf(counts)), Transposed(MatrixOf(AllGatherOf(counts))))
        << testing::PrintToString(counts);
  }
}

TEST(Transpose, OfAllReduceIsItself) {
  for (const int ranks : {1, 2, 3, 5}) {
    const Matrix matrix = MatrixOf(AllReduceOf(ranks, 3));
    EXPECT_EQ(matrix, Transposed(matrix)) << ranks;
    EXPECT_EQ(std::ssize(matrix), 3 * ranks);
  }
}

TEST(Transpose, OfRootedOperationsAreTheirCounterparts) {
  for (const auto& counts : kBlocks) {
    const auto ranks = static_cast<int>(counts.size());
    for (int root = 0; root < ranks; ++root) {
      EXPECT_EQ(MatrixOf(ReduceOf(ranks, root, 2)),
                Transposed(MatrixOf(BroadcastOf(ranks, root, 2))))
          << ranks << " ranks, root " << root;
      EXPECT_EQ(MatrixOf(ScatterOf(counts, root)), Transposed(MatrixOf(GatherOf(counts, root))))
          << testing::PrintToString(counts) << ", root " << root;
    }
  }
}

TEST(Transpose, OfAllToAllHasTheCountsTurned) {
  const std::vector<std::vector<std::int64_t>> counts = {{1, 2, 0}, {3, 1, 1}, {0, 2, 2}};
  std::vector<std::vector<std::int64_t>> turned = counts;
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t s = 0; s < 3; ++s) turned[r][s] = counts[s][r];
  }
  EXPECT_EQ(MatrixOf(AllToAllOf(turned)), Transposed(MatrixOf(AllToAllOf(counts))));
  const std::vector<std::vector<std::int64_t>> even(4, Each(4, 2));
  EXPECT_EQ(MatrixOf(AllToAllOf(even)), Transposed(MatrixOf(AllToAllOf(even))));
}

}  // namespace
}  // namespace chorus
