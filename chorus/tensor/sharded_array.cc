#include "chorus/tensor/sharded_array.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "chorus/kernel/small_float.h"
#include "chorus/tensor/block_index.h"

namespace chorus {
namespace {

bool IsOffered(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16 ||
         dtype == DType::kI32;
}

void Store(void* memory, DType dtype, std::int64_t index, double value) {
  switch (dtype) {
    case DType::kF32:
      static_cast<float*>(memory)[index] = static_cast<float>(value);
      return;
    case DType::kF64:
      static_cast<double*>(memory)[index] = value;
      return;
    case DType::kBF16:
      static_cast<std::uint16_t*>(memory)[index] = BF16::Narrow(static_cast<float>(value));
      return;
    default:
      static_cast<std::int32_t*>(memory)[index] = static_cast<std::int32_t>(value);
  }
}

double Load(const void* memory, DType dtype, std::int64_t index) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(static_cast<const float*>(memory)[index]);
    case DType::kF64:
      return static_cast<const double*>(memory)[index];
    case DType::kBF16:
      return static_cast<double>(BF16::Widen(static_cast<const std::uint16_t*>(memory)[index]));
    default:
      return static_cast<const std::int32_t*>(memory)[index];
  }
}

// True if no rank with a smaller number holds the same elements of the same part of the sum.
bool IsFirstReplica(const Spec& spec, const Mesh& mesh, std::int64_t rank) {
  const std::vector<std::int64_t> coordinates = mesh.Coordinates(rank);
  for (std::size_t a = 0; a < coordinates.size(); ++a) {
    if (!spec.Uses(mesh.axes()[a].name) && coordinates[a] != 0) return false;
  }
  return true;
}

}  // namespace

Result<ShardedArray> ShardedArray::Create(const Spec& spec, DType dtype, const Mesh& mesh,
                                          const DimSizes& sizes, std::int64_t rank,
                                          ArrayMemory& memory) {
  CHORUS_RETURN_IF_ERROR(spec.Check(mesh));
  CHORUS_RETURN_IF_ERROR(CheckSizes(spec, sizes));
  if (!IsOffered(dtype)) {
    return Unsupported(fmt::format("{} cannot be {}: sharded arrays are f32, f64, bf16 or i32",
                                   spec.ToString(), Name(dtype)));
  }
  Shape shape = LocalShape(spec, mesh, sizes, rank);
  const std::int64_t bytes = shape.elements() * SizeOf(dtype);
  return ShardedArray(spec, dtype, std::move(shape), memory.Allocate(bytes));
}

Result<ShardedArray> ShardedArray::Generate(const Spec& spec, DType dtype, const Mesh& mesh,
                                            const DimSizes& sizes, std::int64_t rank,
                                            ArrayMemory& memory, const Generator& generator) {
  if (!spec.partial().empty()) {
    return InvalidArgument(
        fmt::format("{} is a sum to be done over {}; only a whole array can be cut into shards",
                    spec.ToString(), JoinAxes(spec.partial())));
  }
  CHORUS_ASSIGN_OR_RETURN(ShardedArray array, Create(spec, dtype, mesh, sizes, rank, memory));
  void* to = array.raw();
  ForEachElement(spec, mesh, sizes, rank, [&](std::int64_t local, std::int64_t global) {
    Store(to, dtype, local, generator(global));
  });
  return array;
}

Result<ShardedArray> ShardedArray::FromGlobal(const Spec& spec, DType dtype, const Mesh& mesh,
                                              const DimSizes& sizes, std::int64_t rank,
                                              ArrayMemory& memory, const PlainArray& whole) {
  CHORUS_RETURN_IF_ERROR(CheckSizes(spec, sizes));
  const Shape shape = GlobalShape(spec, sizes);
  if (whole.shape != shape) {
    return InvalidArgument(fmt::format("{} is {} in all, but the array given is {}",
                                       spec.ToString(), shape.ToString(), whole.shape.ToString()));
  }
  return Generate(spec, dtype, mesh, sizes, rank, memory,
                  [&](std::int64_t global) { return whole.elements[global]; });
}

double ShardedArray::ElementAt(std::int64_t local) const {
  return Load(memory_.data(), dtype_, local);
}

void ShardedArray::SetElement(std::int64_t local, double value) {
  Store(memory_.data(), dtype_, local, value);
}

Result<PlainArray> ToGlobal(const ShardedArray& array, Group& world, const Mesh& mesh,
                            const DimSizes& sizes) {
  const Spec& spec = array.spec();
  const DType dtype = array.dtype();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) counts[r] = LocalShape(spec, mesh, sizes, r).elements();
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<char> gathered(static_cast<std::size_t>(total * SizeOf(dtype)));
  CHORUS_RETURN_IF_ERROR(world.AllGatherV({array.raw(), array.elements(), dtype},
                                          {gathered.data(), total, dtype}, counts));

  PlainArray whole{.shape = GlobalShape(spec, sizes), .elements = {}};
  whole.elements.resize(static_cast<std::size_t>(whole.shape.elements()), 0.0);
  const char* shard = gathered.data();
  for (int r = 0; r < world.size(); ++r) {
    if (IsFirstReplica(spec, mesh, r)) {
      ForEachElement(spec, mesh, sizes, r, [&](std::int64_t local, std::int64_t global) {
        whole.elements[global] += Load(shard, dtype, local);
      });
    }
    shard += counts[r] * SizeOf(dtype);
  }
  return whole;
}

}  // namespace chorus
