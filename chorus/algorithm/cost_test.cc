// The cost line of every algorithm, as closed forms written down independently of the schedules:
// bytes each rank sends with uneven blocks, and the number of rounds.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/bytes.h"
#include "chorus/schedule/rounds.h"

namespace chorus {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr WireSizes kBF16 = {2, 4};  // partial sums travel in f32

Schedule Built(std::string_view name, OpKind op) { return (*FindAlgorithm(name, op))->Build(); }

std::int64_t Sent(const Schedule& s, std::int64_t n, std::int64_t rank, const Sizes& sizes,
                  std::int64_t root = 0) {
  const Result<Bytes> bytes = BytesSent(s, n, rank, root, sizes, kBF16);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes->value();
}

// 3, 0, 7, 4, 11, 8, ... elements: uneven, one empty.
Sizes Uneven(std::int64_t n) {
  Sizes sizes;
  for (std::int64_t b = 0; b < n; ++b) sizes.push_back(b % 2 == 0 ? 3 + 2 * b : 4 * (b - 1) / 2);
  return sizes;
}

std::int64_t Total(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

TEST(CostTest, AllGatherBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const Sizes size = Uneven(n);
    for (std::int64_t r = 0; r < n; ++r) {
      // The ring passes on every block but the right neighbour's own.
      const std::int64_t ring = 2 * (Total(size) - size[(r + 1) % n]);
      EXPECT_EQ(Sent(Built("ring", OpKind::kAllGather), n, r, size), ring);
      EXPECT_EQ(Sent(Built("direct", OpKind::kAllGather), n, r, size), 2 * (n - 1) * size[r]);
    }
  }
}

// Ring: every block but the own one, the left neighbour's raw and the others as partial sums.
std::int64_t RingReduceScatter(std::int64_t n, std::int64_t own, const Sizes& size) {
  if (n == 1) return 0;
  const std::int64_t raw = size[(own + n - 1) % n];
  return 2 * raw + 4 * (Total(size) - size[own] - raw);
}

TEST(CostTest, ReduceScatterBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const Sizes size = Uneven(n);
    for (std::int64_t r = 0; r < n; ++r) {
      EXPECT_EQ(Sent(Built("ring", OpKind::kReduceScatter), n, r, size),
                RingReduceScatter(n, r, size));
      EXPECT_EQ(Sent(Built("shifted_ring", OpKind::kReduceScatter), n, r, size),
                RingReduceScatter(n, (r + 1) % n, size));
      EXPECT_EQ(Sent(Built("direct", OpKind::kReduceScatter), n, r, size),
                2 * (Total(size) - size[r]));
    }
  }
}

TEST(CostTest, AllReduceBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const Sizes size = Uneven(n);
    for (std::int64_t r = 0; r < n; ++r) {
      const std::int64_t gather = n == 1 ? 0 : 2 * (Total(size) - size[(r + 1) % n]);
      EXPECT_EQ(Sent(Built("ring", OpKind::kAllReduce), n, r, size),
                RingReduceScatter(n, r, size) + gather);
      EXPECT_EQ(Sent(Built("direct", OpKind::kAllReduce), n, r, size),
                2 * (Total(size) - size[r] + (n - 1) * size[r]));
      EXPECT_EQ(Sent(Built("one_shot", OpKind::kAllReduce), n, r, {100}), 2 * (n - 1) * 100);
    }
  }
}

// Inside a node everyone has all blocks of a local rank to itself; round the ring go sums.
TEST(CostTest, HierarchicalBytes) {
  constexpr std::int64_t kLocal = 3;
  for (std::int64_t n = kLocal; n <= 15; n += kLocal) {
    const Sizes size = Uneven(n);
    for (std::int64_t r = 0; r < n; ++r) {
      std::int64_t mine = 0;  // the blocks of this local rank
      for (std::int64_t b = r % kLocal; b < n; b += kLocal) mine += size[b];
      const std::int64_t next = (r + kLocal) % n;
      const std::int64_t sums = 2 * (Total(size) - mine) + 4 * (mine - size[r]);
      const std::int64_t gather = 2 * (mine - size[next]) + 2 * (kLocal - 1) * mine;
      EXPECT_EQ(Sent(Built("hierarchical:3", OpKind::kReduceScatter), n, r, size), sums);
      EXPECT_EQ(Sent(Built("hierarchical:3", OpKind::kAllGather), n, r, size), gather);
      EXPECT_EQ(Sent(Built("hierarchical:3", OpKind::kAllReduce), n, r, size), sums + gather);
    }
  }
}

