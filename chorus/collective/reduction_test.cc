// Reductions and types: worked values and public reports (named beside each test), over threads and
// over processes, with every algorithm.
#include "chorus/base/reduction.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/kernel/small_float.h"

namespace chorus {
namespace {

using testing::HasSubstr;

// What cannot be one contiguous run of elements is refused by the compiler: a view with strides
// would have to be read in its logical order (pytorch/pytorch#130251 and #128066).
static_assert(std::is_convertible_v<std::vector<float>&, MutableBuffer>);
static_assert(std::is_convertible_v<std::vector<std::complex<double>>&, MutableBuffer>);
static_assert(std::is_convertible_v<std::vector<Located<float>>&, ConstBuffer>);
static_assert(!std::is_convertible_v<std::deque<float>&, ConstBuffer>);
static_assert(!std::is_convertible_v<const std::vector<float>&, MutableBuffer>);

class ReductionCallTest : public testing::TestWithParam<RankKind> {
 protected:
  // What `function` gives on each of n ranks, for each algorithm that can be forced for `op` and
  // adds in rank order if asked for.
  static void ForEachAlgorithm(int n, OpKind op, bool rank_order,
                               const std::function<Status(Group&, const CallOptions&)>& function) {
    for (const Algorithm* algorithm : AlgorithmsFor(op)) {
      if (!algorithm->Fits(n).ok()) continue;
      if (rank_order && algorithm->Build().order() != ReduceOrder::kRank) continue;
      CallOptions options;
      options.algorithm = std::string(algorithm->name);
      const Status status = Run(n, [&](Group& group) { return function(group, options); });
      EXPECT_TRUE(status.ok()) << algorithm->name << ": " << status.message();
    }
  }
  static Status Run(int n, const std::function<Status(Group&)>& function) {
    JoinOptions options;
    options.timeout = std::chrono::seconds(20);
    return RunRanks(n, GetParam(), function, options);
  }
};
INSTANTIATE_TEST_SUITE_P(All, ReductionCallTest,
                         testing::Values(RankKind::kThreads, RankKind::kProcesses),
                         [](const auto& test) { return std::string(Name(test.param)); });

template <typename T>
Status Want(const std::vector<T>& got, const std::vector<T>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) return Internal(fmt::format("element {} is wrong", i));
  }
  return OkStatus();
}

// `in` reduced by all_reduce, reduce (to the last rank) and reduce_scatter: all give `want`.
template <typename T>
Status CheckAllKinds(Group& group, const std::vector<T>& in, const Reduction& op,
                     const std::vector<T>& want) {
  std::vector<T> out(in.size());
  CHORUS_RETURN_IF_ERROR(group.AllReduce(in, out, op));
  CHORUS_RETURN_IF_ERROR(Want(out, want));
  const int root = group.size() - 1;
  std::vector<T> at_root(in.size());
  CHORUS_RETURN_IF_ERROR(group.Reduce(in, at_root, op, root));
  if (group.rank() == root) CHORUS_RETURN_IF_ERROR(Want(at_root, want));
  std::vector<std::int64_t> counts(static_cast<std::size_t>(group.size()), 0);
  counts[0] = std::ssize(in);  // all to rank 0
  std::vector<T> share(group.rank() == 0 ? in.size() : 0);
  CHORUS_RETURN_IF_ERROR(group.ReduceScatterV(in, share, counts, op));
  return group.rank() == 0 ? Want(share, want) : OkStatus();
}

template <typename T>
Status CheckBitwise(Group& group) {
  const T values[] = {7, 11, 22, 7, 11, 22, 7};
  const std::vector<T> in(5, values[group.rank()]);
  T all_and = values[0];
  T all_or = values[0];
  T all_xor = values[0];
  for (int r = 1; r < group.size(); ++r) {
    all_and = static_cast<T>(all_and & values[r]);
    all_or = static_cast<T>(all_or | values[r]);
    all_xor = static_cast<T>(all_xor ^ values[r]);
  }
  const auto filled = [](T value) { return std::vector<T>(5, value); };
  CHORUS_RETURN_IF_ERROR(CheckAllKinds(group, in, ReduceOp::kBitAnd, filled(all_and)));
  CHORUS_RETURN_IF_ERROR(CheckAllKinds(group, in, ReduceOp::kBitOr, filled(all_or)));
  return CheckAllKinds(group, in, ReduceOp::kBitXor, filled(all_xor));
}

