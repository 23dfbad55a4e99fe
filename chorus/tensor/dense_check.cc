#include "chorus/tensor/dense_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/kernel/matmul.h"
#include "chorus/program/plain_array.h"

namespace chorus {
namespace {

constexpr double kLargestNumber = 4;

// The indices of each dimension that are looked at, ascending, in the whole array.
using Chosen = std::map<std::string, std::vector<std::int64_t>>;

// A part of a dense array.
struct DensePart {
  Dims dims;
  PlainArray array;
};

bool HasDim(const Dims& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Shape ChosenShape(const Dims& dims, const Chosen& chosen) {
  std::vector<std::int64_t> sizes;
  for (const std::string& dim : dims) sizes.push_back(std::ssize(chosen.at(dim)));
  return Shape(std::move(sizes));
}

// Calls visit(count, positions along the dimensions) for each element of `shape`, row-major.
template <typename Visit>
void ForEachPosition(const Shape& shape, Visit visit) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    visit(i, at);
    for (int d = shape.rank(); d-- > 0;) {
      if (++at[static_cast<std::size_t>(d)] < shape[d]) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
  }
}

DensePart OperandPart(const Spec& spec, const DimSizes& sizes, const Chosen& chosen) {
  DensePart part{spec.DimNames(), Filled(ChosenShape(spec.DimNames(), chosen), 0)};
  ForEachPosition(part.array.shape, [&](std::int64_t i, const std::vector<std::int64_t>& at) {
    std::int64_t global = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::string& dim = part.dims[d];
      global = global * sizes.find(dim)->second + chosen.at(dim)[static_cast<std::size_t>(at[d])];
    }
    part.array.elements[static_cast<std::size_t>(i)] = TrialNumber(spec.name(), global);
  });
  return part;
}

// The same elements with the dimensions in another order.
DensePart InOrder(const DensePart& from, const Dims& dims) {
  if (from.dims == dims) return from;
  std::vector<std::int64_t> stride;  // in `from`, of each of `dims`
  std::vector<std::int64_t> sizes;
  for (const std::string& dim : dims) {
    const auto at = std::find(from.dims.begin(), from.dims.end(), dim) - from.dims.begin();
    const Shape& shape = from.array.shape;
    sizes.push_back(shape[static_cast<int>(at)]);
    stride.push_back(shape.elements(static_cast<int>(at) + 1, shape.rank()));
  }
  DensePart to{dims, Filled(Shape(std::move(sizes)), 0)};
  ForEachPosition(to.array.shape, [&](std::int64_t i, const std::vector<std::int64_t>& at) {
    std::int64_t source = 0;
    for (std::size_t d = 0; d < at.size(); ++d) source += at[d] * stride[d];
    to.array.elements[static_cast<std::size_t>(i)] =
        from.array.elements[static_cast<std::size_t>(source)];
  });
  return to;
}

Dims Joined(const Dims& a, const Dims& b, const Dims& c) {
  Dims all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// c = a . b, summed over what c lacks: a matrix product for each index of the batch.
DensePart Multiply(const DensePart& a, const DensePart& b, const Dims& c) {
  Dims batch, rows, columns, summed;
  for (const std::string& dim : a.dims) {
    if (!HasDim(c, dim)) summed.push_back(dim);
  }
  for (const std::string& dim : c) {
    const bool in_a = HasDim(a.dims, dim);
    (in_a && HasDim(b.dims, dim) ? batch : in_a ? rows : columns).push_back(dim);
  }
  const DensePart left = InOrder(a, Joined(batch, rows, summed));
  const DensePart right = InOrder(b, Joined(batch, summed, columns));
  const auto count = [](const DensePart& part, std::size_t first, std::size_t size) {
    return part.array.shape.elements(static_cast<int>(first), static_cast<int>(first + size));
  };
  const std::int64_t batches = count(left, 0, batch.size());
  const MatmulShape shape{count(left, batch.size(), rows.size()),
                          count(right, batch.size() + summed.size(), columns.size()),
                          count(right, batch.size(), summed.size())};
  std::vector<std::int64_t> sizes;
  for (const std::string& dim : Joined(batch, rows, columns)) {
    const DensePart& holder = HasDim(a.dims, dim) ? a : b;
    const auto at = std::find(holder.dims.begin(), holder.dims.end(), dim) - holder.dims.begin();
    sizes.push_back(holder.array.shape[static_cast<int>(at)]);
  }
  DensePart out{Joined(batch, rows, columns), Filled(Shape(std::move(sizes)), 0)};
  Flops executed;
  for (std::int64_t z = 0; z < batches; ++z) {
    Matmul(KernelSet::kPlain, shape, left.array.elements.data() + z * shape.m * shape.k,
           right.array.elements.data() + z * shape.k * shape.n,
           out.array.elements.data() + z * shape.m * shape.n, false, executed);
  }
  return InOrder(out, c);
}

double OperationsFor(const Product& product, const std::vector<ChainStep>& steps,
                     const Chosen& chosen) {
  std::vector<Dims> dims;
  for (const Spec& operand : product.operands) dims.push_back(operand.DimNames());
  double operations = 0;
  for (const ChainStep& step : steps) {
    const Dims& left = dims[static_cast<std::size_t>(step.left)];
    double loops = 2;
    for (const std::string& dim : left) loops *= static_cast<double>(chosen.at(dim).size());
    for (const std::string& dim : dims[static_cast<std::size_t>(step.right)]) {
      if (!HasDim(left, dim)) loops *= static_cast<double>(chosen.at(dim).size());
    }
    operations += loops;
    dims.push_back(step.plan.result.DimNames());
  }
  return operations;
}

// All indices of what is summed, and of the result's dimensions those of the rank's block, fewer
// where the product would take more than `most` operations.
Chosen Choose(const Product& product, const std::vector<ChainStep>& steps, const Spec& result,
              const Mesh& mesh, const DimSizes& sizes, std::int64_t rank, Flops most) {
  Chosen chosen;
  for (const Spec& operand : product.operands) {
    for (const std::string& dim : operand.DimNames()) {
      const Block block = BlockOf(result.AxesOf(dim), mesh, sizes.find(dim)->second, rank);
      std::vector<std::int64_t>& indices = chosen[dim];
      indices.clear();
      for (std::int64_t i = 0; i < block.size; ++i) indices.push_back(block.begin + i);
    }
  }
  while (OperationsFor(product, steps, chosen) > static_cast<double>(most.value())) {
    std::vector<std::int64_t>* longest = nullptr;
    for (const std::string& dim : result.DimNames()) {
      if (longest == nullptr || chosen[dim].size() > longest->size()) longest = &chosen[dim];
    }
    if (longest == nullptr || longest->size() < 2) break;
    std::vector<std::int64_t> half;  // the last one included: blocks go wrong at their edges
    for (std::size_t i = longest->size(); i > 0; i -= std::min<std::size_t>(i, 2)) {
      half.insert(half.begin(), (*longest)[i - 1]);
    }
    *longest = std::move(half);
  }
  return chosen;
}

// Whole numbers up to this many fit; and what storing any other loses, relative to it.
double LargestExact(DType dtype) {
  return dtype == DType::kF64 ? 0x1p53 : dtype == DType::kF32 ? 0x1p24 : 0x1p8;
}

// The largest error that rounding explains, relative to the largest value of the result; 0 while
// every sum is a whole number that the dtype holds.
double RelativeAllowance(const Product& product, const ProductAnswer& answer, const Mesh& mesh,
                         const DimSizes& sizes, DType dtype) {
  double addends = 1;  // of one element of the result
  double largest = 1;  // that a sum of the magnitudes of all its addends can become
  std::map<std::string, std::int64_t> summed;
  for (const Spec& operand : product.operands) {
    largest *= kLargestNumber * static_cast<double>(mesh.GroupSize(operand.partial()));
    for (const std::string& dim : operand.DimNames()) {
      if (product.result.FindDim(dim) < 0) summed[dim] = sizes.find(dim)->second;
    }
  }
  for (const auto& [dim, size] : summed) addends *= static_cast<double>(size);
  largest *= addends;
  const double exact = LargestExact(dtype);
  if (largest <= exact) return 0;
  double roundings = 0;
  for (const ProgramOp& op : answer.program.ops()) {
    const bool adds =
        op.kind == ProgramOpKind::kReduceScatter || op.kind == ProgramOpKind::kAllReduce;
    if (adds || op.kind == ProgramOpKind::kCompute) ++roundings;
  }
  // bf16 is summed in f32 and rounded when stored, the others are rounded at every addition.
  const double additions = dtype == DType::kBF16 ? 1 : std::sqrt(addends);
  return 4 * roundings * additions / exact;
}

std::string Place(const Spec& result, const Chosen& chosen, const Shape& shape,
                  std::int64_t element) {
  std::string text;
  for (int d = shape.rank(); d-- > 0;) {
    const std::int64_t at = element % shape[d];
    element /= shape[d];
    const std::string& dim = result.dims()[static_cast<std::size_t>(d)].name;
    text = fmt::format("{}{}{}", chosen.at(dim)[static_cast<std::size_t>(at)],
                       text.empty() ? "" : ", ", text);
  }
  return fmt::format("{}[{}]", result.name(), text);
}

// What one rank tells the others.
struct Outcome {
  double checked = 0;
  double elements = 0;
  double wrong = 0;
  double error = 0;
};

Result<DenseCheck> JoinOutcomes(Runtime& runtime, const Outcome& mine,
                                const std::string& first_wrong) {
  constexpr std::size_t kTextBytes = 160;
  Group& world = runtime.world();
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::array<double, 4> row = {mine.checked, mine.elements, mine.wrong, mine.error};
  std::vector<double> rows(row.size() * ranks);
  CHORUS_RETURN_IF_ERROR(world.AllGather(row, rows));
  std::vector<std::uint8_t> text(kTextBytes, 0);
  std::copy_n(first_wrong.begin(), std::min(first_wrong.size(), kTextBytes - 1), text.begin());
  std::vector<std::uint8_t> texts(kTextBytes * ranks);
  CHORUS_RETURN_IF_ERROR(world.AllGather(text, texts));
  DenseCheck all;
  for (std::size_t r = 0; r < ranks; ++r) {
    const double* const its = rows.data() + r * row.size();
    all.checked += static_cast<std::int64_t>(its[0]);
    all.elements += static_cast<std::int64_t>(its[1]);
    if (its[2] > 0 && all.wrong == 0) {
      all.first_wrong = reinterpret_cast<const char*>(texts.data() + r * kTextBytes);
    }
    all.wrong += static_cast<std::int64_t>(its[2]);
    // A NaN is the largest error there is.
    if (!(its[3] <= all.largest_error)) all.largest_error = its[3];
  }
  return all;
}

}  // namespace

double TrialNumber(std::string_view name, std::int64_t global_index) {
  const RandomStream stream(1, name);
  return static_cast<double>(stream.Below(9, 0, static_cast<std::uint64_t>(global_index))) -
         kLargestNumber;
}

Result<DenseCheck> CheckAgainstDense(Runtime& runtime, const Product& product,
                                     const ProductAnswer& answer, const DimSizes& sizes,
                                     const ShardedArray& result, Flops most_flops) {
  const Mesh& mesh = runtime.mesh();
  const Spec& spec = result.spec();
  const std::vector<ChainStep>& steps = answer.plans[0].steps;
  const Chosen chosen = Choose(product, steps, spec, mesh, sizes, runtime.rank(), most_flops);
  std::vector<DensePart> parts;
  for (const Spec& operand : product.operands) parts.push_back(OperandPart(operand, sizes, chosen));
  for (const ChainStep& step : steps) {
    parts.push_back(Multiply(parts[static_cast<std::size_t>(step.left)],
                             parts[static_cast<std::size_t>(step.right)],
                             step.plan.result.DimNames()));
  }
  const PlainArray& want = parts.back().array;

  std::vector<Block> blocks;
  for (const SpecDim& dim : spec.dims()) {
    blocks.push_back(BlockOf(dim.axes, mesh, sizes.find(dim.name)->second, runtime.rank()));
  }
  std::vector<double> got(want.elements.size());
  ForEachPosition(want.shape, [&](std::int64_t i, const std::vector<std::int64_t>& at) {
    std::int64_t local = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto& indices = chosen.at(spec.dims()[d].name);
      local = local * blocks[d].size + indices[static_cast<std::size_t>(at[d])] - blocks[d].begin;
    }
    got[static_cast<std::size_t>(i)] = result.ElementAt(local);
  });
  if (mesh.GroupSize(spec.partial()) > 1) {
    CHORUS_ASSIGN_OR_RETURN(Group* const addends, runtime.GroupOver(spec.partial()));
    CHORUS_RETURN_IF_ERROR(addends->AllReduce(got, ReduceOp::kSum));
  }

  std::array<double, 1> largest = {0};
  for (const double value : want.elements) largest[0] = std::max(largest[0], std::abs(value));
  CHORUS_RETURN_IF_ERROR(runtime.world().AllReduce(largest, ReduceOp::kMax));
  const double allowed =
      RelativeAllowance(product, answer, mesh, sizes, result.dtype()) * largest[0];
  Outcome mine;
  mine.checked = static_cast<double>(got.size());
  mine.elements = static_cast<double>(result.elements());
  std::string first_wrong;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want.elements[i]);
    if (!(error <= mine.error)) mine.error = error;
    if (error <= allowed) continue;
    if (mine.wrong++ == 0) {
      first_wrong = fmt::format("{} on rank {} is {}, want {}",
                                Place(spec, chosen, want.shape, static_cast<std::int64_t>(i)),
                                runtime.rank(), got[i], want.elements[i]);
    }
  }
  CHORUS_ASSIGN_OR_RETURN(DenseCheck check, JoinOutcomes(runtime, mine, first_wrong));
  check.largest_value = largest[0];
  check.allowed = allowed;
  return check;
}

}  // namespace chorus
