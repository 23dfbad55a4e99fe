#include "chorus/apps/cli/bench_buffers.h"

#include <algorithm>

#include "chorus/apps/cli/bench_call.h"

namespace chorus::cli {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kWidest = 16;  // bytes of the widest element

std::size_t SpanOf(std::int64_t largest, int unaligned) {
  return static_cast<std::size_t>(largest + unaligned * kWidest + kLine);
}

}  // namespace

BenchBuffers::BenchBuffers(std::int64_t largest, int unaligned)
    : largest_(largest),
      unaligned_(unaligned),
      in_(SpanOf(largest, unaligned)),
      out_(SpanOf(largest, unaligned)) {}

std::int64_t BenchBuffers::Offset(const BenchCase& c, std::int64_t turn) const {
  const std::int64_t stride = (std::max<std::int64_t>(c.bytes, 1) + kLine - 1) / kLine * kLine;
  const std::int64_t places = std::max<std::int64_t>(1, largest_ / stride);
  return turn % places * stride + unaligned_ * SizeOf(c.dtype);
}

BenchBuffers::Pair BenchBuffers::OutOfPlace(const BenchCase& c, std::int64_t turn) {
  const std::int64_t offset = Offset(c, turn);
  return {in_.data() + offset, out_.data() + offset};
}

BenchBuffers::Pair BenchBuffers::InPlace(const BenchCase& c, int rank, std::int64_t turn) {
  std::byte* whole = out_.data() + Offset(c, turn);
  std::byte* part = whole + std::max<std::int64_t>(0, InPlaceOffset(c, rank));
  const BenchCounts counts = CountsOf(c, rank);
  // The smaller buffer is the part: all_gather's input, reduce_scatter's result. Where a rank has
  // only one of the two (gather, scatter elsewhere than on the root) it stands alone.
  if (counts.in == 0 || counts.out == 0) return {whole, whole};
  return counts.in <= counts.out ? Pair{part, whole} : Pair{whole, part};
}

}  // namespace chorus::cli
