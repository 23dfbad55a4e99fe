#include "chorus/collective/call_case_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string_view>

namespace chorus {
namespace {

// Elements after which contributions repeat.
constexpr std::int64_t kPeriod = 1009;
constexpr auto kUntouched = std::byte{0x5a};

std::uint64_t Mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdu;
  x ^= x >> 29;
  x *= 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 32;
}

// Element i of what rank r contributes. Small whole numbers: their sums and products are exact in
// every dtype's accumulator, whatever the order.
Number Contribution(const CallCase& c, std::int64_t rank, std::int64_t i) {
  const std::uint64_t random = Mixed(c.salt + 1000003 * static_cast<std::uint64_t>(rank) +
                                     static_cast<std::uint64_t>(i % kPeriod) * 0x9e3779b97f4a7c15u);
  if (c.dtype == DType::kBool) return static_cast<double>(random % 2);
  double value = static_cast<double>(random % 7);
  if (c.reduce.op() == ReduceOp::kProd) {
    value = static_cast<double>(1 + random % 2);
  } else if (IsSigned(c.dtype) || IsFloat(c.dtype) || IsLocated(c.dtype)) {
    value -= 3;
  }
  if (IsLocated(c.dtype)) return {value, static_cast<double>(10 - rank)};  // some values are equal
  if (IsComplex(c.dtype)) return {value, static_cast<double>(random / 7 % 3)};
  return value;
}

Number Combined(const CallCase& c, const Number& a, const Number& b) {
  const auto x = static_cast<std::int64_t>(a.real());
  const auto y = static_cast<std::int64_t>(b.real());
  const bool a_is_first = a.imag() < b.imag();  // of pairs
  switch (c.reduce.op()) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
    case ReduceOp::kPremulSum:
      return c.dtype == DType::kBool ? Number(std::max(a.real(), b.real())) : a + b;
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
      return a.real() < b.real() || (a.real() == b.real() && a_is_first) ? a : b;
    case ReduceOp::kMaxLoc:
      return a.real() > b.real() || (a.real() == b.real() && a_is_first) ? a : b;
    case ReduceOp::kUser:
      break;
  }
  return c.reduce.commutes() ? Number(std::max(a.real(), b.real())) : b;
}

// x_0[i] op ... op x_{ranks - 1}[i], with what comes before and after.
Number Reduced(const CallCase& c, std::int64_t ranks, std::int64_t i) {
  const auto one = [&](std::int64_t rank) {
    const Number x = Contribution(c, rank, i);
    if (c.reduce.op() == ReduceOp::kPremulSum) return x * c.reduce.factor();
    const bool is_logical = c.reduce.op() == ReduceOp::kLogicalAnd ||
                            c.reduce.op() == ReduceOp::kLogicalOr ||
                            c.reduce.op() == ReduceOp::kLogicalXor;
    return is_logical ? Number(x.real() != 0 ? 1 : 0) : x;
  };
  Number sum = one(0);
  for (std::int64_t rank = 1; rank < ranks; ++rank) sum = Combined(c, sum, one(rank));
  if (c.reduce.op() != ReduceOp::kAvg) return sum;
  const Number mean = sum / static_cast<double>(ranks);
  return IsInteger(c.dtype) ? Number(std::trunc(mean.real())) : mean;
}

// `count` elements from the `begin`-th on of what `number` gives.
template <typename NumberOf>
void Append(const CallCase& c, std::int64_t begin, std::int64_t count, const NumberOf& number,
            std::vector<std::byte>& bytes) {
  const std::int64_t own = std::min(count, kPeriod);
  TypedData data(c.dtype, own);
  for (std::int64_t i = 0; i < own; ++i) data.Set(static_cast<std::size_t>(i), number(begin + i));
  const auto* const first = static_cast<const std::byte*>(data.in().data);
  for (std::int64_t done = 0; done < count; done += own) {
    bytes.insert(bytes.end(), first, first + std::min(own, count - done) * SizeOf(c.dtype));
  }
}

std::int64_t Sum(const std::int64_t* begin, std::int64_t count) {
  return std::accumulate(begin, begin + count, std::int64_t{0});
}

