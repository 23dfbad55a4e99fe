#include "chorus/collective/call.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

namespace chorus {
namespace {

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

// `kind` is "", "send " or "recv ".
Status CheckCounts(const Call& call, int size, std::string_view kind,
                   std::span<const std::int64_t> counts) {
  if (std::ssize(counts) != size) {
    return Wrong(call,
                 fmt::format("{} {}counts are given for {} ranks", counts.size(), kind, size));
  }
  std::int64_t total = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    if (counts[r] < 0) {
      return Wrong(call, fmt::format("the {}count of rank {} is {}", kind, r, counts[r]));
    }
    if (counts[r] > std::numeric_limits<std::int64_t>::max() / 8 - total) {
      return Wrong(call, fmt::format("the {}counts add up to more than 2^63 bytes", kind));
    }
    total += counts[r];
  }
  return OkStatus();
}

Status WantCount(const Call& call, std::string_view name, std::int64_t has, std::int64_t wants,
                 std::string_view why) {
  if (has == wants) return OkStatus();
  return Wrong(call,
               fmt::format("{} has {} elements where {} are needed, {}", name, has, wants, why));
}

std::int64_t SumOf(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

Status CheckAllToAllSizes(const Call& call, int rank, int size) {
  if (!call.has_counts) {
    if (call.in.count % size != 0) {
      return Wrong(call, fmt::format("in has {} elements, which {} ranks cannot share evenly; "
                                     "all_to_all_v takes counts",
                                     call.in.count, size));
    }
    return WantCount(call, "out", call.out.count, call.in.count, "as many as `in`");
  }
  const std::int64_t to_itself = call.counts[static_cast<std::size_t>(rank)];
  const std::int64_t by_itself = call.recv_counts[static_cast<std::size_t>(rank)];
  if (to_itself != by_itself) {
    return Wrong(call, fmt::format("rank {} sends itself {} elements and expects {}", rank,
                                   to_itself, by_itself));
  }
  CHORUS_RETURN_IF_ERROR(
      WantCount(call, "in", call.in.count, SumOf(call.counts), "the sum of all send counts"));
  return WantCount(call, "out", call.out.count, SumOf(call.recv_counts),
                   "the sum of all recv counts");
}

Status CheckSizes(const Call& call, int rank, int size) {
  const std::int64_t in = call.in.count;
  const std::int64_t out = call.out.count;
  if (call.op == OpKind::kAllToAll) return CheckAllToAllSizes(call, rank, size);
  if (!HasOwners(call.op)) {
    return UsesOut(call, rank) ? WantCount(call, "out", out, in, "as many as `in`") : OkStatus();
  }
  // One side has a rank's share, the other all of them.
  const bool gathers = call.op == OpKind::kAllGather || call.op == OpKind::kGather;
  const std::string_view one = gathers ? "in" : "out";
  const std::string_view all = gathers ? "out" : "in";
  const std::int64_t share = gathers ? in : out;
  const std::int64_t whole = gathers ? out : in;
  if (share > std::numeric_limits<std::int64_t>::max() / SizeOf(call.in.dtype) / size) {
    return Wrong(call,
                 fmt::format("{} ranks of {} elements each are more than 2^63 bytes", size, share));
  }
  // Elsewhere than on the root there is only the share, and no counts.
  if (!UsesIn(call, rank) || !UsesOut(call, rank)) return OkStatus();
  if (!call.has_counts) {
    return WantCount(call, all, whole, size * share,
                     gathers ? "ranks times `in`" : "ranks times `out`");
  }
  CHORUS_RETURN_IF_ERROR(WantCount(call, one, share, call.counts[static_cast<std::size_t>(rank)],
                                   "the count of this rank"));
  return WantCount(call, all, whole, call.total(), "the sum of all counts");
}

// A v-variant.
constexpr std::uint64_t kPackedCounts = 1U << 25;
// Several all_reduces in one: how many is where others have the root.
constexpr std::uint64_t kPackedSeveral = 1U << 26;
constexpr std::uint64_t kPackedPersistent = 1U << 27;
// Three bits: which agreement, which no call of a user may be taken for.
constexpr int kAgreementBit = 28;

Agreement AgreementOfPacked(std::uint64_t packed) {
  return static_cast<Agreement>(packed >> kAgreementBit & 7);
}

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
  const bool gathers = call.op == OpKind::kAllGather || call.op == OpKind::kGather;
  return rank * (gathers ? call.in.count : call.out.count);
}

Status CheckOverlap(const Call& call, int rank) {
  if (!UsesIn(call, rank) || !UsesOut(call, rank)) return OkStatus();
  if (call.in.count == 0 || call.out.count == 0) return OkStatus();  // wherever they point to
  const Range in = RangeOf(call.in);
  const Range out = RangeOf(call.out);
  if (in.begin >= out.end || out.begin >= in.end) return OkStatus();
  const auto own = HasOwners(call.op)
                       ? static_cast<std::uintptr_t>(OwnOffset(call, rank) * SizeOf(call.in.dtype))
                       : 0;
  switch (call.op) {
    case OpKind::kAllGather:
    case OpKind::kGather:
      if (in.begin == out.begin + own) return OkStatus();
      return Wrong(call, fmt::format("`in` overlaps `out` but is not block {} of it", rank));
    case OpKind::kReduceScatter:
      if (out.begin == in.begin + own || out.begin == in.begin) return OkStatus();
      return Wrong(call, fmt::format("`out` overlaps `in` but is neither block {} of it nor its "
                                     "beginning",
                                     rank));
    case OpKind::kScatter:
      if (out.begin == in.begin + own) return OkStatus();
      return Wrong(call, fmt::format("`out` overlaps `in` but is not block {} of it", rank));
    default:
      if (in.begin == out.begin) return OkStatus();
      return Wrong(call, "`in` and `out` overlap but are not the same");
  }
}

}  // namespace

