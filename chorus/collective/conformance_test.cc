// Every operation, algorithm, dtype and reduction against the interpreter of schedules, over
// threads and over processes, with channels so small that messages must stream through them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/group.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/collective/typed_data_test.h"
#include "chorus/mesh/spec.h"
#include "chorus/schedule/bytes.h"
#include "chorus/schedule/interpreter.h"

namespace chorus {
namespace {

struct Case {
  const Algorithm* algorithm;
  DType dtype;
  ReduceOp reduce;
  // By rank, of operations with owners; by block, of all_to_all; else {total}.
  std::vector<std::int64_t> counts;
  int root = 0;
  bool in_place = false;
  bool async = false;
  bool by_counts = false;  // of gather, scatter, all_to_all: the v-variant

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    return sum;
  }
  std::string ToString() const {
    return fmt::format("{} {} {} {} total {} root {}{}{}{}", algorithm->name, Name(algorithm->op),
                       Name(dtype), Name(reduce), total(), root, by_counts ? " by counts" : "",
                       in_place ? " in place" : "", async ? " async" : "");
  }
};

// Small whole numbers, different for each rank and element: exact in every dtype.
Number ValueOf(std::int64_t rank, std::int64_t i, const Case& c) {
  if (c.dtype == DType::kBool) return static_cast<double>((rank + i) % 2);
  const auto value =
      static_cast<double>(c.reduce == ReduceOp::kProd ? 1 + (rank + i) % 2 : (3 * rank + i) % 7);
  if (IsLocated(c.dtype)) return {value, static_cast<double>(10 - rank)};  // some values are equal
  if (IsComplex(c.dtype)) return {value, static_cast<double>((rank + 2 * i) % 3)};
  return value;
}

// The factor of kPremulSum: exact, as all values are.
double FactorOf(DType dtype) { return IsInteger(dtype) ? 3 : 0.5; }

Reduction ReductionOf(const Case& c) {
  return c.reduce == ReduceOp::kPremulSum ? Reduction::PremulSum(FactorOf(c.dtype))
                                          : Reduction(c.reduce);
}

// One operation on two numbers, independent of the kernels.
Number Combine(ReduceOp op, bool is_bool, const Number& a, const Number& b) {
  const auto x = static_cast<std::int64_t>(a.real());
  const auto y = static_cast<std::int64_t>(b.real());
  const bool a_first = a.imag() < b.imag();  // of pairs
  switch (op) {
    case ReduceOp::kProd:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a.real(), b.real());
    case ReduceOp::kMax:
      return std::max(a.real(), b.real());
    case ReduceOp::kBitAnd:
      return static_cast<double>(x & y);
    case ReduceOp::kBitOr:
      return static_cast<double>(x | y);
    case ReduceOp::kBitXor:
      return static_cast<double>(x ^ y);
    case ReduceOp::kLogicalAnd:
      return x != 0 && y != 0 ? 1 : 0;
    case ReduceOp::kLogicalOr:
      return x != 0 || y != 0 ? 1 : 0;
    case ReduceOp::kLogicalXor:
      return (x != 0) != (y != 0) ? 1 : 0;
    case ReduceOp::kMinLoc:
      return a.real() < b.real() || (a.real() == b.real() && a_first) ? a : b;
    case ReduceOp::kMaxLoc:
      return a.real() > b.real() || (a.real() == b.real() && a_first) ? a : b;
    default:
      return is_bool ? Number(std::max(a.real(), b.real())) : a + b;
  }
}

Arithmetic<Number> ArithmeticOf(const Case& c, int n) {
  Arithmetic<Number> arithmetic;
  const bool is_bool = c.dtype == DType::kBool;
  arithmetic.op = [=](const Number& a, const Number& b) {
    return Combine(c.reduce, is_bool, a, b);
  };
  switch (c.reduce) {
    case ReduceOp::kAvg:
      arithmetic.finish = [truncates = IsInteger(c.dtype), n](const Number& x) {
        const Number mean = x / static_cast<double>(n);
        return truncates ? Number(std::trunc(mean.real())) : mean;
      };
      break;
    case ReduceOp::kPremulSum:
      arithmetic.scale = [factor = FactorOf(c.dtype)](const Number& x) { return x * factor; };
      break;
    case ReduceOp::kLogicalAnd:
    case ReduceOp::kLogicalOr:
    case ReduceOp::kLogicalXor:
      arithmetic.scale = [](const Number& x) { return Number(x.real() != 0 ? 1 : 0); };
      break;
    default:
      break;
  }
  return arithmetic;
}

