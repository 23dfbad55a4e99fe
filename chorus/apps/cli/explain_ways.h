// What explain says about the ways to do a product: all of them, best first, and what decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/answer/gradient_answer.h"
#include "chorus/shard/break_even.h"
#include "chorus/shard/placement.h"
#include "chorus/shard/ways.h"

namespace chorus::cli {

// Where the ranks of the mesh are on the machine, axis by axis, and how fast they multiply.
Status PrintPlacement(const MeshPlacement& placement, DType dtype);

// Whether a collective of it is done by a loop over chunks.
bool HasShifts(const StepProgram& program);

// Of the chosen way: each operation's time and why.
void PrintTimes(const ProductWay& way);

// "price = mean bytes sent + FLOP / 2198": what plans without a machine are ordered by. `open`: the
// result may be left a sum, whose reduction is then charged too.
std::string PriceText(const Tariff& tariff, bool open);

// A line a way: what they are ordered by, time or price, then bytes, operations and memory. At most
// `most` lines. REQUIRES: there is a way.
void PrintWays(const std::vector<ProductWay>& ways, const Tariff& tariff, bool open,
               std::size_t most);

// The gradient of each operand, and all together.
void PrintGradients(const std::vector<answer::OperandGradient>& gradients);
// The numbers at which gathering an operand and reducing the result cost the same.
void PrintBreakEvens(const std::vector<BreakEven>& points, const Tariff& tariff);

}  // namespace chorus::cli
