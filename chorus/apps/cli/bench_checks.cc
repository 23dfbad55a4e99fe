#include "chorus/apps/cli/bench_checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "chorus/apps/cli/bench_agree.h"
#include "chorus/apps/cli/bench_call.h"
#include "chorus/apps/cli/bench_data.h"
#include "chorus/base/fnv.h"
#include "chorus/kernel/convert.h"

namespace chorus::cli {
namespace {

constexpr std::uint64_t kSeed = 1009;
constexpr std::int64_t kMostChecked = std::int64_t{1} << 22;  // bytes; larger cases are cut to it

std::vector<std::byte> Room(std::int64_t elements, DType dtype) {
  return std::vector<std::byte>(static_cast<std::size_t>(elements * SizeOf(dtype)) + 16,
                                std::byte{0xee});
}

// All ranks get the same bytes.
bool SameOnAll(OpKind op) { return op == OpKind::kAllReduce || op == OpKind::kAllGather; }

std::int64_t HashOf(const std::byte* data, std::int64_t bytes) {
  const std::string_view all(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
  return static_cast<std::int64_t>(Fnv1a(all));
}

// Elements that are wrong on all ranks when `c` is called once with data that sums exactly.
Result<std::int64_t> WrongOnce(Group& group, const BenchCase& c, const CallOptions& options) {
  const BenchCounts counts = CountsOf(c, group.rank());
  std::vector<std::byte> in = Room(counts.in, c.dtype);
  std::vector<std::byte> out = Room(std::max(counts.out, c.elements()), c.dtype);
  FillInput(c, group.rank(), kSeed, in.data());
  CHORUS_RETURN_IF_ERROR(MakeCall(group, c, in.data(), out.data(), options));
  return SumOverRanks(group, CountWrong(c, group.rank(), kSeed, out.data()));
}

// Block r has base + r elements. all_gather of them against broadcasts of each, and reduce_scatter
// against all_reduce: operations that were checked for themselves.
Result<bool> BlocksOfDifferentSizes(Group& group, const BenchCase& c, const CallOptions& options) {
  if (c.op != OpKind::kAllGather && c.op != OpKind::kReduceScatter) return true;
  const std::int64_t base = c.elements() / c.ranks;
  std::vector<std::int64_t> sizes;
  std::int64_t whole = 0;
  std::int64_t before = 0;
  for (int r = 0; r < c.ranks; ++r) {
    if (r == group.rank()) before = whole;
    sizes.push_back(base + r);
    whole += base + r;
  }
  const std::int64_t mine = sizes[static_cast<std::size_t>(group.rank())];
  const std::int64_t width = SizeOf(c.dtype);
  BenchCase all = c;  // the same data, in an operation with one size
  all.op = OpKind::kAllReduce;
  all.bytes = whole * width;
  std::vector<std::byte> in = Room(whole, c.dtype);
  std::vector<std::byte> out = Room(whole, c.dtype);
  FillInput(all, group.rank(), kSeed, in.data());
  std::vector<std::byte> expected = Room(whole, c.dtype);
  bool ok = false;
  if (c.op == OpKind::kReduceScatter) {
    CHORUS_RETURN_IF_ERROR(group.ReduceScatterV(
        {in.data(), whole, c.dtype}, {out.data(), mine, c.dtype}, sizes, ReductionOf(c), options));
    CHORUS_RETURN_IF_ERROR(group.AllReduce({in.data(), whole, c.dtype},
                                           {expected.data(), whole, c.dtype}, ReductionOf(c)));
    ok = std::equal(out.data(), out.data() + mine * width, expected.data() + before * width);
  } else {
    CHORUS_RETURN_IF_ERROR(
        group.AllGatherV({in.data(), mine, c.dtype}, {out.data(), whole, c.dtype}, sizes, options));
    std::byte* at = expected.data();
    for (int r = 0; r < c.ranks; ++r) {
      const std::int64_t count = sizes[static_cast<std::size_t>(r)];
      if (r == group.rank()) std::copy(in.data(), in.data() + count * width, at);
      CHORUS_RETURN_IF_ERROR(group.Broadcast({at, count, c.dtype}, r));
      at += count * width;
    }
    ok = std::equal(out.data(), out.data() + whole * width, expected.data());
  }
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t wrong, SumOverRanks(group, ok ? 0 : 1));
  return wrong == 0;
}

Result<bool> Uneven(Group& group, const BenchCase& c, const CallOptions& options) {
  if (c.op == OpKind::kBarrier) return true;
  for (const std::int64_t more : {-1, 1}) {
    BenchCase other = c;
    const bool blocks = HasOwners(c.op) || c.op == OpKind::kAllToAll;
    other.bytes = c.bytes + more * SizeOf(c.dtype) * (blocks ? c.ranks : 1);
    if (other.bytes <= 0) continue;
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t wrong, WrongOnce(group, other, options));
    if (wrong != 0) return false;
  }
  return BlocksOfDifferentSizes(group, c, options);
}

// Fills `checks` with what data that rounds shows.
Status CheckRounding(Group& group, const BenchCase& c, const CallOptions& options,
                     BenchChecks& checks) {
  const BenchCounts counts = CountsOf(c, group.rank());
  std::vector<std::byte> in = Room(counts.in, c.dtype);
  std::vector<std::byte> out = Room(std::max(counts.out, c.elements()), c.dtype);
  const bool smooth = IsFloat(c.dtype);
  if (smooth) {
    FillSmooth(c, group.rank(), kSeed, in.data());
  } else {
    FillInput(c, group.rank(), kSeed, in.data());
  }
  CHORUS_RETURN_IF_ERROR(MakeCall(group, c, in.data(), out.data(), options));
  if (SameOnAll(c.op)) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<std::int64_t> hashes,
                            OfAllRanks(group, HashOf(out.data(), counts.out * SizeOf(c.dtype))));
    checks.equal_bits = std::all_of(hashes.begin(), hashes.end(),
                                    [&](std::int64_t hash) { return hash == hashes[0]; });
  }
  const bool sums = c.reduce == ReduceOp::kSum || c.reduce == ReduceOp::kAvg;
  if (!smooth || !Reduces(c.op) || !sums) return OkStatus();
  // A NaN loses every comparison: as a large number it is told to all ranks.
  double mine = LargestError(c, group.rank(), kSeed, out.data());
  if (std::isnan(mine)) mine = 1e30;
  CHORUS_ASSIGN_OR_RETURN(checks.error_ulp, Agree(group, mine, BenchAverage::kMaximum));
  // The f32 sum before the one rounding of a narrow float adds next to nothing.
  checks.error_allowed = AccumulatesInF32(c.dtype) ? 0.51 : 0.5 * std::max(1, c.ranks - 1) + 0.5;
  return OkStatus();
}

}  // namespace

Result<BenchChecks> CheckStrictly(Group& group, const BenchCase& c, const CallOptions& options) {
  BenchCase cut = c;
  cut.bytes = FitBytes(c, std::min(c.bytes, kMostChecked));
  BenchChecks checks;
  CHORUS_RETURN_IF_ERROR(CheckRounding(group, cut, options, checks));
  CHORUS_ASSIGN_OR_RETURN(checks.uneven, Uneven(group, cut, options));
  BenchCase empty = cut;
  empty.bytes = 0;
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t wrong, WrongOnce(group, empty, options));
  checks.zero = wrong == 0;
  return checks;
}

}  // namespace chorus::cli