// A pass over one contribution, in place, is none only if it changes nothing.
TEST_P(ReductionCallTest, WhatIsAloneIsScaledInPlaceToo) {
  const auto check = [](Group& group, float* x, std::int32_t* y) -> Status {
    constexpr std::int64_t kCount = 3000;
    const int n = group.size();
    std::fill_n(x, kCount, 3.0f);
    const MutableBuffer floats(x, kCount, DType::kF32);
    CHORUS_RETURN_IF_ERROR(group.Scan(floats, floats, Reduction::PremulSum(0.5)));
    const float scanned = 1.5f * static_cast<float>(group.rank() + 1);
    CHORUS_RETURN_IF_ERROR(
        Want(std::vector<float>(x, x + kCount), std::vector<float>(kCount, scanned)));
    std::fill_n(x, kCount, 3.0f);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(floats, Reduction::PremulSum(0.5)));
    CHORUS_RETURN_IF_ERROR(Want(std::vector<float>(x, x + kCount),
                                std::vector<float>(kCount, 1.5f * static_cast<float>(n))));
    std::fill_n(y, kCount, 7);
    const MutableBuffer integers(y, kCount, DType::kI32);
    CHORUS_RETURN_IF_ERROR(group.Scan(integers, integers, ReduceOp::kLogicalAnd));
    return Want(std::vector<std::int32_t>(y, y + kCount), std::vector<std::int32_t>(kCount, 1));
  };
  for (const int n : {1, 3}) {
    const Status status = Run(n, [&](Group& group) -> Status {
      std::vector<float> x(3000);
      std::vector<std::int32_t> y(3000);
      CHORUS_RETURN_IF_ERROR(check(group, x.data(), y.data()));
      CHORUS_ASSIGN_OR_RETURN(auto u, group.Allocate<float>(3000));
      CHORUS_ASSIGN_OR_RETURN(auto v, group.Allocate<std::int32_t>(3000));
      return check(group, u.data(), v.data());
    });
    EXPECT_TRUE(status.ok()) << n << ": " << status.message();
  }
}

TEST_P(ReductionCallTest, BitwiseIsNotASum) {  // pytorch#41362, torchcomms#2082
  for (const int n : {2, 3, 7}) {
    const Status status = Run(n, [](Group& group) -> Status {
      CHORUS_RETURN_IF_ERROR(CheckBitwise<std::int8_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckBitwise<std::int16_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckBitwise<std::int32_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckBitwise<std::int64_t>(group));
      return CheckBitwise<std::uint8_t>(group);
    });
    EXPECT_TRUE(status.ok()) << n << ": " << status.message();
  }
}

template <typename T>
Status CheckAverage(Group& group) {
  // Sums of 5 (r + 1) + 1 - 20: negative for signed types, and not divisible.
  const int n = group.size();
  const int shift = std::is_signed_v<T> ? 20 : 0;
  const std::vector<T> in(4, static_cast<T>(5 * group.rank() + 1 - shift));
  const int sum = 5 * n * (n - 1) / 2 + n - shift * n;
  return CheckAllKinds(group, in, ReduceOp::kAvg, std::vector<T>(4, static_cast<T>(sum / n)));
}

TEST_P(ReductionCallTest, AverageOfIntegersOfAllWidths) {  // InfiniTensor/InfiniCCL#37
  for (const int n : {3, 5, 6}) {
    const Status status = Run(n, [](Group& group) -> Status {
      CHORUS_RETURN_IF_ERROR(CheckAverage<std::int8_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckAverage<std::int16_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckAverage<std::int32_t>(group));
      CHORUS_RETURN_IF_ERROR(CheckAverage<std::int64_t>(group));
      return CheckAverage<std::uint8_t>(group);
    });
    EXPECT_TRUE(status.ok()) << n << ": " << status.message();
  }
}

