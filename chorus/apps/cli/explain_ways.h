// What explain says about the ways to do a product: all of them, best first, and what decides.
#pragma once

#include <optional>
#include <vector>

#include "chorus/apps/answer/gradient_answer.h"
#include "chorus/shard/break_even.h"
#include "chorus/shard/placement.h"
#include "chorus/shard/ways.h"

namespace chorus::cli {

// Where the ranks of the mesh are on the machine, axis by axis.
void PrintPlacement(const MeshPlacement& placement);

// Of the chosen way: each operation's time and why.
void PrintTimes(const ProductWay& way);

// A line a way: bytes, operations, memory, time if they have one. At most `most` lines.
void PrintWays(const std::vector<ProductWay>& ways, std::size_t most);

// The numbers at which gathering an operand and reducing the result cost the same.
// The gradient of each operand, and all together.
void PrintGradients(const std::vector<answer::OperandGradient>& gradients);
void PrintBreakEvens(const std::vector<BreakEven>& points, const Tariff& tariff);

}  // namespace chorus::cli