TEST(CostTest, EvenBlocksGiveTheTextbookFormulas) {
  // 4 ranks, 1 MiB of f32 in 4 blocks: 2(N - 1)/N V and (N - 1)/N V.
  const WireSizes f32 = {4, 4};
  const Sizes blocks(4, 65'536);
  const std::int64_t v = 1 << 20;
  for (std::string_view name : {"ring", "direct"}) {
    EXPECT_EQ(BytesSent(Built(name, OpKind::kAllReduce), 4, 2, 0, blocks, f32)->value(), v * 6 / 4);
    EXPECT_EQ(BytesSent(Built(name, OpKind::kAllGather), 4, 2, 0, blocks, f32)->value(), v * 3 / 4);
    EXPECT_EQ(BytesSent(Built(name, OpKind::kReduceScatter), 4, 2, 0, blocks, f32)->value(),
              v * 3 / 4);
  }
}

TEST(CostTest, TreeBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    for (std::int64_t root = 0; root < n; ++root) {
      std::int64_t broadcast = 0;
      for (std::int64_t r = 0; r < n; ++r) {
        broadcast += Sent(Built("binomial", OpKind::kBroadcast), n, r, {100}, root);
        const std::int64_t reduce = Sent(Built("binomial", OpKind::kReduce), n, r, {100}, root);
        if (r == root) {
          EXPECT_EQ(reduce, 0);
        } else if (root == 0) {
          // A rank that is added to nobody's sum sends its raw contribution.
          const bool leaf = r % 2 == 1 || r == n - 1;
          EXPECT_EQ(reduce, leaf ? 200 : 400) << "N=" << n << " r=" << r;
        } else {
          EXPECT_TRUE(reduce == 200 || reduce == 400);
        }
      }
      EXPECT_EQ(broadcast, 200 * (n - 1));  // everyone but the root is given it once
      EXPECT_LE(Sent(Built("binomial", OpKind::kBroadcast), n, root, {100}, root),
                200 * std::bit_width(static_cast<std::uint64_t>(n - 1)));
    }
  }
}

TEST(CostTest, RootedBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const Sizes size = Uneven(n);
    for (std::int64_t root = 0; root < n; ++root) {
      for (std::int64_t r = 0; r < n; ++r) {
        EXPECT_EQ(Sent(Built("direct", OpKind::kGather), n, r, size, root),
                  r == root ? 0 : 2 * size[r]);
        EXPECT_EQ(Sent(Built("direct", OpKind::kScatter), n, r, size, root),
                  r == root ? 2 * (Total(size) - size[r]) : 0);
      }
    }
  }
}

TEST(CostTest, AllToAllBytes) {
  for (std::int64_t n = 1; n <= 9; ++n) {
    const Sizes size = Uneven(n * n);
    for (std::int64_t r = 0; r < n; ++r) {
      std::int64_t row = 0;
      for (std::int64_t j = 0; j < n; ++j) row += j == r ? 0 : size[r * n + j];
      for (std::string_view name : {"direct", "confirmed"}) {
        EXPECT_EQ(Sent(Built(name, OpKind::kAllToAll), n, r, size), 2 * row);
      }
    }
  }
}

TEST(CostTest, ScanBytes) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    for (std::int64_t r = 0; r < n; ++r) {
      for (OpKind op : {OpKind::kScan, OpKind::kExScan}) {
        const std::int64_t linear = r == n - 1 ? 0 : r == 0 ? 200 : 400;
        EXPECT_EQ(Sent(Built("linear", op), n, r, {100}), linear);
      }
    }
  }
}

TEST(CostTest, BytesNeedOneSizePerBlock) {
  EXPECT_EQ(
      BytesSent(Built("ring", OpKind::kAllGather), 4, 0, 0, {1, 2, 3}, kBF16).status().message(),
      "3 block sizes are given, ring all_gather has 4 blocks");
}

std::int64_t RoundsOf(const Schedule& s, std::int64_t n, std::int64_t root) {
  const auto rounds = Rounds(*Expand(s, n, root));
  std::int64_t last = 0;
  for (const auto& rank : *rounds) {
    for (std::int64_t round : rank) last = std::max(last, round);
  }
  return last;
}

TEST(CostTest, Rounds) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const std::int64_t some = n > 1 ? 1 : 0;
    const std::int64_t log2 = std::bit_width(static_cast<std::uint64_t>(n - 1));
    EXPECT_EQ(RoundsOf(Built("ring", OpKind::kAllGather), n, 0), n - 1);
    EXPECT_EQ(RoundsOf(Built("ring", OpKind::kReduceScatter), n, 0), n - 1);
    EXPECT_EQ(RoundsOf(Built("ring", OpKind::kAllReduce), n, 0), 2 * (n - 1));
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kAllGather), n, 0), some);
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kReduceScatter), n, 0), some);
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kAllReduce), n, 0), 2 * some);
    if (n % 4 == 0) {
      EXPECT_EQ(RoundsOf(Built("hierarchical:4", OpKind::kAllReduce), n, 0), 2 * (n / 4));
    }
    EXPECT_EQ(RoundsOf(Built("one_shot", OpKind::kAllReduce), n, 0), some);
    EXPECT_EQ(RoundsOf(Built("dissemination", OpKind::kBarrier), n, 0), log2);
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kGather), n, n / 2), some);
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kScatter), n, n / 2), some);
    EXPECT_EQ(RoundsOf(Built("direct", OpKind::kAllToAll), n, 0), some);
    EXPECT_EQ(RoundsOf(Built("confirmed", OpKind::kAllToAll), n, 0), some + log2);
    EXPECT_EQ(RoundsOf(Built("linear", OpKind::kScan), n, 0), n - 1);
    EXPECT_EQ(RoundsOf(Built("linear", OpKind::kExScan), n, 0), n - 1);
    for (std::int64_t root = 0; root < n; ++root) {
      for (OpKind op : {OpKind::kBroadcast, OpKind::kReduce}) {
        const std::int64_t rounds = RoundsOf(Built("binomial", op), n, root);
        EXPECT_LE(rounds, log2);
        if (std::has_single_bit(static_cast<std::uint64_t>(n))) {
          EXPECT_EQ(rounds, log2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace chorus
