// ShardedArray: what one rank holds of an array that lies on a mesh.
//
//   w[D, F_Y] with D = 4, F = 6 on Y=2:   rank 0 holds columns 0..2, rank 1 columns 3..5,
//   each row-major and dense, (4, 3)
//
// Thread safety: none; it belongs to one rank. Lifetime: within that of the memory it lies in.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/plain_array.h"
#include "chorus/tensor/array_memory.h"

namespace chorus {

class ShardedArray {
 public:
  // The value of an element of the whole array, by its position there, row-major.
  using Generator = std::function<double(std::int64_t global_index)>;

  // The shard of `rank`, of undefined content.
  // Errors: an axis that the mesh lacks, a dimension without a size, a dtype that is none of f32,
  // f64, bf16, i32.
  static Result<ShardedArray> Create(const Spec& spec, DType dtype, const Mesh& mesh,
                                     const DimSizes& sizes, std::int64_t rank, ArrayMemory& memory);
  // As Create, each element what `generator` says. A function of the global position gives the same
  // array under every layout. Errors: as Create; a spec that is partial.
  static Result<ShardedArray> Generate(const Spec& spec, DType dtype, const Mesh& mesh,
                                       const DimSizes& sizes, std::int64_t rank,
                                       ArrayMemory& memory, const Generator& generator);
  // As Create, cut out of the whole array. Errors: as Generate; `whole` has another shape.
  static Result<ShardedArray> FromGlobal(const Spec& spec, DType dtype, const Mesh& mesh,
                                         const DimSizes& sizes, std::int64_t rank,
                                         ArrayMemory& memory, const PlainArray& whole);

  // An array in memory that is there already. REQUIRES: local_shape is that of a rank under spec;
  // memory holds its elements.
  ShardedArray(Spec spec, DType dtype, Shape local_shape, ArrayMemory::Piece memory)
      : spec_(std::move(spec)),
        dtype_(dtype),
        local_shape_(std::move(local_shape)),
        memory_(std::move(memory)) {}

  const Spec& spec() const { return spec_; }
  DType dtype() const { return dtype_; }
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

 private:
  Spec spec_;
  DType dtype_;
  Shape local_shape_;
  ArrayMemory::Piece memory_;
};

// The whole array, on every rank: the sum of the parts where it is partial. A collective call on
// `world`, whose rank r is rank r of `mesh`; the same bits on all ranks. Sends every rank's shard
// to every rank, so it is for results, checkpoints and tests, not for steps.
Result<PlainArray> ToGlobal(const ShardedArray& array, Group& world, const Mesh& mesh,
                            const DimSizes& sizes);

}  // namespace chorus
