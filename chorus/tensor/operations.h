// Operations on arrays that lie on a mesh. Start here.
//
//   auto runtime = *Runtime::Create(*Join(), *Mesh::Parse("X=2"), {});
//   auto a = *ShardedArray::Generate(*runtime, *Spec::Parse("A[I_X, J]"), DType::kF32, sizes, f);
//   auto b = *ShardedArray::Generate(*runtime, *Spec::Parse("B[J_X, K]"), DType::kF32, sizes, g);
//   auto c = *Matmul(a, b, *Spec::Parse("C[I_X, K]"));
//   auto norm = *Norm(c);
//
// What moves is planned (shard/), checked, and then run: the plan is a StepProgram, made once for
// each question and kept by the runtime. A value that is still a sum to be done, {U}, stays one
// under what is linear (Matmul of one such operand, Add, Scale, Sum, Reshard) and is summed first
// by what is not (Gelu, Max, Norm), which says so in the plan. Apply, which knows nothing of its
// function, refuses it.
//
// All are collective calls: every rank makes them in the same order, on arrays of its runtime. All
// operands are of one runtime. Errors: what the planner refuses, other dtypes than f32, f64 and
// bf16 (Gelu: f32 and f64; Reshard moves i32 too, but sums none), operands of different dtypes or
// sizes, no memory, those of collectives. If ranks ask different things each gets an error naming
// both (agreement.h), and nothing is done; if only some refuse, the others are told which and why.
// What moves nothing (Scale, Apply, Sum without a result) asks nobody: its error is of the rank
// alone that has it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/graph/op.h"
#include "chorus/shard/product.h"
#include "chorus/tensor/sharded_array.h"

namespace chorus {

// a . b, summed over the dimensions that `result` lacks, named and laid out as it says.
Result<ShardedArray> Matmul(const ShardedArray& a, const ShardedArray& b, const Spec& result);
// A product or a chain of them, planned as a whole: the order too, and the layout of the result if
// the product leaves it open. operands[i] lies as product.operands[i] says, whatever its name.
Result<ShardedArray> Multiply(const Product& product,
                              const std::vector<const ShardedArray*>& operands);

// The same array under another layout and name. `result` has the same dimensions.
Result<ShardedArray> Reshard(const ShardedArray& array, const Spec& result);

// a + b, element by element; the dimensions of both are the same, in one order. Laid out as
// `result` says, else as is cheapest: sums over the same axes are added first and stay a sum.
Result<ShardedArray> Add(const ShardedArray& a, const ShardedArray& b,
                         const std::optional<Spec>& result = std::nullopt);
// factor x array; moves nothing.
Result<ShardedArray> Scale(double factor, const ShardedArray& array);
// gelu(array), tanh form; of a sum to be done the sum is done first.
Result<ShardedArray> Gelu(const ShardedArray& array);
// function of each element. Refuses a sum to be done, as f(a + b) is not f(a) + f(b).
Result<ShardedArray> Apply(const ShardedArray& array,
                           const std::function<double(double)>& function);

// Summed over `dims`, in f64, rounded once; moves nothing: axes that split them, and those over
// which the array is a sum already, are those over which the result is. With `result` it is then
// brought to that layout. Errors: also a dimension that the array lacks.
Result<ShardedArray> Sum(const ShardedArray& array, const Dims& dims,
                         const std::optional<Spec>& result = std::nullopt);
// The largest element along `dims`; NaN if there is one among them, -infinity if there are none. A
// sum to be done is done first. The result is whole over axes that split `dims`.
Result<ShardedArray> Max(const ShardedArray& array, const Dims& dims);
// The square root of the sum of all squares, in f64; the same bits on every rank. A sum to be done
// is done first; copies are counted once.
Result<double> Norm(const ShardedArray& array);

}  // namespace chorus
