// GraphOp: the kinds of operations on arrays with named dimensions, and the rule of each.
//
// A rule is declarative: which indices the operation loops over, which of them it sums, in which
// operands it is linear. What may be split over a mesh and what comes out partial, what a gradient
// needs, how many operations and bytes there are: all follow from the rule. Nothing else in Chorus
// switches on the kind to find out (kernels do, to compute).
//
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"

namespace chorus {

// Names of dimensions, slowest first.
using Dims = std::vector<std::string>;

enum class GraphOp : std::uint8_t {
  kInput,      // () -> x            given from outside in each step
  kParameter,  // () -> w            learned
  kConstant,   // () -> c            every element is `number`
  // a, b -> c: sum over every index that is in a and b and not in c. Each index of c is in a or b.
  kContract,
  kAdd,       // a, b, ... -> c     elementwise sum, all of the same dimensions
  kGelu,      // x -> y             x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), smooth everywhere
  kGeluGrad,  // x, dy -> dx        dy * gelu'(x)
  // tokens[B, W], table[W, V, D] -> x[B, D]: sum over w of table[w, tokens[b, w], :]. The same as W
  // embeddings laid side by side, [B, W*E], followed by a linear layer [W*E, D], with the product
  // of the two kept as the table.
  kEmbedWindow,
  kEmbedWindowGrad,  // tokens[B, W], dx[B, D] -> dtable[W, V, D]: adds dx[b] to each row b looked
                     // up
  kCrossEntropy,     // logits[B, V], targets[B] -> loss[]: mean over the global B, in nats
  // logits[B, V], targets[B], dloss[] -> dlogits[B, V] = dloss (softmax(logits) - onehot) / global
  // B
  kCrossEntropyGrad,
};

// "contract", "embed_window_grad", ...
std::string_view Name(GraphOp op);
// The inverse of Name.
std::optional<GraphOp> ParseGraphOp(std::string_view name);

// How an operation is linear in an operand, the others held fixed.
enum class Linearity : std::uint8_t {
  kNone,   // not: an operand that is still a sum to be done must be summed first
  kAlone,  // f(a + a', b) = f(a, b) + f(a', b): may stay a sum while the others are whole
  kJoint,  // f(a + a', b + b') = f(a, b) + f(a', b'): all operands of this kind are sums together
};

// What an operation does to dimensions. Every mesh axis may split one loop index, in each operand
// and in the result that has it; along an index that the result lacks the result is then partial.
struct OpRule {
  Dims loop;                   // every index, those of the result first
  Dims summed;                 // those of `loop` that the result lacks
  Dims whole;                  // those of `loop` that may not be split (softmax needs its row)
  std::vector<Dims> operands;  // indices of each operand
  Dims result;                 // indices of the result
  std::vector<Linearity> linearity;  // one an operand

  friend bool operator==(const OpRule&, const OpRule&) = default;
};

// The rule of `op` on operands of these dimensions. Errors: a number of operands or dimensions that
// `op` does not take; the message says what it takes.
Result<OpRule> MakeRule(GraphOp op, const std::vector<Dims>& operands, const Dims& result);

// True if operand `index` of `op` holds whole numbers (tokens, targets) and no floats.
bool TakesIndices(GraphOp op, std::size_t index);

// "B, W"
std::string JoinDims(const Dims& dims);

}  // namespace chorus
