#include "chorus/apps/cli/bench_buffers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "chorus/apps/cli/bench_call.h"

namespace chorus::cli {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kWidest = 16;  // bytes of the widest element

// Bytes of one span, whole lines, so that both begin on one.
std::int64_t SpanOf(std::int64_t largest, int unaligned) {
  return (largest + unaligned * kWidest + 2 * kLine - 1) / kLine * kLine;
}

}  // namespace

std::string_view Name(BenchMemory memory) {
  return memory == BenchMemory::kSymmetric ? "symmetric" : "ordinary";
}

BenchBuffers::BenchBuffers(std::int64_t largest, int unaligned, std::shared_ptr<std::byte> memory)
    : largest_(largest),
      unaligned_(unaligned),
      memory_(std::move(memory)),
      in_(memory_.get()),
      out_(in_ + SpanOf(largest, unaligned)) {}

Result<BenchBuffers> BenchBuffers::Create(Group& group, std::int64_t largest, int unaligned,
                                          BenchMemory memory) {
  const std::int64_t bytes = 2 * SpanOf(largest, unaligned);
  if (memory == BenchMemory::kSymmetric) {
    CHORUS_ASSIGN_OR_RETURN(SymmetricArray<std::byte> array, group.Allocate<std::byte>(bytes));
    auto owner = std::make_shared<SymmetricArray<std::byte>>(std::move(array));
    return BenchBuffers(largest, unaligned, std::shared_ptr<std::byte>(owner, owner->data()));
  }
  // Written once, so that no page is missing when time is taken.
  auto owner = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes) + kLine);
  void* begin = owner->data();
  std::size_t room = owner->size();
  auto* const line = static_cast<std::byte*>(
      std::align(static_cast<std::size_t>(kLine), static_cast<std::size_t>(bytes), begin, room));
  return BenchBuffers(largest, unaligned, std::shared_ptr<std::byte>(owner, line));
}

std::int64_t BenchBuffers::Stride(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

std::int64_t BenchBuffers::Offset(const BenchCase& c, std::int64_t turn) const {
  const std::int64_t stride = Stride(c.bytes);
  const std::int64_t places = std::max<std::int64_t>(1, largest_ / stride);
  return turn % places * stride + unaligned_ * SizeOf(c.dtype);
}

BenchBuffers::Pair BenchBuffers::OutOfPlace(const BenchCase& c, std::int64_t turn) {
  const std::int64_t offset = Offset(c, turn);
  return {in_ + offset, out_ + offset};
}

BenchBuffers::Pair BenchBuffers::InPlace(const BenchCase& c, int rank, std::int64_t turn) {
  std::byte* whole = out_ + Offset(c, turn);
  std::byte* part = whole + std::max<std::int64_t>(0, InPlaceOffset(c, rank));
  const BenchCounts counts = CountsOf(c, rank);
  // The smaller buffer is the part: all_gather's input, reduce_scatter's result. Where a rank has
  // only one of the two (gather, scatter elsewhere than on the root) it stands alone.
  if (counts.in == 0 || counts.out == 0) return {whole, whole};
  return counts.in <= counts.out ? Pair{part, whole} : Pair{whole, part};
}

}  // namespace chorus::cli