std::string Text(const Number& x) { return fmt::format("({}, {})", x.real(), x.imag()); }

class Runner {
 public:
  explicit Runner(Group& group) : group_(group) {}

  Status Run(const Case& c) {
    const int n = group_.size();
    const int rank = group_.rank();
    const Schedule schedule = c.algorithm->Build();
    const OpKind op = schedule.op();
    const auto frame = schedule.FrameFor(n, rank, c.root).value();
    // The buffers lie in the order of the ranks, whichever blocks they own.
    std::vector<std::int64_t> blocks(frame.blocks);
    std::vector<std::int64_t> begins(frame.blocks);
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < frame.blocks; ++i) {
      const auto own = schedule.FrameFor(n, HasOwners(op) ? i : 0, c.root).value().own;
      const std::int64_t b = HasOwners(op) ? own : i;
      const bool given = HasOwners(op) || op == OpKind::kAllToAll;
      blocks[b] = given ? c.counts[i] : SplitEvenly(c.total(), frame.blocks, i).size;
      begins[b] = std::exchange(begin, begin + blocks[b]);
    }
    // What the interpreter says.
    RankBlocks<Number> in(n);
    for (int r = 0; r < n; ++r) {
      const std::int64_t own = schedule.FrameFor(n, r, c.root).value().own;
      in[r].resize(blocks.size());
      for (std::int64_t b = 0; b < std::ssize(blocks); ++b) {
        if (!InHolds({op, n, c.root, r, own}, b)) continue;
        for (std::int64_t i = 0; i < blocks[b]; ++i) {
          in[r][b].push_back(ValueOf(r, begins[b] + i, c));
        }
      }
    }
    Setting setting;
    setting.block_elements = blocks;
    setting.in_place = c.in_place && HasInPlace(op);
    const auto expansion = Expand(schedule, n, c.root).value();
    const auto expected = Interpret(expansion, setting, ArithmeticOf(c, n), in).value();
    // What the group says.
    const OpTraffic before = group_.traffic()[op];
    std::vector<Number> got;
    CHORUS_RETURN_IF_ERROR(Call(c, op, InOrder(in[rank], begins), got));
    const OpTraffic after = group_.traffic()[op];