TEST_P(ReductionCallTest, AverageDividesByRanksInEveryOperation) {  // meta-pytorch/torchcomms#287
  for (const auto& [n, count] : {std::pair{3, 6}, {5, 1}, {2, 7}}) {
    const Status status = Run(n, [count = count](Group& group) {
      const std::vector<float> in(count, static_cast<float>(group.rank() + 1));
      const std::vector<float> want(count, static_cast<float>(group.size() + 1) / 2);
      return CheckAllKinds(group, in, ReduceOp::kAvg, want);
    });
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST_P(ReductionCallTest, BoolsStayBools) {  // pytorch/pytorch#89197 and #24137
  ForEachAlgorithm(3, OpKind::kAllReduce, false, [](Group& group, const CallOptions& options) {
    // As bytes; rank 1 holds a 2 where it should hold a 1.
    const std::vector<std::vector<std::uint8_t>> in = {{1, 0, 1, 1}, {0, 0, 2, 1}, {1, 0, 0, 1}};
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax, ReduceOp::kLogicalOr, ReduceOp::kProd,
                              ReduceOp::kMin, ReduceOp::kLogicalAnd}) {
      std::vector<std::uint8_t> x = in[group.rank()];
      CHORUS_RETURN_IF_ERROR(
          group.AllReduce(MutableBuffer(x.data(), 4, DType::kBool), op, options));
      const bool is_or = op == ReduceOp::kSum || op == ReduceOp::kMax || op == ReduceOp::kLogicalOr;
      CHORUS_RETURN_IF_ERROR(Want(x, is_or ? std::vector<std::uint8_t>{1, 0, 1, 1}
                                           : std::vector<std::uint8_t>{0, 0, 0, 1}));
    }
    return OkStatus();
  });
}

TEST_P(ReductionCallTest, EveryOperationMovesBools) {  // pytorch/pytorch#89197
  const Status status = Run(3, [](Group& group) -> Status {
    const bool own = group.rank() != 1;
    const std::array<bool, 2> in = {own, true};
    std::array<bool, 6> all{};
    CHORUS_RETURN_IF_ERROR(group.AllGather(in, all));
    if (all != std::array<bool, 6>{true, true, false, true, true, true}) return Internal("gather");
    std::array<bool, 2> sent = in;
    CHORUS_RETURN_IF_ERROR(group.Broadcast(sent, 1));
    if (sent != std::array<bool, 2>{false, true}) return Internal("broadcast");
    std::array<bool, 2> share{};
    CHORUS_RETURN_IF_ERROR(group.ReduceScatter(all, share));
    if (share != std::array<bool, 2>{own, true}) return Internal("reduce_scatter");
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(ReductionCallTest, SumsOfBF16AreRoundedOnce) {
  ForEachAlgorithm(3, OpKind::kAllReduce, false, [](Group& group, const CallOptions& options) {
    const float mine = group.rank() == 0 ? 256.0f : 1.0f;
    std::vector<std::uint16_t> x(1000, BF16::Narrow(mine));
    CHORUS_RETURN_IF_ERROR(
        group.AllReduce(MutableBuffer(x.data(), 1000, DType::kBF16), ReduceOp::kSum, options));
    return Want(x, std::vector<std::uint16_t>(1000, BF16::Narrow(258.0f)));
  });
}

TEST_P(ReductionCallTest, ComplexNumbers) {  // pytorch/pytorch#45879
  using C = std::complex<float>;
  using Z = std::complex<double>;
  for (const int n : {2, 3}) {
    ForEachAlgorithm(n, OpKind::kAllReduce, false, [](Group& group, const CallOptions& options) {
      const auto ranks = static_cast<double>(group.size());
      std::vector<Z> x(7, Z(1, 1));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kProd, options));
      // (1 + i)^2 = 2i, (1 + i)^3 = -2 + 2i
      CHORUS_RETURN_IF_ERROR(Want(x, std::vector<Z>(7, group.size() == 2 ? Z(0, 2) : Z(-2, 2))));
      std::vector<C> y(5, C(static_cast<float>(group.rank()), 1));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(y, ReduceOp::kSum, options));
      CHORUS_RETURN_IF_ERROR(Want(
          y, std::vector<C>(
                 5, C(static_cast<float>(ranks * (ranks - 1) / 2), static_cast<float>(ranks)))));
      std::vector<Z> z(5, Z(2.0 * group.rank(), 3));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(z, ReduceOp::kAvg, options));
      return Want(z, std::vector<Z>(5, Z(ranks - 1, 3)));
    });
  }
}