// Elements of what rank s has for rank t of all_to_all, and before it in its `in`.
std::int64_t Pair(const CallCase& c, std::int64_t s, std::int64_t t) {
  return c.counts[static_cast<std::size_t>(s * c.n + t)];
}
std::int64_t BeforePair(const CallCase& c, std::int64_t s, std::int64_t t) {
  return Sum(&c.counts[static_cast<std::size_t>(s * c.n)], t);
}

std::vector<std::byte> InputOf(const CallCase& c, int rank) {
  std::vector<std::byte> bytes;
  std::int64_t count = c.total();
  if (c.op == OpKind::kAllGather || c.op == OpKind::kGather) {
    count = c.counts[static_cast<std::size_t>(rank)];
  } else if (c.op == OpKind::kAllToAll) {
    count = BeforePair(c, rank, c.n);
  } else if (c.op == OpKind::kBarrier || (c.op == OpKind::kScatter && rank != c.root)) {
    count = 0;
  }
  Append(
      c, 0, count, [&](std::int64_t i) { return Contribution(c, rank, i); }, bytes);
  return bytes;
}

// The definitions, as they stand in group.h. Nothing where the rank has no result.
std::vector<std::byte> ResultOf(const CallCase& c, int rank) {
  std::vector<std::byte> bytes;
  const auto of = [&c](std::int64_t r) {
    return [&c, r](std::int64_t i) { return Contribution(c, r, i); };
  };
  const auto reduced = [&c](std::int64_t ranks) {
    return [&c, ranks](std::int64_t i) { return Reduced(c, ranks, i); };
  };
  const bool is_root = rank == c.root;
  const auto own = static_cast<std::size_t>(rank);
  switch (c.op) {
    case OpKind::kAllReduce:
      Append(c, 0, c.total(), reduced(c.n), bytes);
      break;
    case OpKind::kReduce:
      if (is_root) Append(c, 0, c.total(), reduced(c.n), bytes);
      break;
    case OpKind::kReduceScatter:
      Append(c, Sum(c.counts.data(), rank), c.counts[own], reduced(c.n), bytes);
      break;
    case OpKind::kScan:
      Append(c, 0, c.total(), reduced(rank + 1), bytes);
      break;
    case OpKind::kExScan:
      if (rank > 0) Append(c, 0, c.total(), reduced(rank), bytes);
      break;
    case OpKind::kBroadcast:
      Append(c, 0, c.total(), of(c.root), bytes);
      break;
    case OpKind::kAllGather:
    case OpKind::kGather:
      for (int r = 0; r < c.n && (is_root || c.op == OpKind::kAllGather); ++r) {
        Append(c, 0, c.counts[static_cast<std::size_t>(r)], of(r), bytes);
      }
      break;
    case OpKind::kScatter:
      Append(c, Sum(c.counts.data(), rank), c.counts[own], of(c.root), bytes);
      break;
    case OpKind::kAllToAll:
      for (int r = 0; r < c.n; ++r) {
        Append(c, BeforePair(c, r, rank), Pair(c, r, rank), of(r), bytes);
      }
      break;
    case OpKind::kBarrier:
      break;
  }
  return bytes;
}

Reduction UserReductionToDraw(bool commutes) {
  UserReduction user;
  user.name = commutes ? "greater" : "later";
  user.commutes = commutes;
  user.combine = [commutes](void* left, const void* right, std::int64_t count, DType dtype) {
    if (!commutes) {
      std::memcpy(left, right, static_cast<std::size_t>(count * SizeOf(dtype)));
      return;
    }
    WithType(dtype, [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_arithmetic_v<T>) {
        auto* const a = static_cast<T*>(left);
        const auto* const b = static_cast<const T*>(right);
        for (std::int64_t i = 0; i < count; ++i) a[i] = std::max(a[i], b[i]);
      }
    });
  };
  return Reduction::User(std::make_shared<const UserReduction>(std::move(user)));
}

}  // namespace

