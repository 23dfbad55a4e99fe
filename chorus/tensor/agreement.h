// Ranks that are to do the same make sure, each time, that they can and that they were asked the
// same.
//
//   rank 0: Matmul(a, b, C[I_X, K])        rank 1: Matmul(a, b, C[I, K])
//   each: plan, or take the plan that is kept; check operands; reserve the memory of the run
//   AllGather of (hash of the question, hash of the plan, can this rank do it)
//   all alike: go on.  Else: the texts are gathered too, and every rank returns an error at once
//
// Without this the two would run different collectives and wait for each other. What one rank alone
// finds out, as that an operand has another dtype or that it has no memory, is said here, before
// anything else is sent, so that no rank is left waiting for it. It is done each time and not only
// when a question is new: a rank cannot know what the others were asked (decision 0142, which says
// what that costs). Thread safety: as Runtime.
#pragma once

#include <string>

#include "chorus/base/status.h"
#include "chorus/tensor/runtime.h"

namespace chorus {

// A collective call of all ranks of the runtime, unless it is alone. `mine` is what this rank could
// make of the question; `program` what it would run for it, null if that is no program. Sends 24
// bytes to each rank. The runtime stays usable after each of these errors:
//   asked differently    kInvalidArgument on every rank, naming two of them and both questions
//   some rank could not  `mine` where it is an error; elsewhere its code, the rank and its text
//   planned differently  kInvalidArgument on every rank, naming the first line that differs
Status AgreeOn(Runtime& runtime, const std::string& question, const Status& mine,
               const Executable* program = nullptr);

}  // namespace chorus
