// Block: a number of timed calls of one operation, that one side (library) is told to run.
#pragma once

#include <cstdint>
#include <string>

namespace peers {

enum class Op : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kBarrier,
};

enum class DType : std::uint8_t { kF32, kBF16, kF16 };

constexpr std::int64_t SizeOf(DType dtype) { return dtype == DType::kF32 ? 4 : 2; }

struct Block {
  Op op = Op::kAllReduce;
  DType dtype = DType::kF32;
  bool symmetric = false;    // buffers from the library's own allocator for shared buffers
  bool cold = true;          // buffers rotated over `rotate` bytes, else one pair of buffers
  std::int64_t bytes = 0;    // of the larger side of one rank's buffers, a multiple of 4 x ranks
  std::int64_t rotate = 0;   // per rank
  std::int64_t reserve = 0;  // bytes of symmetric memory to ask for when there is none yet
  int samples = 1;
  int calls = 1;  // in one sample, back to back
  int warmup = 1;
  std::string setting;  // "NAME=NUMBER,..." or a name: what the library is told to do
};

// From "block op=all_reduce dtype=f32 memory=symmetric bytes=4096 ...". False if a word is unknown.
bool ParseBlock(const std::string& line, Block& block);

// Elements that one rank gives and gets; 0 where it gives or gets nothing. Root is rank 0.
struct Counts {
  std::int64_t in = 0;
  std::int64_t out = 0;
};
Counts CountsOf(const Block& block, int rank, int size);
// The largest over all ranks: the same buffers are laid out on each.
Counts LargestCounts(const Block& block, int size);

}  // namespace peers
