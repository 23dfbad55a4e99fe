// The driver of bench/peers: what it puts in, and what it takes for a right result.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "bench/peers/arena.h"
#include "bench/peers/block.h"
#include "bench/peers/data.h"

namespace peers {
namespace {

constexpr Op kOps[] = {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter, Op::kAllToAll,
                       Op::kBroadcast, Op::kReduce,    Op::kGather,        Op::kScatter};

Block MakeBlock(Op op, DType dtype, std::int64_t bytes) {
  Block block;
  block.op = op;
  block.dtype = dtype;
  block.bytes = bytes;
  return block;
}

// The f32 elements [p, p + count) of rank's input memory.
std::vector<float> Input(int rank, std::int64_t p, std::int64_t count) {
  std::vector<float> all(static_cast<std::size_t>(p + count));
  FillInput(DType::kF32, rank, reinterpret_cast<std::byte*>(all.data()), 0, p + count);
  return {all.begin() + p, all.end()};
}

// What `rank` must get, of f32, by moving and adding inputs one by one.
std::vector<float> Result(const Block& block, int rank, int size, std::int64_t p) {
  const std::int64_t whole = block.bytes / 4;
  const std::int64_t piece = whole / size;
  std::vector<std::vector<float>> in;
  for (int r = 0; r < size; ++r) in.push_back(Input(r, p, whole));
  std::vector<float> sum(static_cast<std::size_t>(whole));
  std::vector<float> joined;
  std::vector<float> turned;
  for (int r = 0; r < size; ++r) {
    for (std::int64_t i = 0; i < whole; ++i) sum[i] += in[r][i];
    joined.insert(joined.end(), in[r].begin(), in[r].begin() + piece);
    turned.insert(turned.end(), in[r].begin() + rank * piece, in[r].begin() + (rank + 1) * piece);
  }
  const bool root = rank == 0;
  const auto piece_of = [&](const std::vector<float>& all) {
    return std::vector<float>(all.begin() + rank * piece, all.begin() + (rank + 1) * piece);
  };
  switch (block.op) {
    case Op::kAllReduce:
      return sum;
    case Op::kReduce:
      return root ? sum : std::vector<float>();
    case Op::kReduceScatter:
      return piece_of(sum);
    case Op::kAllGather:
      return joined;
    case Op::kGather:
      return root ? joined : std::vector<float>();
    case Op::kAllToAll:
      return turned;
    case Op::kBroadcast:
      return root ? std::vector<float>() : in[0];
    case Op::kScatter:
      return piece_of(in[0]);
    case Op::kBarrier:
      break;
  }
  return {};
}

TEST(PeersData, ExpectationsAreWhatTheOperationsPromise) {
  for (const int size : {2, 3, 8}) {
    // Less than a period, and several with a rest.
    for (const std::int64_t elements : {size * 1, size * 40, size * 700}) {
      for (const Op op : kOps) {
        const Block block = MakeBlock(op, DType::kF32, elements * 4);
        for (int rank = 0; rank < size; ++rank) {
          std::vector<float> result = Result(block, rank, size, 384);
          ASSERT_EQ(std::ssize(result), CountsOf(block, rank, size).out);
          EXPECT_EQ(FirstWrong(block, rank, size, 384, result.data()), -1);
          EXPECT_EQ(ReadPass(result.data(), std::ssize(result) * 4),
                    ExpectedSum(block, rank, size, 384));
          if (result.empty()) continue;
          result.back() += 1;
          EXPECT_EQ(FirstWrong(block, rank, size, 384, result.data()), std::ssize(result) - 1);
          EXPECT_NE(ReadPass(result.data(), std::ssize(result) * 4),
                    ExpectedSum(block, rank, size, 384));
        }
      }
    }
  }
}

TEST(PeersData, AResultThatIsLeftFromAnotherCallIsNoticed) {
  const Block block = MakeBlock(Op::kAllReduce, DType::kF32, 4096);
  const std::vector<float> before = Result(block, 0, 2, 0);
  EXPECT_NE(ReadPass(before.data(), 4096), ExpectedSum(block, 0, 2, 1024));
  EXPECT_GE(FirstWrong(block, 0, 2, 1024, before.data()), 0);
}

TEST(PeersData, NarrowElementsCountByTheirPlaceInAWord) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const std::int64_t elements : {6, 502, 3000}) {
      const Block block = MakeBlock(Op::kBroadcast, dtype, elements * 2);
      std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * 2);
      FillInput(dtype, 0, bytes.data(), 0, elements);
      EXPECT_EQ(ReadPass(bytes.data(), elements * 2), ExpectedSum(block, 1, 2, 0)) << elements;
      EXPECT_EQ(FirstWrong(block, 1, 2, 0, bytes.data()), -1);
    }
  }
}

TEST(PeersBlock, IsReadFromALine) {
  Block block;
  ASSERT_TRUE(ParseBlock(
      "block op=reduce dtype=bf16 memory=symmetric buffers=warm bytes=4096 samples=3 calls=7 "
      "warmup=2 rotate=100 reserve=200 setting=a=1,b=2",
      block));
  EXPECT_EQ(block.op, Op::kReduce);
  EXPECT_EQ(block.dtype, DType::kBF16);
  EXPECT_TRUE(block.symmetric);
  EXPECT_FALSE(block.cold);
  EXPECT_EQ(block.calls, 7);
  EXPECT_EQ(block.setting, "a=1,b=2");
  EXPECT_FALSE(ParseBlock("block op=multiply", block));
  EXPECT_FALSE(ParseBlock("block colour=red", block));
}

TEST(PeersArena, CallsTakeTurnsThroughAllOfIt) {
  std::vector<std::byte> memory(std::size_t{1} << 20);
  Arena arena(memory.data(), std::ssize(memory));
  Block block = MakeBlock(Op::kAllReduce, DType::kF32, 4096);
  block.rotate = 512 << 10;
  ASSERT_TRUE(arena.LayOut(block, 0, 2));
  // A result buffer meets another input in the next turn.
  std::int64_t turns = 1;
  while (arena.In(turns) != arena.In(0)) ++turns;
  EXPECT_GE(turns * 2 * 4096, 500 << 10);
  EXPECT_NE(arena.Out(turns), arena.Out(0));
  EXPECT_EQ(arena.Out(turns + 1), arena.Out(0));
  // Inputs are there again after a layout whose results lay over them.
  std::memset(memory.data(), 0xff, memory.size());
  block.bytes = 200 << 10;
  block.rotate = 0;
  ASSERT_TRUE(arena.LayOut(block, 0, 2));
  block.bytes = 400 << 10;
  EXPECT_FALSE(arena.LayOut(block, 0, 2));  // two inputs and three results do not fit
}

}  // namespace
}  // namespace peers
