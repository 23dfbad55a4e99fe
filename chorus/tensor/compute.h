// Compute: carries out one computation of a program on what a rank holds, by the kernels.
//
// Thread safety: none; one rank, one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/graph/op.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/program.h"
#include "chorus/tensor/contraction.h"

namespace chorus {

// One array as a kernel sees it. Not owned.
struct LocalView {
  void* data = nullptr;
  Shape shape;
};

// A computation prepared for one rank: everything that follows from the program, the mesh and the
// sizes is worked out, so that a step only calls the kernel.
struct PreparedCompute {
  GraphOp op = GraphOp::kConstant;
  DType dtype = DType::kF32;  // of the floats; of a product its result's
  double number = 0;          // kConstant: every element
  Contraction product;        // kContract
  ContractMode mode;          // kContract
  std::int64_t begin_v = 0;   // embedding: first row of the vocabulary that the table's shard has
  std::int64_t all_v = 0;     // embedding: rows of the vocabulary in all
  std::int64_t all_samples = 1;  // cross entropy: the global batch, over which its mean is
};

// Errors: kUnsupported for what has no kernel in its dtype, or would have to convert; the message
// names the value.
Result<PreparedCompute> PrepareCompute(const StepProgram& program, const ProgramOp& op,
                                       const Mesh& mesh, const DimSizes& sizes, std::int64_t rank);

// Which operand holds indices into a table or logits, -1 if none does.
int IndexOperand(GraphOp op);
// Error if that operand has one outside its table or logits; the message names it. Of the other
// operands only shapes are read. REQUIRES: there is such an operand.
Status CheckIndicesOf(const PreparedCompute& prepared, const std::vector<LocalView>& operands);

// Effect: result = op(operands). The result of an elementwise operation may be one of its operands.
// Adds operations of matrix products to `executed`. Errors: an index outside its table or logits.
Status RunCompute(const PreparedCompute& prepared, KernelSet kernels,
                  const std::vector<LocalView>& operands, const LocalView& result, Flops& executed);

}  // namespace chorus
