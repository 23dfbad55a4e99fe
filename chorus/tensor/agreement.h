// Ranks that are to do the same make sure that they were asked the same.
//
//   rank 0: Matmul(a, b, C[I_X, K])        rank 1: Matmul(a, b, C[I, K])
//   each plans, then: AllGather of (hash of the question, its length, is it planned)
//   all equal: go on.  Not equal: the texts are gathered too, and every rank returns one error
//
// Without this the two would run different collectives and wait for each other. It is done when a
// question is new to a runtime, not each time it is asked: a rank that asks what it has asked
// before while another asks something new is told by its deadline. A rank that refuses before it
// plans, as operands do not meet, asks all the same, each time, so that the others hear of it.
// Thread safety: as Runtime.
#pragma once

#include <string>

#include "chorus/base/status.h"
#include "chorus/tensor/runtime.h"

namespace chorus {

// A collective call of all ranks of the runtime, unless it is alone. `mine` is what this rank could
// make of the question. Sends 24 bytes to each rank. Errors: `mine`; kInvalidArgument on every
// rank, naming two of them and both questions, if they were asked differently; naming the rank, if
// only others could not do it. The runtime stays usable.
Status AgreeOn(Runtime& runtime, const std::string& question, const Status& mine);

}  // namespace chorus
