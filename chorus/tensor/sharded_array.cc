#include "chorus/tensor/sharded_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "chorus/kernel/small_float.h"
#include "chorus/probe/memory.h"
#include "chorus/tensor/agreement.h"
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

std::string TitleOf(DType dtype, const Spec& spec, const DimSizes& sizes) {
  return fmt::format("{} {}{}{}", Name(dtype), spec.ToString(), sizes.empty() ? "" : " with ",
                     ToString(sizes));
}

// Room for a whole array: what the ranks give, and the elements in the end.
struct WholeRoom {
  std::vector<char> gathered;  // (bytes), the parts by rank
  PlainArray whole;            // zeros
};

// `total` elements are gathered. Errors: kResourceExhausted, naming what it takes.
Result<WholeRoom> MakeRoom(const ShardedArray& array, std::int64_t total) {
  const auto wide = static_cast<double>(SizeOf(array.dtype()));
  const Shape shape = array.global_shape();
  const double needs = static_cast<double>(total) * wide +
                       static_cast<double>(shape.elements()) * static_cast<double>(sizeof(double));
  const Bytes limit = array.runtime().memory().limit();
  const Status refused = ResourceExhausted(fmt::format(
      "the whole of {} with {} on every rank takes {}, but {} {} in all", array.spec().ToString(),
      ToString(array.sizes()), ToString(Bytes(static_cast<std::int64_t>(std::min(needs, 9e18)))),
      limit == HostMemory() ? "the host has" : "this rank may hold", ToString(limit)));
  if (needs > static_cast<double>(limit.value())) return refused;
  WholeRoom room;
  try {
    room.gathered.resize(static_cast<std::size_t>(total * SizeOf(array.dtype())));
    room.whole = Filled(shape, 0);
  } catch (const std::bad_alloc&) {
    return refused;
  }
  return room;
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
  const auto make = [&]() -> Result<ShardedArray> {
    CHORUS_ASSIGN_OR_RETURN(ShardedArray array, Create(runtime, spec, part.dtype, sizes));
    if (part.count == array.elements()) return array;
    return InvalidArgument(
        fmt::format("the part of rank {} of {} has {} elements; {} makes it {}, and the lengths of "
                    "parts are {}",
                    runtime.rank(), spec.ToString(), part.count, ToString(array.sizes()),
                    array.local_shape().ToString(), LengthsText(spec, runtime.mesh(), sizes)));
  };
  Result<ShardedArray> array = make();
  CHORUS_RETURN_IF_ERROR(
      AgreeOn(runtime, "FromLocal of " + TitleOf(part.dtype, spec, sizes), array.status()));
  const std::int64_t bytes = part.count * SizeOf(part.dtype);
  if (bytes > 0) std::memcpy(array->raw(), part.data, static_cast<std::size_t>(bytes));
  return array;
}

std::string ShardedArray::Title() const { return TitleOf(dtype_, spec_, sizes_); }

double ShardedArray::ElementAt(std::int64_t local) const {
  return Load(memory_.data(), dtype_, local);
}

void ShardedArray::SetElement(std::int64_t local, double value) {
  Store(memory_.data(), dtype_, local, value);
}

Result<PlainArray> ToGlobal(const ShardedArray& array) {
  return ToGlobal(array, "ToGlobal of " + array.Title());
}

Result<PlainArray> ToGlobal(const ShardedArray& array, const std::string& question) {
  const Spec& spec = array.spec();
  const DType dtype = array.dtype();
  const Mesh& mesh = array.runtime().mesh();
  Group& world = array.runtime().world();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) {
    counts[r] = LocalShape(spec, mesh, array.sizes(), r).elements();
  }
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  Result<WholeRoom> room = MakeRoom(array, total);
  CHORUS_RETURN_IF_ERROR(AgreeOn(array.runtime(), question, room.status()));
  CHORUS_RETURN_IF_ERROR(world.AllGatherV({array.raw(), array.elements(), dtype},
                                          {room->gathered.data(), total, dtype}, counts));

  PlainArray& whole = room->whole;
  const char* shard = room->gathered.data();
  for (int r = 0; r < world.size(); ++r) {
    if (IsFirstReplica(spec, mesh, r)) {
      ForEachElement(spec, mesh, array.sizes(), r, [&](std::int64_t local, std::int64_t global) {
        whole.elements[global] += Load(shard, dtype, local);
      });
    }
    shard += counts[r] * SizeOf(dtype);
  }
  return std::move(whole);
}

}  // namespace chorus