std::vector<Reduction> ReductionsToDraw(DType dtype) {
  static const Reduction greater = UserReductionToDraw(true);
  static const Reduction later = UserReductionToDraw(false);
  std::vector<Reduction> reductions;
  for (const ReduceOp op : kAllReduceOps) {
    if (!Supports(op, dtype)) continue;
    // Exact, as all contributions are.
    reductions.push_back(op == ReduceOp::kPremulSum
                             ? Reduction::PremulSum(IsInteger(dtype) ? 3 : 0.5)
                             : Reduction(op));
  }
  if (!IsComplex(dtype) && !IsLocated(dtype)) reductions.push_back(greater);
  reductions.push_back(later);
  return reductions;
}

std::int64_t CallCase::total() const { return Sum(counts.data(), std::ssize(counts)); }

std::string CallCase::ToString() const {
  return fmt::format("{}{} {} {} {} n {} V {} root {}{}{}", Name(op), by_counts ? "_v" : "",
                     algorithm.empty() ? "(chosen)" : algorithm, Name(dtype), reduce.ToString(), n,
                     total(), root, in_place ? " in place" : "",
                     in_place && at_beginning ? " at the beginning" : "");
}

std::vector<std::int64_t> EvenCounts(OpKind op, int n, std::int64_t total) {
  if (op == OpKind::kBarrier) return {0};
  if (!HasOwners(op) && op != OpKind::kAllToAll) return {total};
  const std::int64_t each = (total + n - 1) / n;
  return std::vector<std::int64_t>(static_cast<std::size_t>(HasOwners(op) ? n : n * n), each);
}

std::vector<std::int64_t> RandomCounts(OpKind op, int n, std::int64_t total, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> counts;
  for (int row = 0; row < (HasOwners(op) ? 1 : n); ++row) {
    std::vector<std::int64_t> cuts = {0, total};
    for (int i = 1; i < n; ++i) {
      // Now and then two cuts in one place.
      const auto anywhere =
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(total + 1));
      cuts.push_back(random() % 4 == 0 ? cuts.back() : anywhere);
    }
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 1; i < cuts.size(); ++i) counts.push_back(cuts[i] - cuts[i - 1]);
  }
  return counts;
}

CallRun::CallRun(CallCase c, int rank, TestMemory& memory_in, TestMemory& memory_out)
    : case_(std::move(c)), rank_(rank), read_(InputOf(case_, rank)), want_(ResultOf(case_, rank)) {
  const std::int64_t size = SizeOf(case_.dtype);
  const bool is_root = rank == case_.root;
  std::int64_t own_begin = 0;
  if (HasOwners(case_.op)) own_begin = Sum(case_.counts.data(), rank) * size;
  const auto fill = [](std::byte* to, const std::vector<std::byte>& from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  };
  const auto in_bytes = std::ssize(read_);
  // A rank without a result may give a buffer nevertheless; it must stay as it is.
  const bool has_result =
      ((case_.op != OpKind::kReduce && case_.op != OpKind::kGather) || is_root) &&
      (case_.op != OpKind::kExScan || rank > 0);
  if (!has_result && case_.salt % 2 == 0) want_.assign(read_.size(), kUntouched);
  const auto out_bytes = std::ssize(want_);
  std::byte* in = nullptr;
  std::byte* out = nullptr;
  if (case_.op == OpKind::kBroadcast) {
    in_ = Make(memory_in, out_bytes);
    if (is_root) fill(in_.data(), read_);
    in = out = in_.data();
  } else if (case_.in_place &&
             (case_.op == OpKind::kAllGather || (case_.op == OpKind::kGather && is_root))) {
    in_ = Make(memory_out, out_bytes);
    out = in_.data();
    in = out + own_begin;
    fill(in, read_);
  } else if (case_.in_place &&
             (case_.op == OpKind::kReduceScatter || (case_.op == OpKind::kScatter && is_root))) {
    in_ = Make(memory_in, in_bytes);
    in = in_.data();
    out = case_.op == OpKind::kReduceScatter && case_.at_beginning ? in : in + own_begin;
    fill(in, read_);
  } else if (case_.in_place && !HasOwners(case_.op) && case_.op != OpKind::kBarrier) {
    // all_to_all by counts may send more than it receives, or less.
    in_ = Make(memory_in, std::max(in_bytes, out_bytes));
    in = out = in_.data();
    fill(in, read_);
    if (!has_result) want_ = read_;
  } else {
    in_ = Make(memory_in, in_bytes);
    out_ = Make(memory_out, out_bytes);
    in = in_.data();
    out = out_.data();
    fill(in, read_);
  }
  arguments_.op = case_.op;
  arguments_.by_counts = case_.by_counts;
  arguments_.in = {in, in_bytes / size, case_.dtype};
  arguments_.out = {out, std::ssize(want_) / size, case_.dtype};
  arguments_.reduce = case_.reduce;
  arguments_.root = case_.root;
  arguments_.options.algorithm = case_.algorithm;
  if (case_.op != OpKind::kAllToAll) {
    arguments_.counts = case_.counts;
  } else {
    for (int r = 0; r < case_.n; ++r) {
      arguments_.counts.push_back(Pair(case_, rank, r));
      arguments_.recv_counts.push_back(Pair(case_, r, rank));
    }
  }
}