bool UsesIn(const Call& call, int rank) { return call.op != OpKind::kScatter || rank == call.root; }
bool UsesOut(const Call& call, int rank) {
  if (call.op == OpKind::kExScan) return rank > 0;
  return (call.op != OpKind::kReduce && call.op != OpKind::kGather) || rank == call.root;
}

std::int64_t Call::total() const {
  // Elsewhere than on the root of gather_v and scatter_v there are no counts.
  if (has_counts && !counts.empty()) return SumOf(counts);
  switch (op) {
    case OpKind::kAllGather:
      return out.count;
    case OpKind::kGather:
      return has_counts ? in.count : group_size * in.count;
    case OpKind::kScatter:
      return has_counts ? out.count : group_size * out.count;
    default:
      return in.count;
  }
}

std::string NameOf(const Call& call) {
  return std::string(Name(call.op)) + (call.has_counts ? "_v" : "");
}

Status CheckCall(const Call& call, int rank, int size) {
  if (HasRoot(call.op) && (call.root < 0 || call.root >= size)) {
    return Wrong(call, fmt::format("root {} is not a rank of a group of {}", call.root, size));
  }
  const bool uses_in = UsesIn(call, rank);
  const bool uses_out = UsesOut(call, rank);
  if (uses_in) CHORUS_RETURN_IF_ERROR(CheckBuffer(call, "in", call.in));
  if (uses_out) CHORUS_RETURN_IF_ERROR(CheckBuffer(call, "out", call.out));
  if (uses_in && uses_out && call.in.dtype != call.out.dtype) {
    return Wrong(call,
                 fmt::format("in is {}, out is {}", Name(call.in.dtype), Name(call.out.dtype)));
  }
  if (call.has_counts && uses_in && uses_out) {
    const bool pairs = call.op == OpKind::kAllToAll;
    CHORUS_RETURN_IF_ERROR(CheckCounts(call, size, pairs ? "send " : "", call.counts));
    if (pairs) CHORUS_RETURN_IF_ERROR(CheckCounts(call, size, "recv ", call.recv_counts));
  }
  CHORUS_RETURN_IF_ERROR(CheckSizes(call, rank, size));
  CHORUS_RETURN_IF_ERROR(CheckOverlap(call, rank));
  if (IsScan(call.op) && call.reduce.op() == ReduceOp::kAvg) {
    return Unsupported(fmt::format(
        "{}: there is no average over the ranks up to one; use sum and divide", NameOf(call)));
  }
  if (Reduces(call.op)) {
    Status status = CheckReduction(call.reduce, call.in.dtype);
    return status.ok() ? std::move(status) : status.WithContext(NameOf(call));
  }
  return OkStatus();
}

bool NeedsDetour(const Call& call, int rank) {
  if (call.out.count == 0 || call.in.count == 0 || call.in.data != call.out.data) return false;
  if (call.op == OpKind::kAllToAll) return true;
  return call.op == OpKind::kReduceScatter && OwnOffset(call, rank) != 0;
}

std::string_view Name(Agreement agreement) {
  switch (agreement) {
    case Agreement::kNone:
      return "";
    case Agreement::kSplit:
      return "split";
    case Agreement::kAllocate:
      return "allocate";
    case Agreement::kOpenWindow:
      return "open_window";
    case Agreement::kPrepare:
      return "prepare";
    case Agreement::kGrow:
      return "grow";
  }
  return "";
}

std::uint64_t PackCall(const Call& call) {
  const auto reduce = Reduces(call.op) ? static_cast<std::uint64_t>(call.reduce.op()) : 0;
  std::uint64_t root =
      HasRoot(call.op) ? static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) : 0;
  if (call.packed != nullptr) root = call.packed->size();
  return static_cast<std::uint64_t>(call.op) | static_cast<std::uint64_t>(call.in.dtype) << 8 |
         reduce << 16 | static_cast<std::uint64_t>(call.agreement) << kAgreementBit |
         (call.has_counts ? kPackedCounts : 0) | (call.packed != nullptr ? kPackedSeveral : 0) |
         (call.is_persistent ? kPackedPersistent : 0) | root << 32;
}

std::string_view NameOfPacked(std::uint64_t packed) {
  const Agreement agreement = AgreementOfPacked(packed);
  return agreement != Agreement::kNone ? Name(agreement) : Name(OpOfPacked(packed));
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
  if (op == OpKind::kBarrier || AgreementOfPacked(packed) != Agreement::kNone) return "";
  std::string text = fmt::format("{} x {}", Name(static_cast<DType>(packed >> 8 & 0xff)), total);
  if (Reduces(op)) text += fmt::format(" {}", Name(static_cast<ReduceOp>(packed >> 16 & 0xff)));
  if (HasRoot(op)) {
    const bool from = op == OpKind::kBroadcast || op == OpKind::kScatter;
    text += fmt::format(" {} root {}", from ? "from" : "to", packed >> 32);
  }
  if ((packed & kPackedCounts) != 0) text += " by counts";
  if ((packed & kPackedSeveral) != 0) text += fmt::format(" in {} calls", CallsOfPacked(packed));
  if ((packed & kPackedPersistent) != 0) text += ", persistent";
  return text;
}

std::uint64_t WithoutPacking(std::uint64_t packed) {
  return (packed & kPackedSeveral) != 0 ? packed & 0xffffffffU & ~kPackedSeveral : packed;
}

int CallsOfPacked(std::uint64_t packed) {
  return (packed & kPackedSeveral) != 0 ? static_cast<int>(packed >> 32) : 1;
}

}  // namespace chorus
