// Coalescing: which calls of a list go through their group together, as one.
//
// Small all_reduces cost what a call costs, whatever they carry. Packed one after another they are
// one all_reduce of all their elements:
//
//   calls    a: f32 x 2 sum    b: f32 x 3 sum    c: i32 x 1 sum    d: f32 x 1 sum
//   parts    { a b d }: a a b b b d              { c }
//
// Cost: one call less for each call but the first of a part, against a copy into the packed memory
// and one out of it: worth it while 2 bytes / copy rate < the time of a call.
//
// The result has the bits that the calls by themselves would have: they are packed only where each
// element is summed in the same order wherever it lies (both plans add the ranks' inputs left to
// right, in rank order: schedule/sum_order.h), or where no order matters (integers, minimum,
// bitwise, ...).
//
// Which calls go together follows from what all ranks know alike. Thread safety: pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"

namespace chorus {

struct CoalescingTerms {
  double call_ns = 600;                              // of one small call by itself
  double copy_bytes_per_ns = 8;                      // within the caches of a core
  std::int64_t most_bytes = std::int64_t{32} << 10;  // of one part
  // Whether the plan for a call adds up each element left to right in rank order.
  std::function<bool(const Call&)> adds_in_rank_order;
};

// Most calls of one part: as many as Links keep for peers to look at.
inline constexpr int kMostCoalesced = 32;

// The parts, each the indices of its calls, ascending; parts are in the order of their first calls.
std::vector<std::vector<int>> Coalesce(const std::vector<const Call*>& calls,
                                       const CoalescingTerms& terms);

// The one call for those of a part. REQUIRES: calls of one part of Coalesce, at least two.
Call Packed(const std::vector<const Call*>& calls);

// A range of memory that call `call` of a list reads or writes.
struct CallRange {
  int call = 0;
  bool is_written = false;
  const void* data = nullptr;
  std::int64_t bytes = 0;
};
// Refuses a list of which one call writes what another reads or writes. Ranges of one call may
// meet.
Status CheckApart(const std::vector<CallRange>& ranges);

// "call 3 of 5", "calls 1, 2 and 4 of 5", "calls 1 to 4 of 5". `calls` from 0, ascending.
std::string DescribeCalls(const std::vector<int>& calls, int of);

}  // namespace chorus
