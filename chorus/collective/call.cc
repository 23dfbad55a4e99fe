#include "chorus/collective/call.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

namespace chorus {
namespace {

// The name the user called it by.
std::string NameOf(const Call& call) {
  return std::string(Name(call.op)) + (call.has_counts ? "_v" : "");
}

Status Wrong(const Call& call, const std::string& why) {
  return InvalidArgument(fmt::format("{}: {}", NameOf(call), why));
}

Status CheckBuffer(const Call& call, std::string_view name, const ConstBuffer& buffer) {
  if (buffer.count < 0) return Wrong(call, fmt::format("{} has {} elements", name, buffer.count));
  if (buffer.count > std::numeric_limits<std::int64_t>::max() / SizeOf(buffer.dtype)) {
    return Wrong(call,
                 fmt::format("{} of {} elements has more than 2^63 bytes", name, buffer.count));
  }
  if (buffer.data == nullptr && buffer.count > 0) {
    return Wrong(call, fmt::format("{} is null but has {} elements", name, buffer.count));
  }
  return OkStatus();
}

Status CheckCounts(const Call& call, int size) {
  if (std::ssize(call.counts) != size) {
    return Wrong(call, fmt::format("{} counts are given for {} ranks", call.counts.size(), size));
  }
  std::int64_t total = 0;
  for (std::size_t r = 0; r < call.counts.size(); ++r) {
    if (call.counts[r] < 0) {
      return Wrong(call, fmt::format("the count of rank {} is {}", r, call.counts[r]));
    }
    if (call.counts[r] > std::numeric_limits<std::int64_t>::max() / 8 - total) {
      return Wrong(call, "the counts add up to more than 2^63 bytes");
    }
    total += call.counts[r];
  }
  return OkStatus();
}

Status WantCount(const Call& call, std::string_view name, std::int64_t has, std::int64_t wants,
                 std::string_view why) {
  if (has == wants) return OkStatus();
  return Wrong(call,
               fmt::format("{} has {} elements where {} are needed, {}", name, has, wants, why));
}

Status CheckSizes(const Call& call, int rank, int size) {
  const std::int64_t in = call.in.count;
  const std::int64_t out = call.out.count;
  const std::int64_t share = call.op == OpKind::kAllGather ? in : out;
  const bool gathers = call.op == OpKind::kAllGather || call.op == OpKind::kReduceScatter;
  if (gathers && share > std::numeric_limits<std::int64_t>::max() / SizeOf(call.in.dtype) / size) {
    return Wrong(call,
                 fmt::format("{} ranks of {} elements each are more than 2^63 bytes", size, share));
  }
  const auto own = static_cast<std::size_t>(rank);
  switch (call.op) {
    case OpKind::kAllGather:
      if (!call.has_counts) return WantCount(call, "out", out, size * in, "ranks times `in`");
      CHORUS_RETURN_IF_ERROR(WantCount(call, "in", in, call.counts[own], "the count of this rank"));
      return WantCount(call, "out", out, call.total(), "the sum of all counts");
    case OpKind::kReduceScatter:
      if (!call.has_counts) return WantCount(call, "in", in, size * out, "ranks times `out`");
      CHORUS_RETURN_IF_ERROR(
          WantCount(call, "out", out, call.counts[own], "the count of this rank"));
      return WantCount(call, "in", in, call.total(), "the sum of all counts");
    case OpKind::kReduce:
      if (rank != call.root) return OkStatus();
      return WantCount(call, "out", out, in, "as many as `in`");
    default:
      return WantCount(call, "out", out, in, "as many as `in`");
  }
}

// In a packed call: what Split exchanges, which no call of a user may be taken for.
constexpr std::uint64_t kPackedSplit = 1U << 24;

OpKind OpOfPacked(std::uint64_t packed) { return static_cast<OpKind>(packed & 0xff); }

// Where a buffer lies, as numbers, since pointers into different arrays must not be compared.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

Range RangeOf(const ConstBuffer& buffer) {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer.data);
  return {begin, begin + static_cast<std::uintptr_t>(buffer.count * SizeOf(buffer.dtype))};
}

// Elements before the block of `rank` when all blocks lie one after another.
std::int64_t OwnOffset(const Call& call, int rank) {
  if (call.has_counts) {
    return std::accumulate(call.counts.begin(), call.counts.begin() + rank, std::int64_t{0});
  }
  return rank * (call.op == OpKind::kAllGather ? call.in.count : call.out.count);
}

Status CheckOverlap(const Call& call, int rank) {
  if (call.op == OpKind::kReduce && rank != call.root) return OkStatus();
  if (call.in.count == 0 || call.out.count == 0) return OkStatus();  // wherever they point to
  const Range in = RangeOf(call.in);
  const Range out = RangeOf(call.out);
  if (in.begin >= out.end || out.begin >= in.end) return OkStatus();
  const auto own = static_cast<std::uintptr_t>(OwnOffset(call, rank) * SizeOf(call.in.dtype));
  switch (call.op) {
    case OpKind::kAllGather:
      if (in.begin == out.begin + own) return OkStatus();
      return Wrong(call, fmt::format("`in` overlaps `out` but is not block {} of it", rank));
    case OpKind::kReduceScatter:
      if (out.begin == in.begin + own || out.begin == in.begin) return OkStatus();
      return Wrong(call, fmt::format("`out` overlaps `in` but is neither block {} of it nor its "
                                     "beginning",
                                     rank));
    default:
      if (in.begin == out.begin) return OkStatus();
      return Wrong(call, "`in` and `out` overlap but are not the same");
  }
}

}  // namespace

