#include "chorus/tensor/compute.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "chorus/kernel/cross_entropy.h"
#include "chorus/kernel/elementwise.h"
#include "chorus/kernel/embed_window.h"
#include "chorus/kernel/gelu.h"

namespace chorus {
namespace {

bool Has(const Dims& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// How an operand is stored as a matrix: the dimensions of `side` first, then those of `sum`, or the
// other way round (transposed). Empty if they are mixed or in another order.
std::optional<bool> IsTransposed(const Dims& stored, const Dims& side, const Dims& sum) {
  Dims straight = side;
  straight.insert(straight.end(), sum.begin(), sum.end());
  if (stored == straight) return false;
  Dims turned = sum;
  turned.insert(turned.end(), side.begin(), side.end());
  if (stored == turned) return true;
  return std::nullopt;
}

// c[rows, columns] = sum over `sum` of first[rows | sum] second[sum | columns]. Fills in the
// transposes; false if the three are not stored so.
bool MatchProduct(const Dims& first, const Dims& second, const Dims& result, MatmulShape& product,
                  Dims& rows, Dims& columns, Dims& sum) {
  rows.clear();
  columns.clear();
  sum.clear();
  for (const std::string& dim : result) (Has(first, dim) ? rows : columns).push_back(dim);
  for (const std::string& dim : first) {
    if (Has(result, dim) && Has(second, dim)) return false;  // an index of all three
    if (!Has(result, dim)) sum.push_back(dim);
  }
  Dims joined = rows;
  joined.insert(joined.end(), columns.begin(), columns.end());
  if (joined != result) return false;
  const std::optional<bool> a = IsTransposed(first, rows, sum);
  const std::optional<bool> b = IsTransposed(second, columns, sum);  // its straight form is (N,K)
  if (!a.has_value() || !b.has_value()) return false;
  product.transpose_a = *a;
  product.transpose_b = !*b;
  return true;
}

Result<PreparedCompute> PrepareContract(PreparedCompute prepared, const StepProgram& program,
                                        const ProgramOp& op, const Mesh& mesh,
                                        const DimSizes& sizes, std::int64_t rank) {
  const Spec& a = program.value(op.operands[0]).spec;
  const Spec& b = program.value(op.operands[1]).spec;
  const Spec& c = program.value(op.result).spec;
  Dims rows;
  Dims columns;
  Dims sum;
  MatmulShape& product = prepared.product;
  if (!MatchProduct(a.DimNames(), b.DimNames(), c.DimNames(), product, rows, columns, sum)) {
    prepared.swap_operands = true;
    if (!MatchProduct(b.DimNames(), a.DimNames(), c.DimNames(), product, rows, columns, sum)) {
      return Unsupported(fmt::format(
          "{} = contract({}, {}) is no product of two matrices as they are stored: each array "
          "needs its indices in two runs, and none may be in all three",
          c.ToString(), a.ToString(), b.ToString()));
    }
  }
  const auto local = [&](const Dims& dims) {
    std::int64_t size = 1;
    for (const std::string& dim : dims) {
      const Spec& holder = c.FindDim(dim) >= 0 ? c : a;
      size *= BlockOf(holder.AxesOf(dim), mesh, sizes.find(dim)->second, rank).size;
    }
    return size;
  };
  product.m = local(rows);
  product.n = local(columns);
  product.k = local(sum);
  return prepared;
}

EmbedWindowShape EmbeddingShape(const PreparedCompute& prepared, const Shape& tokens,
                                const Shape& table) {
  // The rule splits W alike in both, so a shard's positions are those of its tokens.
  return {.samples = tokens[0],
          .token_positions = tokens[1],
          .positions = table[0],
          .position_begin = 0,
          .vocabulary = table[1],
          .vocabulary_begin = prepared.begin_v,
          .width = table[2]};
}

Status CheckIndices(const std::int32_t* indices, std::int64_t count, std::int64_t rows,
                    std::string_view what) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= rows) {
      return InvalidArgument(fmt::format("{} number {} of this rank is {}; it must be in 0..{}",
                                         what, i, indices[i], rows - 1));
    }
  }
  return OkStatus();
}