    const std::vector<Number> want = InOrder(expected[rank], begins);
    const TypedData rounded(c.dtype, want);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (got.size() != want.size() || got[i] != rounded.NumberAt(i)) {
        return Internal(fmt::format("{}: element {} of {} is {}, not {}", c.ToString(), i,
                                    want.size(), Text(got.size() > i ? got[i] : -1.0),
                                    Text(rounded.NumberAt(i))));
      }
    }
    const WireSizes sizes{SizeOf(c.dtype), SizeOf(AccumulatorOf(c.dtype))};
    const Bytes predicted = BytesSent(schedule, n, rank, c.root, blocks, sizes).value();
    if (after.bytes_sent - before.bytes_sent != predicted.value()) {
      return Internal(fmt::format("{}: {} bytes counted, {} predicted", c.ToString(),
                                  after.bytes_sent - before.bytes_sent, predicted.value()));
    }
    return OkStatus();
  }

 private:
  // The blocks one after another as they lie in a buffer.
  static std::vector<Number> InOrder(const std::vector<std::vector<Number>>& blocks,
                                     const std::vector<std::int64_t>& begins) {
    std::vector<std::pair<std::int64_t, std::int64_t>> order;
    for (std::int64_t b = 0; b < std::ssize(blocks); ++b) order.emplace_back(begins[b], b);
    std::sort(order.begin(), order.end());
    std::vector<Number> flat;
    for (const auto& [begin, b] : order) {
      flat.insert(flat.end(), blocks[b].begin(), blocks[b].end());
    }
    return flat;
  }

  // Makes the call and gives the result, for the ranks that have one.
  Status Call(const Case& c, OpKind op, std::vector<Number> flat, std::vector<Number>& got) {
    const int rank = group_.rank();
    const std::int64_t total = c.total();
    std::int64_t own_begin = 0;
    for (int r = 0; r < rank && HasOwners(op); ++r) own_begin += c.counts[r];
    const std::int64_t own = HasOwners(op) ? c.counts[rank] : total;
    const int n = group_.size();
    std::vector<std::int64_t> sends(n), recvs(n);  // of all_to_all
    std::int64_t received = 0;
    for (int r = 0; r < n && op == OpKind::kAllToAll; ++r) {
      sends[r] = c.counts[rank * n + r];
      recvs[r] = c.counts[r * n + rank];
      received += recvs[r];
    }
    CallOptions options;
    options.algorithm = std::string(c.algorithm->name);

    if (op == OpKind::kBroadcast) flat.resize(total);
    TypedData source(c.dtype, flat);
    const bool keeps_own = op == OpKind::kReduceScatter || op == OpKind::kScatter;
    TypedData result(c.dtype, keeps_own ? own : op == OpKind::kAllToAll ? received : total);
    MutableBuffer out = result.out();
    ConstBuffer input = source.in();
    const bool is_root = rank == c.root;
    bool in_source = op == OpKind::kBroadcast;
    if (c.in_place && (op == OpKind::kAllGather || (op == OpKind::kGather && is_root))) {
      for (std::int64_t i = 0; i < own; ++i) result.Set(own_begin + i, source.NumberAt(i));
      input = result.in(own_begin, own);
    } else if (c.in_place &&
               (op == OpKind::kReduceScatter || (op == OpKind::kScatter && is_root))) {
      out = source.out(own_begin, own);
      in_source = true;
    } else if (c.in_place && !HasOwners(op) && source.size() == out.count) {
      out = source.out();
      in_source = true;
    }
    Work work;
    switch (op) {
      case OpKind::kAllGather:
        work = group_.AllGatherVAsync(input, out, c.counts, options);
        break;
      case OpKind::kReduceScatter:
        work = group_.ReduceScatterVAsync(input, out, c.counts, ReductionOf(c), options);
        break;
      case OpKind::kAllReduce:
        work = group_.AllReduceAsync(input, out, ReductionOf(c), options);
        break;
      case OpKind::kBroadcast:
        out = source.out();
        work = group_.BroadcastAsync(out, c.root, options);
        break;
      case OpKind::kReduce:
        work = group_.ReduceAsync(input, out, ReductionOf(c), c.root, options);
        break;
      case OpKind::kBarrier:
        work = group_.BarrierAsync(options);
        break;
      case OpKind::kGather:
        work = c.by_counts ? group_.GatherVAsync(input, out, c.counts, c.root, options)
                           : group_.GatherAsync(input, out, c.root, options);
        break;
      case OpKind::kScatter:
        work = c.by_counts ? group_.ScatterVAsync(input, out, c.counts, c.root, options)
                           : group_.ScatterAsync(input, out, c.root, options);
        break;
      case OpKind::kAllToAll:
        work = c.by_counts ? group_.AllToAllVAsync(input, out, sends, recvs, options)
                           : group_.AllToAllAsync(input, out, options);
        break;
      case OpKind::kScan:
        work = group_.ScanAsync(input, out, ReductionOf(c), options);
        break;
      case OpKind::kExScan:
        work = group_.ExScanAsync(input, out, ReductionOf(c), options);
        break;
    }
    for (int looks = 0; c.async && looks < 3 && !work.Done(); ++looks) {
    }
    CHORUS_RETURN_IF_ERROR(work.Wait());
    if ((op == OpKind::kReduce || op == OpKind::kGather) && rank != c.root) return OkStatus();
    if (op == OpKind::kExScan && rank == 0) return OkStatus();
    const std::int64_t begin = in_source && keeps_own ? own_begin : 0;
    for (std::int64_t i = 0; i < out.count; ++i) {
      got.push_back((in_source ? source : result).NumberAt(begin + i));
    }
    return OkStatus();
  }

  Group& group_;
};

