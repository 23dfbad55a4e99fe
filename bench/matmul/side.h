// One side of the comparison: a library that multiplies matrices split over the ranks of its job.
//
//   C (M,N) = A (M,K) . B (K,N), every matrix split over all ranks before and after
//
// Operands are small whole numbers, functions of the place in the whole matrix, so that every sum
// is exact in f32 and a rank can check any element of C alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace matmul {

// What is asked for, and how.
struct Block {
  std::int64_t m = 0, n = 0, k = 0;
  int samples = 5;
  std::string dtype = "f32";  // of Chorus
  std::string product;        // of Chorus: "A[I_X, J] * ...", or "independent": no common product
  // Of Chorus: "plan" (the best), "overlap" (the best that multiplies while chunks are under way),
  // "compute" or "move": of the best plan only what computes, or only what moves.
  std::string way = "plan";
  double flops_per_byte = 15;  // of Chorus: what the planner weighs by; of a host of today
  double latency_bytes = 0;
  int grid_rows = 1;  // of ScaLAPACK: 1 or the number of ranks
  int tile = 128;     // of ScaLAPACK: rows and columns of a block
};

inline double NumberA(std::int64_t i, std::int64_t j) {
  return static_cast<double>((i * 31 + j * 17) % 9 - 4);
}
inline double NumberB(std::int64_t j, std::int64_t k) {
  return static_cast<double>((j * 13 + k * 29) % 9 - 4);
}
// Element (i, k) of the product.
inline double NumberC(const Block& block, std::int64_t i, std::int64_t k) {
  double sum = 0;
  for (std::int64_t j = 0; j < block.k; ++j) sum += NumberA(i, j) * NumberB(j, k);
  return sum;
}

class Side {
 public:
  virtual ~Side() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Makes the operands. An error text, or "".
  virtual std::string Prepare(const Block& block) = 0;
  virtual void Barrier() = 0;
  // One product. An error text, or "".
  virtual std::string Multiply() = 0;
  // Some elements of what this rank holds of C against the definition. An error text, or "".
  virtual std::string Check() = 0;
};

// Defined by each program's own file.
std::unique_ptr<Side> MakeSide(int* argc, char*** argv, int rank, int size);

}  // namespace matmul
