// Drawing how an array lies: which ranks hold which block, for the terminal.
//
//   A[I_X, J_Y] on X=2,Y=2, 5 x 4            C[I_X, J]{U_Y}
//             J 0-1  J 2-3                             J 0-3
//     I 0-2 | 0    | 1    |                    I 0-2 | 0+1  |     the sum of what 0 and 1 hold
//     I 3-4 | 2    | 3    |                    I 3-4 | 2+3  |
//
//   B[J_X, K] repeated along Y: "0,1" in a cell says that both ranks have the block.
//
// Rows are blocks of the first dimension, columns of the second; of arrays with more dimensions
// there is one table for each block of the others. Thread safety: pure.
#pragma once

#include <cstdint>
#include <string>

#include "chorus/mesh/spec.h"

namespace chorus {

inline constexpr std::int64_t kMostRanksDrawn = 64;

// Lines with their ends, without a title. Ranks that hold nothing are named below the tables.
// Errors: a mesh of more than kMostRanksDrawn ranks; what Spec::Check and CheckSizes refuse.
Result<std::string> DrawSpec(const Spec& spec, const Mesh& mesh, const DimSizes& sizes);

}  // namespace chorus