template <typename T>
Status Run(const PreparedCompute& prepared, KernelSet kernels,
           const std::vector<LocalView>& operands, const LocalView& result, Flops& executed) {
  const auto in = [&](std::size_t i) { return static_cast<const T*>(operands[i].data); };
  const auto indices = [&](std::size_t i) {
    return static_cast<const std::int32_t*>(operands[i].data);
  };
  T* const out = static_cast<T*>(result.data);
  const std::int64_t n = result.shape.elements();
  switch (prepared.op) {
    case GraphOp::kConstant:
      std::fill_n(out, n, static_cast<T>(prepared.number));
      return OkStatus();
    case GraphOp::kContract: {
      const bool swap = prepared.swap_operands;
      Matmul(kernels, prepared.product, in(swap ? 1 : 0), in(swap ? 0 : 1), out, false, executed);
      return OkStatus();
    }
    case GraphOp::kAdd:
      // Left to right. When the result lies in operand k, k must be read before it is overwritten:
      // the first sum reads operands 0 and 1, so a later one is added into first.
      for (std::size_t i = 2; i < operands.size(); ++i) {
        if (in(i) == out) return Unsupported("a sum may lie only in its first or second operand");
      }
      AddTo(kernels, in(0), in(1), out, n);
      for (std::size_t i = 2; i < operands.size(); ++i) Add(kernels, in(i), out, n);
      return OkStatus();
    case GraphOp::kGelu:
      Gelu(kernels, in(0), out, n);
      return OkStatus();
    case GraphOp::kGeluGrad:
      GeluGradient(kernels, in(0), in(1), out, n);
      return OkStatus();
    case GraphOp::kEmbedWindow:
      CHORUS_RETURN_IF_ERROR(
          CheckIndices(indices(0), operands[0].shape.elements(), prepared.all_v, "token"));
      EmbedWindow(kernels, EmbeddingShape(prepared, operands[0].shape, operands[1].shape),
                  indices(0), in(1), out);
      return OkStatus();
    case GraphOp::kEmbedWindowGrad:
      CHORUS_RETURN_IF_ERROR(
          CheckIndices(indices(0), operands[0].shape.elements(), prepared.all_v, "token"));
      EmbedWindowGradient(kernels, EmbeddingShape(prepared, operands[0].shape, result.shape),
                          indices(0), in(1), out);
      return OkStatus();
    case GraphOp::kCrossEntropy: {
      const std::int64_t samples = operands[0].shape[0];
      const std::int64_t vocabulary = operands[0].shape[1];
      CHORUS_RETURN_IF_ERROR(CheckIndices(indices(1), samples, vocabulary, "target"));
      const double sum = CrossEntropySum(kernels, samples, vocabulary, in(0), indices(1));
      out[0] = static_cast<T>(sum / static_cast<double>(prepared.all_samples));
      return OkStatus();
    }
    case GraphOp::kCrossEntropyGrad: {
      const std::int64_t samples = operands[0].shape[0];
      const std::int64_t vocabulary = operands[0].shape[1];
      CHORUS_RETURN_IF_ERROR(CheckIndices(indices(1), samples, vocabulary, "target"));
      const double scale =
          static_cast<double>(in(2)[0]) / static_cast<double>(prepared.all_samples);
      CrossEntropyGradient(kernels, samples, vocabulary, in(0), indices(1), scale, out);
      return OkStatus();
    }
    case GraphOp::kInput:
    case GraphOp::kParameter:
      break;
  }
  return Unsupported(fmt::format("there is no kernel for {}", Name(prepared.op)));
}

}  // namespace

Result<PreparedCompute> PrepareCompute(const StepProgram& program, const ProgramOp& op,
                                       const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  const ProgramValue& result = program.value(op.result);
  PreparedCompute prepared;
  prepared.op = op.compute;
  prepared.dtype = result.dtype;
  prepared.number = op.number;
  if (prepared.dtype != DType::kF32 && prepared.dtype != DType::kF64) {
    return Unsupported(fmt::format("{} is {}: kernels compute f32 and f64", result.spec.ToString(),
                                   Name(result.dtype)));
  }
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ProgramValue& operand = program.value(op.operands[i]);
    if (!TakesIndices(op.compute, i) && operand.dtype != result.dtype) {
      return Unsupported(fmt::format("{} {} cannot give {} {}: kernels do not convert",
                                     Name(operand.dtype), operand.spec.ToString(),
                                     Name(result.dtype), result.spec.ToString()));
    }
  }
  switch (op.compute) {
    case GraphOp::kContract:
      return PrepareContract(prepared, program, op, mesh, sizes, rank);
    case GraphOp::kEmbedWindow:
    case GraphOp::kEmbedWindowGrad: {
      const Spec& table =
          op.compute == GraphOp::kEmbedWindow ? program.value(op.operands[1]).spec : result.spec;
      const SpecDim& v = table.dims()[1];
      prepared.all_v = sizes.find(v.name)->second;
      prepared.begin_v = BlockOf(v.axes, mesh, prepared.all_v, rank).begin;
      return prepared;
    }
    case GraphOp::kCrossEntropy:
    case GraphOp::kCrossEntropyGrad: {
      const std::string& batch = program.value(op.operands[0]).spec.dims()[0].name;
      prepared.all_samples = sizes.find(batch)->second;
      return prepared;
    }
    default:
      return prepared;
  }
}

Status RunCompute(const PreparedCompute& prepared, KernelSet kernels,
                  const std::vector<LocalView>& operands, const LocalView& result,
                  Flops& executed) {
  if (prepared.dtype == DType::kF64) {
    return Run<double>(prepared, kernels, operands, result, executed);
  }
  return Run<float>(prepared, kernels, operands, result, executed);
}

}  // namespace chorus