CallRun::Guarded CallRun::Make(TestMemory& memory, std::int64_t bytes) const {
  Guarded guarded{memory.Take(bytes + 2 * kGuard), bytes};
  std::fill_n(guarded.memory.get(), bytes + 2 * kGuard, kUntouched);
  return guarded;
}

void CallRun::Begin(Group& group, bool async) {
  if (async) {
    work_ = BeginCall(group, arguments_);
  } else {
    status_ = MakeCall(group, arguments_);
  }
}

void CallRun::AddTo(CallList& list) const { AddCall(list, arguments_); }

void CallRun::Look() { static_cast<void>(work_.Done()); }

Status CallRun::End() {
  CHORUS_RETURN_IF_ERROR(status_);
  CHORUS_RETURN_IF_ERROR(work_.Wait());
  CHORUS_RETURN_IF_ERROR(Compare("out", arguments_.out.data, want_));
  CHORUS_RETURN_IF_ERROR(CheckAround(in_, "in"));
  if (out_.memory == nullptr) return OkStatus();
  CHORUS_RETURN_IF_ERROR(CheckAround(out_, "out"));
  return Compare("in", in_.data(), read_);
}

Status CallRun::Compare(std::string_view name, const void* got,
                        const std::vector<std::byte>& want) const {
  if (want.empty() || std::memcmp(got, want.data(), want.size()) == 0) return OkStatus();
  const auto* const bytes = static_cast<const std::byte*>(got);
  const auto size = static_cast<std::size_t>(SizeOf(case_.dtype));
  const auto number = [&](const std::byte* from, std::size_t element) {
    TypedData one(case_.dtype, 1);
    std::memcpy(one.out().data, from + element * size, size);
    return one.NumberAt(0);
  };
  // Whether a part of a complex product is 0 or -0 depends on the order of its factors.
  const auto differs = [&](std::size_t i) {
    return std::memcmp(bytes + i * size, want.data() + i * size, size) != 0 &&
           !(IsComplex(case_.dtype) && number(bytes, i) == number(want.data(), i));
  };
  std::size_t element = 0;
  while (element < want.size() / size && !differs(element)) ++element;
  if (element == want.size() / size) return OkStatus();
  const auto text = [&](const std::byte* from) {
    const Number x = number(from, element);
    return fmt::format("({}, {})", x.real(), x.imag());
  };
  return Internal(fmt::format("{}: rank {}: element {} of {} of `{}` is {}, not {}",
                              case_.ToString(), rank_, element, want.size() / size, name,
                              text(bytes), text(want.data())));
}

Status CallRun::CheckAround(const Guarded& guarded, std::string_view name) const {
  const auto is_untouched = [](std::byte b) { return b == kUntouched; };
  const std::byte* const end = guarded.data() + guarded.bytes;
  if (std::all_of(guarded.memory.get(), guarded.data(), is_untouched) &&
      std::all_of(end, end + kGuard, is_untouched)) {
    return OkStatus();
  }
  return Internal(
      fmt::format("{}: rank {}: something around `{}` was written", case_.ToString(), rank_, name));
}

