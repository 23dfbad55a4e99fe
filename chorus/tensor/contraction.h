// Contraction: c[..] = sum over what c lacks of a[..] b[..], by matrix products of what is stored.
//
// Every index has one part: batch (in a, b and c), row (a and c), column (b and c), sum (a and b).
//
//   a[Z, I, J] . b[Z, J, K] -> c[I, Z, K]      for each z:  (I, J) . (J, K) -> (I, K)
//                                              c's rows of one z are Z K elements apart
//
// Neighbouring indices of a part that lie as one run in both arrays count as one. If a part has
// one index then, and each matrix has an index along which its elements are neighbours, the product
// reads and writes arrays where they are. Otherwise what does not fit is reordered: a copy of that
// array, which is no memory of the program, as the packing inside a matrix product is none.
// Thread safety: pure but for results; Contract may be called by several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/shape.h"
#include "chorus/base/units.h"
#include "chorus/graph/op.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/kernel/matmul.h"
#include "chorus/mesh/spec.h"

namespace chorus {

// An array's elements in another order: the one read (or written) for each of `shape`'s, row-major.
struct Reordering {
  bool needed = false;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in the array, elements
};

// A batch index: how far to go in each array when it grows by one.
struct BatchIndex {
  std::int64_t size = 1;
  std::int64_t step_a = 0;
  std::int64_t step_b = 0;
  std::int64_t step_c = 0;
};

// An array of which one block is read or written.
struct ArrayPart {
  Dims dims;
  Shape stored;             // the array
  std::vector<Block> part;  // in each dimension of it
};

// A contraction worked out for arrays of given sizes.
struct Contraction {
  MatmulShape product;            // of one index of the batch
  bool swap_operands = false;     // c's rows come from b: it is computed as b . a
  std::vector<BatchIndex> batch;  // major to minor; of the operands in the order of the product
  // Elements before the part of the first operand as given, of the second, and of the result.
  std::int64_t offset_a = 0;
  std::int64_t offset_b = 0;
  std::int64_t offset_c = 0;
  Reordering first;  // of the operands in the order of the product
  Reordering second;
  Reordering result;

  std::int64_t Batches() const;
};

// `a`, `b` and `c` name the dimensions of the arrays, `shape_a` and `shape_b` say their sizes.
// REQUIRES: each dimension is in two of the three arrays at least, of one size everywhere.
Contraction PlanContraction(const Dims& a, const Shape& shape_a, const Dims& b,
                            const Shape& shape_b, const Dims& c);
// The same of parts of arrays. REQUIRES: each dimension's blocks are of one size everywhere.
Contraction PlanContraction(const ArrayPart& a, const ArrayPart& b, const ArrayPart& c);

// What the elements of a contraction are, and whether it adds to what is there.
struct ContractMode {
  DType dtype = DType::kF32;  // of the operands
  DType result = DType::kF32;
  bool accumulate = false;
};

// c = a . b, where `c` may hold anything before, or c += a . b. Adds operations to `executed`.
// REQUIRES: operands and result are f32, f64 or bf16 alike, or the result f32 and the operands
// bf16; a bf16 result is not accumulated; c overlaps neither a nor b.
void Contract(const Contraction& plan, KernelSet kernels, const ContractMode& mode, const void* a,
              const void* b, void* c, Flops& executed);

}  // namespace chorus
