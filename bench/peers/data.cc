#include "bench/peers/data.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace peers {
namespace {

int Value(int rank, std::int64_t j) {
  return static_cast<int>((5 * j + std::int64_t{3} * rank) % 16);
}

// The bits of a small whole number, exact in each type (at most 256).
std::uint32_t Bits(DType dtype, int value) {
  const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (dtype == DType::kF32) return f32;
  if (dtype == DType::kBF16) return f32 >> 16;
  if (value == 0) return 0;
  const std::uint32_t exponent = (f32 >> 23) - 127 + 15;
  return (exponent << 10) | ((f32 >> 13) & 0x3ff);
}

// The value at element i of what `rank` must get, inputs beginning at element p.
int Expected(const Block& block, int rank, int size, std::int64_t p, std::int64_t i) {
  const std::int64_t piece = block.bytes / SizeOf(block.dtype) / size;
  int sum = 0;
  switch (block.op) {
    case Op::kReduceScatter:
      i += rank * piece;
      [[fallthrough]];
    case Op::kAllReduce:
    case Op::kReduce:
      for (int r = 0; r < size; ++r) sum += Value(r, (p + i) % kPeriod);
      return sum;
    case Op::kAllGather:
    case Op::kGather:
      return Value(static_cast<int>(i / piece), (p + i % piece) % kPeriod);
    case Op::kAllToAll:
      return Value(static_cast<int>(i / piece), (p + rank * piece + i % piece) % kPeriod);
    case Op::kBroadcast:
      return Value(0, (p + i) % kPeriod);
    case Op::kScatter:
      return Value(0, (p + rank * piece + i) % kPeriod);
    case Op::kBarrier:
      return 0;
  }
  return 0;
}

// Elements of a result of `count` that come from one place, and so repeat the pattern.
std::int64_t RunOf(const Block& block, std::int64_t count, int size) {
  const bool joined =
      block.op == Op::kAllGather || block.op == Op::kGather || block.op == Op::kAllToAll;
  return joined ? count / size : count;
}

void Store(DType dtype, std::byte* base, std::int64_t i, int value) {
  const std::uint32_t bits = Bits(dtype, value);
  std::memcpy(base + i * SizeOf(dtype), &bits, static_cast<std::size_t>(SizeOf(dtype)));
}

__attribute__((target_clones("avx512f", "avx2", "default"))) std::uint32_t SumWords(
    const std::uint32_t* words, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

}  // namespace

void FillInput(DType dtype, int rank, std::byte* base, std::int64_t begin, std::int64_t end) {
  // One period by elements, the rest by copying what is already there.
  const std::int64_t first = std::min(end, begin + kPeriod);
  for (std::int64_t i = begin; i < first; ++i) Store(dtype, base, i, Value(rank, i % kPeriod));
  std::int64_t done = first - begin;
  while (begin + done < end) {
    const std::int64_t more = std::min(done / kPeriod * kPeriod, end - begin - done);
    std::memcpy(base + (begin + done) * SizeOf(dtype), base + begin * SizeOf(dtype),
                static_cast<std::size_t>(more * SizeOf(dtype)));
    done += more;
  }
}

std::uint32_t ReadPass(const void* data, std::int64_t bytes) {
  const std::int64_t words = bytes / 4;
  std::uint32_t sum = SumWords(static_cast<const std::uint32_t*>(data), words);
  if (bytes % 4 != 0) {
    std::uint16_t half = 0;
    std::memcpy(&half, static_cast<const std::byte*>(data) + words * 4, 2);
    sum += half;
  }
  return sum;
}

std::uint32_t ExpectedSum(const Block& block, int rank, int size, std::int64_t p) {
  // Within one piece an element's part of the sum repeats after two periods (two, because a 16-bit
  // element counts by whether its index is odd).
  const std::int64_t count = CountsOf(block, rank, size).out;
  const std::int64_t run = RunOf(block, count, size);
  std::uint32_t sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += run) {
    for (std::int64_t k = 0; k < std::min(run, 2 * kPeriod); ++k) {
      const std::int64_t i = begin + k;
      const auto times = static_cast<std::uint32_t>((run - k - 1) / (2 * kPeriod) + 1);
      std::uint32_t bits = Bits(block.dtype, Expected(block, rank, size, p, i));
      if (block.dtype != DType::kF32 && i % 2 != 0) bits <<= 16;
      sum += bits * times;
    }
  }
  return sum;
}

std::int64_t FirstWrong(const Block& block, int rank, int size, std::int64_t p, const void* out) {
  const std::int64_t count = CountsOf(block, rank, size).out;
  const std::int64_t width = SizeOf(block.dtype);
  const std::int64_t run = RunOf(block, count, size);
  const auto* bytes = static_cast<const std::byte*>(out);
  const auto is_wrong = [&](std::int64_t i) {
    std::uint32_t got = 0;
    std::memcpy(&got, bytes + i * width, static_cast<std::size_t>(width));
    return got != Bits(block.dtype, Expected(block, rank, size, p, i));
  };
  for (std::int64_t begin = 0; begin < count; begin += run) {
    // The first period by elements; what follows must repeat it.
    const std::int64_t first = std::min(run, kPeriod);
    std::int64_t checked = 0;
    while (checked < first && !is_wrong(begin + checked)) ++checked;
    if (checked < first) return begin + checked;
    const std::byte* at = bytes + begin * width;
    const auto rest = static_cast<std::size_t>((run - first) * width);
    if (std::memcmp(at, at + first * width, rest) == 0) continue;
    while (!is_wrong(begin + checked)) ++checked;
    return begin + checked;
  }
  return -1;
}

}  // namespace peers
