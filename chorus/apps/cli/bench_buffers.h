// BenchBuffers: one rank's memory in a bench, in which every call takes the next place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "chorus/apps/cli/bench_case.h"
#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// Where the buffers of a bench are.
enum class BenchMemory : std::uint8_t {
  kOrdinary,   // the process's own
  kSymmetric,  // of Group::Allocate: all ranks can reach it
};
std::string_view Name(BenchMemory memory);  // "ordinary", "symmetric"

// Two spans, of inputs and of results, each of the largest size of the sweep. A smaller case shifts
// through them from call to call, as nccl-tests does, so that no call finds its buffers where the
// last one left them.
class BenchBuffers {
 public:
  // A collective call. `largest`: the bytes of the largest case. `unaligned` elements are left free
  // at the beginning. Errors: no memory.
  static Result<BenchBuffers> Create(Group& group, std::int64_t largest, int unaligned,
                                     BenchMemory memory);

  // From the place of one case of so many bytes to the next.
  static std::int64_t Stride(std::int64_t bytes);

  // The buffers of call number `turn`, out of place or in place.
  struct Pair {
    std::byte* in = nullptr;
    std::byte* out = nullptr;
  };
  Pair OutOfPlace(const BenchCase& c, std::int64_t turn);
  Pair InPlace(const BenchCase& c, int rank, std::int64_t turn);

 private:
  std::int64_t Offset(const BenchCase& c, std::int64_t turn) const;

  BenchBuffers(std::int64_t largest, int unaligned, std::shared_ptr<std::byte> memory);

  std::int64_t largest_;
  int unaligned_;
  std::shared_ptr<std::byte> memory_;  // inputs, then results
  std::byte* in_;
  std::byte* out_;
};

}  // namespace chorus::cli
