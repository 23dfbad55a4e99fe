// ShardedArray: an array that lies on a mesh, as one rank holds it. Start here to compute with it:
// operations.h.
//
//   w[D, F_Y] with D = 4, F = 6 on Y=2:   rank 0 holds columns 0..2, rank 1 columns 3..5,
//   each row-major and dense, (4, 3)
//
// Every rank makes the same array with the same call. Lifetime: within its runtime's, in whose
// memory it lies. Thread safety: none; it belongs to one rank.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "chorus/base/dtype.h"
#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/plain_array.h"
#include "chorus/tensor/array_memory.h"
#include "chorus/tensor/runtime.h"

namespace chorus {

class ShardedArray {
 public:
  // The value of an element of the whole array, by its position there, row-major.
  using Generator = std::function<double(std::int64_t global_index)>;

  // Of undefined content. `sizes` are global; others than those of its dimensions are not looked
  // at. Errors: an axis that the mesh lacks, a dimension without a size, a negative size, more than
  // 2^58 elements, a dtype that is none of f32, f64, bf16, i32; kResourceExhausted, naming sizes
  // and bytes, if there is no memory for this rank's part.
  static Result<ShardedArray> Create(Runtime& runtime, const Spec& spec, DType dtype,
                                     const DimSizes& sizes);
  // As Create, each element what `generator` says. A function of the global position gives the same
  // array under every layout. Errors: as Create; a spec that is partial.
  static Result<ShardedArray> Generate(Runtime& runtime, const Spec& spec, DType dtype,
                                       const DimSizes& sizes, const Generator& generator);
  // As Create, cut out of the whole array, which every rank has. Errors: as Generate; `whole` has
  // another shape.
  static Result<ShardedArray> FromGlobal(Runtime& runtime, const Spec& spec, DType dtype,
                                         const DimSizes& sizes, const PlainArray& whole);
  // As Create, a copy of what this rank has of it: its block, row-major, for a partial spec its
  // addend. A collective call: all ranks hear whether all parts have the sizes that the spec gives
  // them, and are given as the same array (agreement.h). Errors, on every rank: as Create;
  // kInvalidArgument, naming the first rank whose part has another number of elements, and the
  // lengths along each dimension that would be right.
  static Result<ShardedArray> FromLocal(Runtime& runtime, const Spec& spec, const DimSizes& sizes,
                                        ConstBuffer part);

  // An array in memory that is there already. REQUIRES: the spec and sizes are ones that Create
  // takes; memory is of the runtime's and holds the rank's elements.
  ShardedArray(Runtime& runtime, Spec spec, DType dtype, const DimSizes& sizes,
               ArrayMemory::Piece memory);

  Runtime& runtime() const { return *runtime_; }
  const Spec& spec() const { return spec_; }
  DType dtype() const { return dtype_; }
  // Of its dimensions, global.
  const DimSizes& sizes() const { return sizes_; }
  Shape global_shape() const { return GlobalShape(spec_, sizes_); }
  // "f32 w[D, F_Y] with D=4,F=6".
  std::string Title() const;
  // Of what this rank holds.
  const Shape& local_shape() const { return local_shape_; }
  std::int64_t elements() const { return local_shape_.elements(); }

  // REQUIRES: DTypeOf<T>() == dtype().
  template <typename T>
  T* data() {
    return static_cast<T*>(memory_.data());
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(memory_.data());
  }
  // Element `local` of what this rank holds, row-major, as f64; and rounded to dtype() when set.
  // REQUIRES: 0 <= local < elements().
  double ElementAt(std::int64_t local) const;
  void SetElement(std::int64_t local, double value);
  void* raw() { return memory_.data(); }
  const void* raw() const { return memory_.data(); }

  // The same array under another name.
  void Rename(std::string name) { spec_ = spec_.WithName(std::move(name)); }

 private:
  Runtime* runtime_;
  Spec spec_;
  DType dtype_;
  DimSizes sizes_;
  Shape local_shape_;
  ArrayMemory::Piece memory_;
};

// The whole array, on every rank: the sum of the parts where it is partial. A collective call; the
// same bits on all ranks. Sends every rank's shard to every rank, so it is for results, files and
// tests, not for steps. Errors, on every rank: kResourceExhausted where one has no memory for it.
Result<PlainArray> ToGlobal(const ShardedArray& array);
// As part of `question`, which all ranks ask (agreement.h).
Result<PlainArray> ToGlobal(const ShardedArray& array, const std::string& question);

}  // namespace chorus
