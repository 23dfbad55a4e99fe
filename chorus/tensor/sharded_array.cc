#include "chorus/tensor/sharded_array.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>
#include <utility>

#include "chorus/kernel/small_float.h"
#include "chorus/probe/memory.h"
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

// "I 3, 3, 1": how long the blocks of each split dimension are, in the order of its axes.
std::string LengthsText(const Spec& spec, const Mesh& mesh, const DimSizes& sizes) {
  std::string text;
  for (const SpecDim& dim : spec.dims()) {
    if (dim.axes.empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : "; ", dim.name);
    const char* separator = " ";
    for (const std::int64_t rank : mesh.Group(0, dim.axes)) {
      text += fmt::format("{}{}", separator,
                          BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, rank).size);
      separator = ", ";
    }
  }
  return text.empty() ? "those of the whole" : text;
}

}  // namespace

ShardedArray::ShardedArray(Runtime& runtime, Spec spec, DType dtype, const DimSizes& sizes,
                           ArrayMemory::Piece memory)
    : runtime_(&runtime),
      spec_(std::move(spec)),
      dtype_(dtype),
      local_shape_(LocalShape(spec_, runtime.mesh(), sizes, runtime.rank())),
      memory_(std::move(memory)) {
  for (const SpecDim& dim : spec_.dims()) sizes_[dim.name] = sizes.find(dim.name)->second;
}

Result<ShardedArray> ShardedArray::Create(Runtime& runtime, const Spec& spec, DType dtype,
                                          const DimSizes& sizes) {
  CHORUS_RETURN_IF_ERROR(spec.Check(runtime.mesh()));
  CHORUS_RETURN_IF_ERROR(CheckSizes(spec, sizes));
  if (!IsOffered(dtype)) {
    return Unsupported(fmt::format("{} cannot be {}: sharded arrays are f32, f64, bf16 or i32",
                                   spec.ToString(), Name(dtype)));
  }
  const Shape shape = LocalShape(spec, runtime.mesh(), sizes, runtime.rank());
  Result<ArrayMemory::Piece> memory = runtime.memory().Allocate(shape.elements() * SizeOf(dtype));
  if (!memory.ok()) {
    return memory.status().WithContext(fmt::format("{} {} with {}, of which this rank holds {}",
                                                   Name(dtype), spec.ToString(), ToString(sizes),
                                                   shape.ToString()));
  }
  return ShardedArray(runtime, spec, dtype, sizes, *std::move(memory));
}

Result<ShardedArray> ShardedArray::Generate(Runtime& runtime, const Spec& spec, DType dtype,
                                            const DimSizes& sizes, const Generator& generator) {
  if (!spec.partial().empty()) {
    return InvalidArgument(
        fmt::format("{} is a sum to be done over {}; only a whole array can be cut into shards",
                    spec.ToString(), JoinAxes(spec.partial())));
  }
  CHORUS_ASSIGN_OR_RETURN(ShardedArray array, Create(runtime, spec, dtype, sizes));
  void* to = array.raw();
  ForEachElement(
      spec, runtime.mesh(), sizes, runtime.rank(),
      [&](std::int64_t local, std::int64_t global) { Store(to, dtype, local, generator(global)); });
  return array;
}

Result<ShardedArray> ShardedArray::FromGlobal(Runtime& runtime, const Spec& spec, DType dtype,
                                              const DimSizes& sizes, const PlainArray& whole) {
  CHORUS_RETURN_IF_ERROR(CheckSizes(spec, sizes));
  const Shape shape = GlobalShape(spec, sizes);
  if (whole.shape != shape) {
    return InvalidArgument(fmt::format("{} is {} in all, but the array given is {}",
                                       spec.ToString(), shape.ToString(), whole.shape.ToString()));
  }
  return Generate(runtime, spec, dtype, sizes,
                  [&](std::int64_t global) { return whole.elements[global]; });
}

Result<ShardedArray> ShardedArray::FromLocal(Runtime& runtime, const Spec& spec,
                                             const DimSizes& sizes, ConstBuffer part) {
  Result<ShardedArray> made = Create(runtime, spec, part.dtype, sizes);
  // Every rank's part, so that all refuse alike.
  constexpr std::int64_t kNotMade = -1;
  const std::vector<std::int64_t> mine = {made.ok() ? part.count : kNotMade,
                                          static_cast<std::int64_t>(part.dtype)};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(runtime.world().size()));
  CHORUS_RETURN_IF_ERROR(runtime.world().AllGather(mine, all));
  CHORUS_ASSIGN_OR_RETURN(ShardedArray array, std::move(made));
  for (int r = 0; r < runtime.world().size(); ++r) {
    const std::int64_t count = all[2 * static_cast<std::size_t>(r)];
    const auto dtype = static_cast<DType>(all[2 * static_cast<std::size_t>(r) + 1]);
    const Shape want = LocalShape(spec, runtime.mesh(), sizes, r);
    if (dtype != static_cast<DType>(all[1])) {
      return InvalidArgument(fmt::format("the part of rank {} of {} is {}, that of rank 0 {}", r,
                                         spec.ToString(), Name(dtype),
                                         Name(static_cast<DType>(all[1]))));
    }
    if (count == kNotMade) {
      return InvalidArgument(
          fmt::format("rank {} cannot make its part of {}, and says why", r, spec.ToString()));
    }
    if (count != want.elements()) {
      return InvalidArgument(
          fmt::format("the part of rank {} of {} has {} elements; {} makes it {}, and the lengths "
                      "of parts are {}",
                      r, spec.ToString(), count, ToString(array.sizes()), want.ToString(),
                      LengthsText(spec, runtime.mesh(), sizes)));
    }
  }
  const std::int64_t bytes = part.count * SizeOf(part.dtype);
  if (bytes > 0) std::memcpy(array.raw(), part.data, static_cast<std::size_t>(bytes));
  return array;
}

double ShardedArray::ElementAt(std::int64_t local) const {
  return Load(memory_.data(), dtype_, local);
}

void ShardedArray::SetElement(std::int64_t local, double value) {
  Store(memory_.data(), dtype_, local, value);
}

Result<PlainArray> ToGlobal(const ShardedArray& array) {
  const Spec& spec = array.spec();
  const DType dtype = array.dtype();
  const DimSizes& sizes = array.sizes();
  const Mesh& mesh = array.runtime().mesh();
  Group& world = array.runtime().world();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) counts[r] = LocalShape(spec, mesh, sizes, r).elements();
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const double needs = static_cast<double>(total) * static_cast<double>(SizeOf(dtype)) +
                       static_cast<double>(array.global_shape().elements()) * sizeof(double);
  if (needs > static_cast<double>(HostMemory().value())) {
    return ResourceExhausted(fmt::format(
        "the whole of {} with {} on every rank takes {:.3g} GB, but the host has {} in all",
        spec.ToString(), ToString(sizes), needs / 1e9, ToString(HostMemory())));
  }
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
