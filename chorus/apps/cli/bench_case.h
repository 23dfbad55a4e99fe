// BenchCase: one row of `chorus bench` as a value, and the arithmetic of nccl-tests about it.
//
// Sizes, counts and bandwidths mean what they mean there: S is the larger of what a rank sends and
// gets, algbw = S / time, busbw = algbw times a factor that makes it comparable between numbers of
// ranks. 1 GB = 1e9 bytes; bandwidth is per direction. Thread safety: all functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/op_kind.h"
#include "chorus/base/reduce_op.h"
#include "chorus/base/status.h"

namespace chorus::cli {

struct BenchCase {
  OpKind op = OpKind::kAllReduce;
  DType dtype = DType::kF32;
  ReduceOp reduce = ReduceOp::kSum;
  int root = 0;
  int ranks = 1;
  std::int64_t bytes = 0;  // S: what the column "size" says

  std::int64_t elements() const { return bytes / SizeOf(dtype); }
};

// The factor of premul_sum in a bench: a power of two, so that it rounds nothing.
inline constexpr double kBenchFactor = 2;

// The largest case of at most `bytes`: whole elements, the same for each rank where ranks have
// blocks.
std::int64_t FitBytes(const BenchCase& c, std::int64_t bytes);

// Elements that one rank gives and gets; 0 where it gives or gets nothing. A broadcast gives on the
// root and gets elsewhere.
struct BenchCounts {
  std::int64_t in = 0;
  std::int64_t out = 0;

  friend bool operator==(const BenchCounts&, const BenchCounts&) = default;
};
BenchCounts CountsOf(const BenchCase& c, int rank);
// The argument "count" of the call, which the column of that name shows.
std::int64_t CountArgument(const BenchCase& c);

// Bytes that all ranks together must at least read and write, each divided by their number: what
// the bound moves on each rank.
struct BenchTraffic {
  std::int64_t read = 0;
  std::int64_t written = 0;

  friend bool operator==(const BenchTraffic&, const BenchTraffic&) = default;
};
BenchTraffic LeastTraffic(const BenchCase& c);

// "8", "1.5K", "128M", "1G": powers of 1024, as nccl-tests has them; "4KiB" and "1MB" as elsewhere
// in this tool. Errors: say what would be right.
Result<std::int64_t> ParseBenchSize(std::string_view text);

// minimum, minimum * factor, ... up to `maximum`; or minimum, minimum + step, ... if factor is 1.
// Errors: an empty or endless range.
Result<std::vector<std::int64_t>> BenchSizes(std::int64_t minimum, std::int64_t maximum,
                                             std::int64_t step, double factor);

// A dtype by our name or that of nccl-tests ("f32" or "float"); a reduction likewise ("premul_sum"
// or "mulsum"). Errors: not found, with the names that exist.
Result<DType> ParseBenchDType(const std::string& name);
Result<ReduceOp> ParseBenchReduce(const std::string& name);
// As nccl-tests calls it where it has it ("float"), so that programs that read its output
// understand ours; else our name.
std::string_view NcclName(DType dtype);
std::string_view NcclName(ReduceOp op);

// What `-d all` and `-o all` mean.
std::vector<DType> AllBenchDTypes();
std::vector<ReduceOp> AllBenchReduces(DType dtype);

}  // namespace chorus::cli
