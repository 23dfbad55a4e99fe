#include "chorus/apps/cli/bench_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "chorus/base/units.h"

namespace chorus::cli {
namespace {

constexpr std::size_t kMostSizes = 10'000;

constexpr std::array<std::pair<DType, std::string_view>, 12> kNcclDTypes = {{
    {DType::kI8, "int8"},
    {DType::kU8, "uint8"},
    {DType::kI32, "int32"},
    {DType::kU32, "uint32"},
    {DType::kI64, "int64"},
    {DType::kU64, "uint64"},
    {DType::kF16, "half"},
    {DType::kF32, "float"},
    {DType::kF64, "double"},
    {DType::kBF16, "bfloat16"},
    {DType::kF8E4M3, "f8e4m3"},
    {DType::kF8E5M2, "f8e5m2"},
}};

constexpr std::array<ReduceOp, 6> kNcclReduces = {ReduceOp::kSum, ReduceOp::kProd,
                                                  ReduceOp::kMax, ReduceOp::kMin,
                                                  ReduceOp::kAvg, ReduceOp::kPremulSum};

// Each rank has a block of S / N.
bool HasBlocks(OpKind op) { return HasOwners(op) || op == OpKind::kAllToAll; }

}  // namespace

std::int64_t FitBytes(const BenchCase& c, std::int64_t bytes) {
  if (c.op == OpKind::kBarrier) return 0;
  const std::int64_t unit = SizeOf(c.dtype) * (HasBlocks(c.op) ? c.ranks : 1);
  return bytes / unit * unit;
}

BenchCounts CountsOf(const BenchCase& c, int rank) {
  const std::int64_t whole = c.elements();
  const std::int64_t block = whole / c.ranks;
  const bool root = rank == c.root;
  switch (c.op) {
    case OpKind::kAllReduce:
    case OpKind::kAllToAll:
    case OpKind::kScan:
      return {whole, whole};
    case OpKind::kExScan:
      return {whole, rank == 0 ? 0 : whole};
    case OpKind::kAllGather:
      return {block, whole};
    case OpKind::kReduceScatter:
      return {whole, block};
    case OpKind::kBroadcast:
      return root ? BenchCounts{whole, 0} : BenchCounts{0, whole};
    case OpKind::kReduce:
      return {whole, root ? whole : 0};
    case OpKind::kGather:
      return {block, root ? whole : 0};
    case OpKind::kScatter:
      return {root ? whole : 0, block};
    case OpKind::kBarrier:
      return {};
  }
  return {};
}

std::int64_t CountArgument(const BenchCase& c) {
  return HasBlocks(c.op) ? c.elements() / c.ranks : c.elements();
}

BenchTraffic LeastTraffic(const BenchCase& c) {
  BenchTraffic all;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const BenchCounts counts = CountsOf(c, rank);
    all.read += counts.in * SizeOf(c.dtype);
    all.written += counts.out * SizeOf(c.dtype);
  }
  return {all.read / c.ranks, all.written / c.ranks};
}

Result<std::int64_t> ParseBenchSize(std::string_view text) {
  const std::string with_unit =
      !text.empty() && (text.back() == 'K' || text.back() == 'M' || text.back() == 'G')
          ? std::string(text) + "iB"
          : std::string(text);
  const Result<Bytes> bytes = ParseBytes(with_unit);
  if (bytes.ok()) return bytes->value();
  return InvalidArgument(fmt::format("'{}' is no size; give 8, 32K, 1.5M, 1G or 4KiB, 1MB", text));
}

Result<std::vector<std::int64_t>> BenchSizes(std::int64_t minimum, std::int64_t maximum,
                                             std::int64_t step, double factor) {
  if (minimum > maximum) {
    return InvalidArgument(
        fmt::format("-b {} is more than -e {}; the first size must not be larger than the last",
                    minimum, maximum));
  }
  if (factor != 1 && !(factor >= 1.0001 && std::isfinite(factor))) {
    return InvalidArgument(fmt::format("-f {}: the factor must be 1 or at least 1.0001", factor));
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = minimum; size <= maximum;) {
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
    if (sizes.size() > kMostSizes) {
      return InvalidArgument(
          fmt::format("-b {} -e {} -i {} are more than {} sizes; raise -i, or give -f 2", minimum,
                      maximum, step, kMostSizes));
    }
    if (minimum == maximum) break;
    if (factor > 1) {
      // From 0 a factor leads nowhere.
      const double next =
          std::max(std::floor(static_cast<double>(size) * factor), static_cast<double>(size) + 1);
      if (next > static_cast<double>(maximum)) break;
      size = static_cast<std::int64_t>(next);
    } else {
      if (step <= 0) {
        return InvalidArgument(fmt::format("-i {}: the step must be at least 1 byte", step));
      }
      if (size > maximum - step) break;
      size += step;
    }
  }
  return sizes;
}

Result<DType> ParseBenchDType(const std::string& name) {
  for (const auto& [dtype, nccl] : kNcclDTypes) {
    if (nccl == name) return dtype;
  }
  const std::optional<DType> dtype = ParseDType(name);
  if (dtype && !IsLocated(*dtype)) return *dtype;
  std::vector<std::string_view> known;
  for (const DType d : AllBenchDTypes()) known.push_back(Name(d));
  return NotFound(fmt::format("-d {}: there is no such type to measure; there is {}, or all", name,
                              fmt::join(known, ", ")));
}

Result<ReduceOp> ParseBenchReduce(const std::string& name) {
  if (name == "mulsum") return ReduceOp::kPremulSum;
  const std::optional<ReduceOp> op = ParseReduceOp(name);
  if (op && *op != ReduceOp::kMinLoc && *op != ReduceOp::kMaxLoc) return *op;
  std::vector<std::string_view> known;
  for (const ReduceOp r : kAllReduceOps) {
    if (r != ReduceOp::kMinLoc && r != ReduceOp::kMaxLoc) known.push_back(NcclName(r));
  }
  return NotFound(fmt::format("-o {}: there is no such reduction to measure; there is {}, or all",
                              name, fmt::join(known, ", ")));
}

std::string_view NcclName(DType dtype) {
  for (const auto& [known, nccl] : kNcclDTypes) {
    if (known == dtype) return nccl;
  }
  return Name(dtype);
}

std::string_view NcclName(ReduceOp op) {
  return op == ReduceOp::kPremulSum ? std::string_view("mulsum") : Name(op);
}

std::vector<DType> AllBenchDTypes() {
  std::vector<DType> all;
  for (const DType dtype : kAllDTypes) {
    if (!IsLocated(dtype)) all.push_back(dtype);
  }
  return all;
}

std::vector<ReduceOp> AllBenchReduces(DType dtype) {
  std::vector<ReduceOp> all;
  for (const ReduceOp op : kNcclReduces) {
    if (Supports(op, dtype)) all.push_back(op);
  }
  return all;
}

}  // namespace chorus::cli