// Group and CallList name their calls alike.
template <typename Target>
decltype(auto) CallOn(Target& target, const CallArguments& a) {
  switch (a.op) {
    case OpKind::kAllGather:
      return a.by_counts ? target.AllGatherV(a.in, a.out, a.counts, a.options)
                         : target.AllGather(a.in, a.out, a.options);
    case OpKind::kReduceScatter:
      return a.by_counts ? target.ReduceScatterV(a.in, a.out, a.counts, a.reduce, a.options)
                         : target.ReduceScatter(a.in, a.out, a.reduce, a.options);
    case OpKind::kAllReduce:
      return target.AllReduce(a.in, a.out, a.reduce, a.options);
    case OpKind::kBroadcast:
      return target.Broadcast(a.out, a.root, a.options);
    case OpKind::kReduce:
      return target.Reduce(a.in, a.out, a.reduce, a.root, a.options);
    case OpKind::kBarrier:
      return target.Barrier(a.options);
    case OpKind::kGather:
      return a.by_counts ? target.GatherV(a.in, a.out, a.counts, a.root, a.options)
                         : target.Gather(a.in, a.out, a.root, a.options);
    case OpKind::kScatter:
      return a.by_counts ? target.ScatterV(a.in, a.out, a.counts, a.root, a.options)
                         : target.Scatter(a.in, a.out, a.root, a.options);
    case OpKind::kAllToAll:
      return a.by_counts ? target.AllToAllV(a.in, a.out, a.counts, a.recv_counts, a.options)
                         : target.AllToAll(a.in, a.out, a.options);
    case OpKind::kScan:
      return target.Scan(a.in, a.out, a.reduce, a.options);
    case OpKind::kExScan:
      return target.ExScan(a.in, a.out, a.reduce, a.options);
  }
  std::abort();
}

Status MakeCall(Group& group, const CallArguments& a) { return CallOn(group, a); }

void AddCall(CallList& list, const CallArguments& a) { CallOn(list, a); }

Work BeginCall(Group& group, const CallArguments& a) {
  switch (a.op) {
    case OpKind::kAllGather:
      return a.by_counts ? group.AllGatherVAsync(a.in, a.out, a.counts, a.options)
                         : group.AllGatherAsync(a.in, a.out, a.options);
    case OpKind::kReduceScatter:
      return a.by_counts ? group.ReduceScatterVAsync(a.in, a.out, a.counts, a.reduce, a.options)
                         : group.ReduceScatterAsync(a.in, a.out, a.reduce, a.options);
    case OpKind::kAllReduce:
      return group.AllReduceAsync(a.in, a.out, a.reduce, a.options);
    case OpKind::kBroadcast:
      return group.BroadcastAsync(a.out, a.root, a.options);
    case OpKind::kReduce:
      return group.ReduceAsync(a.in, a.out, a.reduce, a.root, a.options);
    case OpKind::kBarrier:
      return group.BarrierAsync(a.options);
    case OpKind::kGather:
      return a.by_counts ? group.GatherVAsync(a.in, a.out, a.counts, a.root, a.options)
                         : group.GatherAsync(a.in, a.out, a.root, a.options);
    case OpKind::kScatter:
      return a.by_counts ? group.ScatterVAsync(a.in, a.out, a.counts, a.root, a.options)
                         : group.ScatterAsync(a.in, a.out, a.root, a.options);
    case OpKind::kAllToAll:
      return a.by_counts ? group.AllToAllVAsync(a.in, a.out, a.counts, a.recv_counts, a.options)
                         : group.AllToAllAsync(a.in, a.out, a.options);
    case OpKind::kScan:
      return group.ScanAsync(a.in, a.out, a.reduce, a.options);
    case OpKind::kExScan:
      return group.ExScanAsync(a.in, a.out, a.reduce, a.options);
  }
  return {};
}

}  // namespace chorus