// For f32 totals around 0 and n and beyond the capacity of a channel; for the other dtypes one of
// them. For operations with owners and all_to_all split unevenly, with an empty block in the
// middle, unless all have to be alike.
std::vector<std::vector<std::int64_t>> CountsFor(OpKind op, DType dtype, int n, bool even) {
  if (op == OpKind::kBarrier) return {{0}};
  std::vector<std::vector<std::int64_t>> result;
  std::vector<std::int64_t> totals = {n + 1};
  if (dtype == DType::kF32) totals = {0, 1, 2, n - 1, n, n + 1, 300};
  if (dtype == DType::kBF16) totals = {290};
  for (const std::int64_t total : totals) {
    if (!HasOwners(op) && op != OpKind::kAllToAll) {
      result.push_back({total});
      continue;
    }
    const int blocks = HasOwners(op) ? n : n * n;
    std::vector<std::int64_t> counts;
    for (int b = 0; b < blocks; ++b) {
      const std::int64_t uneven = b == blocks / 2 && n > 1 ? 0 : total / n + b % 2;
      counts.push_back(even ? total / n : uneven);
    }
    result.push_back(counts);
  }
  return result;
}

// Calls `function` with each case of one dtype.
Status ForCases(DType dtype, int n, const std::function<Status(const Case&)>& function) {
  int number = 0;
  for (const Algorithm& algorithm : AllAlgorithms()) {
    const OpKind op = algorithm.op;
    if (!algorithm.Fits(n).ok()) continue;
    const bool has_private =
        op == OpKind::kGather || op == OpKind::kScatter || op == OpKind::kAllToAll;
    const bool by_counts = has_private && algorithm.name == AlgorithmForPrivateCounts(op).name;
    for (const auto& counts : CountsFor(op, dtype, n, has_private && !by_counts)) {
      for (const ReduceOp reduce : kAllReduceOps) {
        if (!Reduces(algorithm.op) && reduce != ReduceOp::kSum) continue;
        if (Reduces(algorithm.op) && !Supports(reduce, dtype)) continue;
        if (reduce == ReduceOp::kAvg && IsScan(op)) continue;
        // f32 has every root, the other dtypes the last one.
        const int roots = HasRoot(algorithm.op) ? n : 1;
        for (int root = dtype == DType::kF32 ? 0 : roots - 1; root < roots; ++root) {
          // In place and async in all combinations as the cases go on.
          ++number;
          const Case c{&algorithm, dtype,           reduce,          counts,
                       root,       number % 2 == 1, number % 3 == 0, by_counts};
          CHORUS_RETURN_IF_ERROR(function(c));
        }
      }
    }
  }
  return OkStatus();
}

class ConformanceTest : public testing::TestWithParam<std::tuple<RankKind, int>> {};

TEST_P(ConformanceTest, EqualsTheInterpreter) {
  const auto [kind, n] = GetParam();
  JoinOptions options;
  options.timeout = std::chrono::seconds(30);
  options.channel_bytes = 256;
  const Status status = RunRanks(
      n, kind,
      [](Group& group) {
        Runner runner(group);
        for (const DType dtype : kAllDTypes) {
          CHORUS_RETURN_IF_ERROR(
              ForCases(dtype, group.size(), [&](const Case& c) { return runner.Run(c); }));
        }
        return OkStatus();
      },
      options);
  EXPECT_TRUE(status.ok()) << status.message();
}

INSTANTIATE_TEST_SUITE_P(All, ConformanceTest,
                         testing::Combine(testing::Values(RankKind::kThreads, RankKind::kProcesses),
                                          testing::Range(1, 6)),
                         [](const auto& test) {
                           return fmt::format("{}_{}", Name(std::get<0>(test.param)),
                                              std::get<1>(test.param));
                         });

}  // namespace
}  // namespace chorus
