// Arena: one rank's buffers, rotated so that a call finds them out of every cache.
//
//   | in 0 | in 1 | ... | in n-1 |      free      | out 0 | out 1 | ... | out n |
//
// Inputs lie at the beginning and are written once; results lie at the end. There is one result
// buffer more than inputs, so that a result buffer meets another input in the next turn, and one
// that is not written would be noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/peers/block.h"

namespace peers {

class Arena {
 public:
  Arena() = default;
  // Over `size` bytes at `base`, not owned.
  Arena(std::byte* base, std::int64_t size);

  // Over a file that the coordinator has made. The ordinary memory of rank r is the same pages on
  // every side: no side has luckier ones, and many live jobs fit into memory.
  static Arena OfFile(const std::string& path);

  bool empty() const { return base_ == nullptr; }

  // Lays out the buffers of `block` of rank `rank` of `size`, and writes the inputs that are not
  // there yet. False if they do not fit.
  bool LayOut(const Block& block, int rank, int size);

  // Bytes from the beginning of the arena to the input of call number `turn`.
  std::int64_t Offset(std::int64_t turn) const { return turn % in_slots_ * in_stride_; }
  const std::byte* In(std::int64_t turn) const { return base_ + Offset(turn); }
  std::byte* Out(std::int64_t turn) const { return out_base_ + turn % out_slots_ * out_stride_; }

 private:
  // What holds the pattern of inputs; in the file, since all sides write results over it.
  struct Clean {
    std::int64_t bytes = 0;
    std::int64_t dtype = 0;
  };

  std::byte* base_ = nullptr;
  std::byte* out_base_ = nullptr;
  std::int64_t size_ = 0;
  Clean own_clean_;
  Clean* file_clean_ = nullptr;
  std::int64_t in_stride_ = 0;
  std::int64_t out_stride_ = 0;
  std::int64_t in_slots_ = 1;
  std::int64_t out_slots_ = 1;
};

}  // namespace peers