TEST_P(ReductionCallTest, NonsenseIsRefusedAndTheGroupGoesOn) {
  const Status status = Run(2, [](Group& group) -> Status {
    std::vector<std::complex<float>> complex(3);
    std::vector<float> real(3, 1.0f);
    const auto refused = [](const Status& got, const std::string& text) {
      return got.scope() == ErrorScope::kCall && got.message().find(text) != std::string::npos
                 ? OkStatus()
                 : Internal(fmt::format("'{}' instead of '{}'", got.ToString(), text));
    };
    CHORUS_RETURN_IF_ERROR(refused(group.AllReduce(complex, ReduceOp::kMax),
                                   "all_reduce: max of complex64 has no meaning: complex"));
    CHORUS_RETURN_IF_ERROR(refused(group.AllReduce(complex, ReduceOp::kBitOr),
                                   "all_reduce: bit_or of complex64 has no meaning"));
    CHORUS_RETURN_IF_ERROR(refused(group.AllReduce(real, ReduceOp::kBitAnd),
                                   "all_reduce: bit_and of f32 has no meaning: it takes integers"));
    CHORUS_RETURN_IF_ERROR(refused(group.AllReduce(real, ReduceOp::kMinLoc),
                                   "min_loc of f32 has no meaning: it takes pairs"));
    CHORUS_RETURN_IF_ERROR(
        refused(group.AllReduce(real, ReduceOp::kPremulSum), "premul_sum has no factor"));
    CHORUS_RETURN_IF_ERROR(group.AllReduce(real));
    return Want(real, {2, 2, 2});
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(ReductionCallTest, PremulSumMultipliesEachContributionOnce) {
  for (const int n : {1, 2, 3, 5}) {
    ForEachAlgorithm(n, OpKind::kAllReduce, false, [n](Group& group, const CallOptions& options) {
      std::vector<float> x(9, static_cast<float>(group.rank() + 1));
      CHORUS_RETURN_IF_ERROR(group.AllReduce(x, Reduction::PremulSum(0.5), options));
      CHORUS_RETURN_IF_ERROR(Want(x, std::vector<float>(9, static_cast<float>(n * (n + 1)) / 4)));
      // bf16: 3 x 85.5 would be rounded to 256 if it were stored before it is added.
      std::vector<std::uint16_t> y(9, BF16::Narrow(group.rank() == 0 ? 85.5f : 0.25f));
      const MutableBuffer buffer(y.data(), 9, DType::kBF16);
      CHORUS_RETURN_IF_ERROR(group.AllReduce(buffer, Reduction::PremulSum(3), options));
      const float sum = 256.5f + 0.75f * static_cast<float>(n - 1);
      return Want(y, std::vector<std::uint16_t>(9, BF16::Narrow(sum)));
    });
  }
}

TEST_P(ReductionCallTest, AnotherFactorOrFunctionIsAMismatch) {
  for (const bool by_user : {false, true}) {
    const auto outcomes = OutcomeOfRanks(2, GetParam(), [&](Group& group) -> Result<std::string> {
      const auto keep = [](void*, const void*, std::int64_t, DType) {};
      const Reduction reduction =
          by_user ? Reduction::User(UserReduction{group.rank() == 0 ? "left" : "right", true, keep})
                  : Reduction::PremulSum(group.rank() == 0 ? 0.5 : 0.25);
      std::vector<float> x(8, 1.0f);
      CHORUS_RETURN_IF_ERROR(group.AllReduce(x, reduction));
      return std::string("done");
    });
    for (const auto& outcome : outcomes) {
      ASSERT_FALSE(outcome.ok());
      EXPECT_EQ(outcome.status().code(), StatusCode::kMismatch);
      EXPECT_THAT(outcome.status().message(),
                  HasSubstr(by_user ? "with another function" : "with another factor"));
    }
  }
}

TEST_P(ReductionCallTest, TheSmallestIndexOfTheLargestValue) {
  ForEachAlgorithm(4, OpKind::kAllReduce, false, [](Group& group, const CallOptions& options) {
    const float values[] = {3, 8, 8, 1};
    std::vector<Located<float>> x(6, {values[group.rank()], 100 - group.rank()});
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x, ReduceOp::kMaxLoc, options));
    return Want(x, std::vector<Located<float>>(6, {8, 98}));
  });
}

// left = 10 left + right.
const Reduction kDigits = Reduction::User(
    UserReduction{"digits", false, [](void* left, const void* right, std::int64_t count, DType) {
                    for (std::int64_t i = 0; i < count; ++i) {
                      auto& a = static_cast<std::int64_t*>(left)[i];
                      a = 10 * a + static_cast<const std::int64_t*>(right)[i];
                    }
                  }});

// Joins decimal numbers: 12 and 3 give 123. Associative, but does not commute.
const Reduction kJoin = Reduction::User(
    UserReduction{"join", false, [](void* left, const void* right, std::int64_t count, DType) {
                    for (std::int64_t i = 0; i < count; ++i) {
                      auto& a = static_cast<std::int64_t*>(left)[i];
                      const auto b = static_cast<const std::int64_t*>(right)[i];
                      for (std::int64_t power = 1; power <= b; power *= 10) a *= 10;
                      a += b;
                    }
                  }});

TEST_P(ReductionCallTest, AFunctionThatDoesNotCommuteKeepsRankOrder) {  // faasm/faabric#33
  const Status three = Run(3, [](Group& group) -> Status {
    const std::vector<std::int64_t> in(2, group.rank() + 1);
    for (int root = 0; root < 3; ++root) {
      std::vector<std::int64_t> out(2);
      CHORUS_RETURN_IF_ERROR(group.Reduce(in, out, kDigits, root));
      if (group.rank() == root) CHORUS_RETURN_IF_ERROR(Want(out, {123, 123}));
    }
    return CheckAllKinds(group, in, kDigits, {123, 123});
  });
  EXPECT_TRUE(three.ok()) << three.message();
  ForEachAlgorithm(5, OpKind::kReduce, true, [](Group& group, const CallOptions& options) {
    const std::vector<std::int64_t> in(3, group.rank() + 1);
    for (int root = 0; root < 5; ++root) {
      std::vector<std::int64_t> out(3);
      CHORUS_RETURN_IF_ERROR(group.Reduce(in, out, kJoin, root, options));
      if (group.rank() == root) CHORUS_RETURN_IF_ERROR(Want(out, {12345, 12345, 12345}));
    }
    return OkStatus();
  });
  ForEachAlgorithm(5, OpKind::kAllReduce, true, [](Group& group, const CallOptions& options) {
    std::vector<std::int64_t> x(3000, group.rank() + 1);
    CHORUS_RETURN_IF_ERROR(group.AllReduce(x, kJoin, options));
    return Want(x, std::vector<std::int64_t>(3000, 12345));
  });
}

TEST_P(ReductionCallTest, AnAlgorithmInAnyOrderIsRefusedForIt) {  // faasm/faabric#33
  const Status status = Run(3, [](Group& group) -> Status {
    std::vector<std::int64_t> x(3, group.rank() + 1);
    CallOptions options;
    options.algorithm = "ring";
    for (int again = 0; again < 2; ++again) {  // also once the plan is known
      const Status refused = group.AllReduce(x, kJoin, options);
      if (refused.code() != StatusCode::kUnsupported ||
          refused.message().find("user join does not commute, and ring adds in any order") ==
              std::string::npos) {
        return Internal(refused.ToString());
      }
      std::vector<std::int64_t> sum(3, 1);
      CHORUS_RETURN_IF_ERROR(group.AllReduce(sum, ReduceOp::kSum, options));
    }
    return OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(ReductionCallTest, AFunctionOnBF16SeesF32AndIsRoundedOnce) {
  ForEachAlgorithm(3, OpKind::kAllReduce, false, [](Group& group, const CallOptions& options) {
    const Reduction add = Reduction::User(
        UserReduction{"add", true, [](void* left, const void* right, std::int64_t count, DType) {
                        for (std::int64_t i = 0; i < count; ++i) {
                          static_cast<float*>(left)[i] += static_cast<const float*>(right)[i];
                        }
                      }});
    std::vector<std::uint16_t> x(700, BF16::Narrow(group.rank() == 0 ? 256.0f : 1.0f));
    CHORUS_RETURN_IF_ERROR(
        group.AllReduce(MutableBuffer(x.data(), 700, DType::kBF16), add, options));
    return Want(x, std::vector<std::uint16_t>(700, BF16::Narrow(258.0f)));
  });
}

}  // namespace
}  // namespace chorus
