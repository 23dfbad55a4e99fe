// How each operation of a bench is called.
#pragma once

#include "chorus/apps/cli/bench_case.h"
#include "chorus/collective/call_list.h"
#include "chorus/collective/group.h"

namespace chorus::cli {

// The reduction of a case, with the factor of premul_sum.
Reduction ReductionOf(const BenchCase& c);

// One call; `in` and `out` hold CountsOf(c, group.rank()) elements. Returns when this rank's part
// is done.
Status MakeCall(Group& group, const BenchCase& c, const void* in, void* out,
                const CallOptions& options);

// As MakeCall, in flight.
Work StartCall(Group& group, const BenchCase& c, const void* in, void* out,
               const CallOptions& options);

// As MakeCall, as the next call of a list.
void AddCall(CallList& list, int rank, const BenchCase& c, const void* in, void* out,
             const CallOptions& options);

// Where in place the other buffer lies, as bytes from the beginning of the larger one: all_gather's
// `in` is block `rank` of `out`, reduce_scatter's `out` is block `rank` of `in`. -1 if the
// operation has no in-place form.
std::int64_t InPlaceOffset(const BenchCase& c, int rank);

}  // namespace chorus::cli
