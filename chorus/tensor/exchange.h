// Exchange: one collective of a program, on the blocks of one rank.
//
// Blocks along a dimension that is not the leading one interleave in memory. They are sent as runs:
//
//   all_gather of x[B, D_Y], Y=2, D=4:     mine (2, 2)   a0 a1      workspace  a0 a1 b0 b1 | c..
//   d..
//                                                        b0 b1      unpacked   a0 a1 c0 c1
//                                                                              b0 b1 d0 d1
//
// all_to_all and permute send pieces, which are packed and unpacked where they do not follow each
// other in memory. Bytes moved locally for packing: those of all blocks, once. Thread safety: as
// Group.
#pragma once

#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/program/account.h"
#include "chorus/program/program.h"

namespace chorus {

// Effect: out = the result of the collective `kind` on `in`. `group` is that of shape.group, null
// if this rank is alone in it. `workspace` has room for shape.WorkspaceElements(). Only all_reduce
// may be in place. Errors: those of Group.
Status Exchange(ProgramOpKind kind, const CollectiveShape& shape, Group* group, const void* in,
                void* out, void* workspace);

}  // namespace chorus
