// BenchBuffers: one rank's memory in a bench, in which every call takes the next place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "chorus/apps/cli/bench_case.h"

namespace chorus::cli {

// Two spans, of inputs and of results, each of the largest size of the sweep. A smaller case shifts
// through them from call to call, as nccl-tests does, so that no call finds its buffers where the
// last one left them.
class BenchBuffers {
 public:
  // `largest`: the bytes of the largest case. `unaligned` elements are left free at the beginning.
  BenchBuffers(std::int64_t largest, int unaligned);

  // The buffers of call number `turn`, out of place or in place.
  struct Pair {
    std::byte* in = nullptr;
    std::byte* out = nullptr;
  };
  Pair OutOfPlace(const BenchCase& c, std::int64_t turn);
  Pair InPlace(const BenchCase& c, int rank, std::int64_t turn);

 private:
  std::int64_t Offset(const BenchCase& c, std::int64_t turn) const;

  std::int64_t largest_;
  int unaligned_;
  std::vector<std::byte> in_;
  std::vector<std::byte> out_;
};

}  // namespace chorus::cli