std::int64_t Call::total() const {
  if (has_counts) return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return op == OpKind::kAllGather ? out.count : in.count;
}

Status CheckCall(const Call& call, int rank, int size) {
  CHORUS_RETURN_IF_ERROR(CheckBuffer(call, "in", call.in));
  const bool uses_out = call.op != OpKind::kReduce || rank == call.root;
  if (uses_out) {
    CHORUS_RETURN_IF_ERROR(CheckBuffer(call, "out", call.out));
    if (call.in.dtype != call.out.dtype) {
      return Wrong(call,
                   fmt::format("in is {}, out is {}", Name(call.in.dtype), Name(call.out.dtype)));
    }
  }
  if (HasRoot(call.op) && (call.root < 0 || call.root >= size)) {
    return Wrong(call, fmt::format("root {} is not a rank of a group of {}", call.root, size));
  }
  if (call.has_counts) CHORUS_RETURN_IF_ERROR(CheckCounts(call, size));
  CHORUS_RETURN_IF_ERROR(CheckSizes(call, rank, size));
  CHORUS_RETURN_IF_ERROR(CheckOverlap(call, rank));
  if (Reduces(call.op)) {
    const Status status = CheckReduction(call.reduce, call.in.dtype);
    return status.WithContext(NameOf(call));
  }
  return OkStatus();
}

bool NeedsDetour(const Call& call, int rank) {
  return call.op == OpKind::kReduceScatter && call.out.count > 0 && call.in.data == call.out.data &&
         OwnOffset(call, rank) != 0;
}

std::uint64_t PackCall(const Call& call) {
  const auto reduce = Reduces(call.op) ? static_cast<std::uint64_t>(call.reduce.op()) : 0;
  const auto root =
      HasRoot(call.op) ? static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) : 0;
  return static_cast<std::uint64_t>(call.op) | static_cast<std::uint64_t>(call.in.dtype) << 8 |
         reduce << 16 | (call.is_split ? kPackedSplit : 0) | root << 32;
}

std::string_view NameOfPacked(std::uint64_t packed) {
  return (packed & kPackedSplit) != 0 ? "split" : Name(OpOfPacked(packed));
}

std::string_view WhatElseMayDiffer(std::uint64_t packed) {
  if (Reduces(OpOfPacked(packed))) {
    const auto op = static_cast<ReduceOp>(packed >> 16 & 0xff);
    if (op == ReduceOp::kPremulSum) return "another factor, other counts or another algorithm";
    if (op == ReduceOp::kUser) return "another function, other counts or another algorithm";
  }
  return "other counts or another algorithm";
}

std::string DescribePacked(std::uint64_t packed, std::int64_t total) {
  const OpKind op = OpOfPacked(packed);
  if (op == OpKind::kBarrier || (packed & kPackedSplit) != 0) return "";
  std::string text = fmt::format("{} x {}", Name(static_cast<DType>(packed >> 8 & 0xff)), total);
  if (Reduces(op)) text += fmt::format(" {}", Name(static_cast<ReduceOp>(packed >> 16 & 0xff)));
  if (HasRoot(op)) {
    text += fmt::format(" {} root {}", op == OpKind::kBroadcast ? "from" : "to", packed >> 32);
  }
  return text;
}

}  // namespace chorus
