#include "chorus/tensor/contraction.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

namespace chorus {
namespace {

// One index, or several that lie as one run: its size and the distance of neighbours in an array.
struct IndexRun {
  std::int64_t size = 1;
  std::int64_t stride_x = 0;  // in the first of the two arrays that have it
  std::int64_t stride_y = 0;  // in the second
};

bool Contains(const Dims& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// A part of a dense array with names.
struct StoredArray {
  Dims dims;
  std::vector<std::int64_t> sizes;   // of the part
  std::vector<std::int64_t> stored;  // of the array

  std::int64_t Size(const std::string& dim) const {
    return sizes[static_cast<std::size_t>(std::find(dims.begin(), dims.end(), dim) - dims.begin())];
  }
  std::int64_t Stride(const std::string& dim) const {
    std::int64_t stride = 1;
    for (std::size_t d = dims.size(); d-- > 0 && dims[d] != dim;) stride *= stored[d];
    return stride;
  }
};

StoredArray OrderedAs(const StoredArray& array, const Dims& order) {
  StoredArray out{order, {}, {}};
  for (const std::string& dim : order) out.sizes.push_back(array.Size(dim));
  out.stored = out.sizes;
  return out;
}

Reordering ReorderingTo(const StoredArray& stored, const StoredArray& wanted) {
  Reordering out;
  out.needed = stored.dims != wanted.dims;
  for (const std::string& dim : wanted.dims) {
    out.sizes.push_back(stored.Size(dim));
    out.strides.push_back(stored.Stride(dim));
  }
  return out;
}

// The indices `dims` as one run in both arrays; empty if they lie as several. Indices of size 1
// lie anywhere.
std::optional<IndexRun> AsOneRun(const Dims& dims, const StoredArray& x, const StoredArray& y) {
  IndexRun run;
  for (std::size_t d = dims.size(); d-- > 0;) {
    const std::int64_t size = x.Size(dims[d]);
    if (size == 1) continue;
    if (run.size == 1) {
      run = {size, x.Stride(dims[d]), y.Stride(dims[d])};
      continue;
    }
    if (x.Stride(dims[d]) != run.stride_x * run.size) return std::nullopt;
    if (y.Stride(dims[d]) != run.stride_y * run.size) return std::nullopt;
    run.size *= size;
  }
  return run;
}

struct IndexParts {
  Dims batch, rows, columns, sum;
};

IndexParts PartsOf(const Dims& a, const Dims& b, const Dims& c) {
  IndexParts parts;
  for (const std::string& dim : c) {
    const bool in_a = Contains(a, dim);
    (in_a && Contains(b, dim) ? parts.batch : in_a ? parts.rows : parts.columns).push_back(dim);
  }
  for (const std::string& dim : a) {
    if (!Contains(c, dim)) parts.sum.push_back(dim);
  }
  return parts;
}

Dims Chained(const Dims& a, const Dims& b, const Dims& c) {
  Dims all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

// How the (outer, inner) matrix of an array is stored: elements between its rows, and whether it is
// stored transposed. Empty if neighbours along neither index are next to each other in memory.
struct Stored {
  std::int64_t row = 0;
  bool transposed = false;
};
std::optional<Stored> StoredAs(std::int64_t outer, std::int64_t outer_stride, std::int64_t inner,
                               std::int64_t inner_stride) {
  // Along an index of size 1 there are no neighbours.
  if (inner <= 1 || inner_stride == 1) {
    return Stored{outer <= 1 ? std::max<std::int64_t>(inner, 1) : outer_stride, false};
  }
  if (outer <= 1 || outer_stride == 1) return Stored{inner_stride, true};
  return std::nullopt;
}

// Whether the rows of such a matrix can be told to a product: they do not overlap.
bool RowsFit(const std::optional<Stored>& stored, std::int64_t outer, std::int64_t inner) {
  return stored.has_value() && stored->row >= (stored->transposed ? outer : inner);
}

// The product of one batch index, if it needs no reordering; which arrays stand in the way if it
// does.
struct Attempt {
  std::optional<MatmulShape> product;
  bool a_fits = true;
  bool b_fits = true;
  bool c_fits = true;
};

Attempt Try(const IndexParts& parts, const StoredArray& a, const StoredArray& b,
            const StoredArray& c) {
  Attempt out;
  const std::optional<IndexRun> rows = AsOneRun(parts.rows, a, c);
  const std::optional<IndexRun> columns = AsOneRun(parts.columns, b, c);
  const std::optional<IndexRun> sum = AsOneRun(parts.sum, a, b);
  out.a_fits = rows.has_value() && sum.has_value();
  out.b_fits = columns.has_value() && sum.has_value();
  out.c_fits = rows.has_value() && columns.has_value();
  if (!rows || !columns || !sum) return out;
  const auto in_a = StoredAs(rows->size, rows->stride_x, sum->size, sum->stride_x);
  const auto in_b = StoredAs(sum->size, sum->stride_y, columns->size, columns->stride_x);
  const auto in_c = StoredAs(rows->size, rows->stride_y, columns->size, columns->stride_y);
  out.a_fits = RowsFit(in_a, rows->size, sum->size);
  out.b_fits = RowsFit(in_b, sum->size, columns->size);
  out.c_fits = RowsFit(in_c, rows->size, columns->size) && !in_c->transposed;
  if (!out.a_fits || !out.b_fits || !out.c_fits) return out;
  out.product = MatmulShape{rows->size,       columns->size, sum->size, in_a->transposed,
                            in_b->transposed, in_a->row,     in_b->row, in_c->row};
  return out;
}

Contraction Planned(const StoredArray& a, const StoredArray& b, const StoredArray& c) {
  const IndexParts parts = PartsOf(a.dims, b.dims, c.dims);
  StoredArray use_a = a;
  StoredArray use_b = b;
  StoredArray use_c = c;
  Attempt attempt = Try(parts, a, b, c);
  // What does not fit takes the order in which it does; in the end all three have it.
  if (!attempt.a_fits) use_a = OrderedAs(a, Chained(parts.batch, parts.rows, parts.sum));
  if (!attempt.b_fits) use_b = OrderedAs(b, Chained(parts.batch, parts.sum, parts.columns));
  if (!attempt.c_fits) use_c = OrderedAs(c, Chained(parts.batch, parts.rows, parts.columns));
  if (!attempt.product) attempt = Try(parts, use_a, use_b, use_c);
  if (!attempt.product) {
    use_a = OrderedAs(a, Chained(parts.batch, parts.rows, parts.sum));
    use_b = OrderedAs(b, Chained(parts.batch, parts.sum, parts.columns));
    use_c = OrderedAs(c, Chained(parts.batch, parts.rows, parts.columns));
    attempt = Try(parts, use_a, use_b, use_c);
  }
  Contraction plan;
  plan.product = attempt.product.value();
  for (const std::string& dim : parts.batch) {
    plan.batch.push_back({c.Size(dim), use_a.Stride(dim), use_b.Stride(dim), use_c.Stride(dim)});
  }
  plan.first = ReorderingTo(a, use_a);
  plan.second = ReorderingTo(b, use_b);
  plan.result = ReorderingTo(c, use_c);
  return plan;
}

std::int64_t Copies(const Contraction& plan) {
  return std::int64_t{plan.first.needed} + plan.second.needed + plan.result.needed;
}

// Calls visit(index, offset in the array) for each element in the new order.
template <typename T, typename Visit>
void ForEachReordered(const Reordering& order, Visit visit) {
  std::int64_t elements = 1;
  for (const std::int64_t size : order.sizes) elements *= size;
  std::vector<std::int64_t> at(order.sizes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < elements; ++i) {
    visit(i, offset);
    for (std::size_t d = order.sizes.size(); d-- > 0;) {
      offset += order.strides[d];
      if (++at[d] < order.sizes[d]) break;
      offset -= at[d] * order.strides[d];
      at[d] = 0;
    }
  }
}

template <typename T>
std::vector<T> ReorderedCopy(const Reordering& order, const T* from) {
  std::int64_t elements = 1;
  for (const std::int64_t size : order.sizes) elements *= size;
  std::vector<T> to(static_cast<std::size_t>(elements));
  if (from == nullptr) return to;
  ForEachReordered<T>(order, [&](std::int64_t i, std::int64_t offset) { to[i] = from[offset]; });
  return to;
}

// C is T, or float where T is bf16.
template <typename T, typename C>
void RunContraction(const Contraction& plan, KernelSet kernels, const ContractMode& mode,
                    const T* a, const T* b, C* c, Flops& executed) {
  std::vector<T> copy_a, copy_b;
  std::vector<C> copy_c;
  C* out = c;
  if (plan.first.needed) a = (copy_a = ReorderedCopy(plan.first, a)).data();
  if (plan.second.needed) b = (copy_b = ReorderedCopy(plan.second, b)).data();
  if (plan.result.needed) {
    copy_c = ReorderedCopy<C>(plan.result, nullptr);
    out = copy_c.data();
  }
  std::vector<std::int64_t> at(plan.batch.size(), 0);
  const T* a_at = a;
  const T* b_at = b;
  C* c_at = out;
  const bool adds = mode.accumulate && !plan.result.needed;
  const std::int64_t batches = plan.Batches();
  for (std::int64_t i = 0; i < batches; ++i) {
    if constexpr (std::is_same_v<T, C>) {
      Matmul(kernels, mode.dtype, plan.product, a_at, b_at, c_at, adds, executed);
    } else {
      MatmulBF16ToF32(kernels, plan.product, a_at, b_at, c_at, adds, executed);
    }
    for (std::size_t d = plan.batch.size(); d-- > 0;) {
      const BatchIndex& index = plan.batch[d];
      a_at += index.step_a;
      b_at += index.step_b;
      c_at += index.step_c;
      if (++at[d] < index.size) break;
      a_at -= at[d] * index.step_a;
      b_at -= at[d] * index.step_b;
      c_at -= at[d] * index.step_c;
      at[d] = 0;
    }
  }
  if (plan.result.needed) {
    ForEachReordered<C>(plan.result, [&](std::int64_t k, std::int64_t offset) {
      if constexpr (std::is_floating_point_v<C>) {
        c[offset] = mode.accumulate ? c[offset] + copy_c[k] : copy_c[k];
      } else {
        c[offset] = copy_c[k];
      }
    });
  }
}

}  // namespace

std::int64_t Contraction::Batches() const {
  std::int64_t batches = 1;
  for (const BatchIndex& index : batch) batches *= index.size;
  return batches;
}

Contraction PlanContraction(const Dims& a, const Shape& shape_a, const Dims& b,
                            const Shape& shape_b, const Dims& c) {
  const auto whole = [](const Dims& dims, const Shape& shape) {
    ArrayPart part{dims, shape, {}};
    for (const std::int64_t size : shape.sizes()) part.part.push_back({0, size});
    return part;
  };
  std::vector<std::int64_t> sizes;
  for (const std::string& dim : c) {
    const bool in_a = Contains(a, dim);
    const Dims& dims = in_a ? a : b;
    const auto at = static_cast<int>(std::find(dims.begin(), dims.end(), dim) - dims.begin());
    sizes.push_back((in_a ? shape_a : shape_b)[at]);
  }
  return PlanContraction(whole(a, shape_a), whole(b, shape_b), whole(c, Shape(std::move(sizes))));
}

Contraction PlanContraction(const ArrayPart& a, const ArrayPart& b, const ArrayPart& c) {
  const auto stored = [](const ArrayPart& part) {
    StoredArray array{part.dims, {}, part.stored.sizes()};
    for (const Block& block : part.part) array.sizes.push_back(block.size);
    return array;
  };
  const auto offset = [](const ArrayPart& part) {
    std::int64_t elements = 0;
    for (int d = 0; d < part.stored.rank(); ++d) {
      elements += part.part[static_cast<std::size_t>(d)].begin *
                  part.stored.elements(d + 1, part.stored.rank());
    }
    return elements;
  };
  Contraction plan = Planned(stored(a), stored(b), stored(c));
  if (Copies(plan) > 0) {
    Contraction swapped = Planned(stored(b), stored(a), stored(c));
    if (Copies(swapped) < Copies(plan)) {
      plan = std::move(swapped);
      plan.swap_operands = true;
    }
  }
  plan.offset_a = offset(a);
  plan.offset_b = offset(b);
  plan.offset_c = offset(c);
  return plan;
}

void Contract(const Contraction& plan, KernelSet kernels, const ContractMode& mode, const void* a,
              const void* b, void* c, Flops& executed) {
  const auto run = [&]<typename T, typename C>(const T* first, C* out) {
    const T* left = first + plan.offset_a;
    const T* right = static_cast<const T*>(b) + plan.offset_b;
    if (plan.swap_operands) std::swap(left, right);
    RunContraction(plan, kernels, mode, left, right, out + plan.offset_c, executed);
  };
  if (mode.dtype == DType::kF64) return run(static_cast<const double*>(a), static_cast<double*>(c));
  if (mode.dtype != DType::kBF16) return run(static_cast<const float*>(a), static_cast<float*>(c));
  const auto* const narrow = static_cast<const std::uint16_t*>(a);
  if (mode.result == DType::kF32) return run(narrow, static_cast<float*>(c));
  run(narrow, static_cast<std::uint16_t*>(c));
}

}  // namespace chorus
