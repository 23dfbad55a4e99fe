#include "chorus/tensor/compute.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/kernel/cross_entropy.h"
#include "chorus/kernel/elementwise.h"
#include "chorus/kernel/embed_window.h"
#include "chorus/kernel/gelu.h"
#include "chorus/kernel/small_float.h"
#include "chorus/program/chunked.h"

namespace chorus {
namespace {

// bf16: operands are added in f32, left to right, and rounded once.
void AddBF16(const std::vector<LocalView>& operands, const LocalView& result) {
  auto* const out = static_cast<std::uint16_t*>(result.data);
  for (std::int64_t i = 0; i < result.shape.elements(); ++i) {
    float sum = 0;
    for (const LocalView& operand : operands) {
      sum += BF16::Widen(static_cast<const std::uint16_t*>(operand.data)[i]);
    }
    out[i] = BF16::Narrow(sum);
  }
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
Status RunPrepared(const PreparedCompute& prepared, KernelSet kernels,
                   const std::vector<LocalView>& operands, const LocalView& result) {
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
      EmbedWindow(kernels, EmbeddingShape(prepared, operands[0].shape, operands[1].shape),
                  indices(0), in(1), out);
      return OkStatus();
    case GraphOp::kEmbedWindowGrad:
      EmbedWindowGradient(kernels, EmbeddingShape(prepared, operands[0].shape, result.shape),
                          indices(0), in(1), out);
      return OkStatus();
    case GraphOp::kCrossEntropy: {
      const std::int64_t samples = operands[0].shape[0];
      const std::int64_t vocabulary = operands[0].shape[1];
      const double sum = CrossEntropySum(kernels, samples, vocabulary, in(0), indices(1));
      out[0] = static_cast<T>(sum / static_cast<double>(prepared.all_samples));
      return OkStatus();
    }
    case GraphOp::kCrossEntropyGrad: {
      const std::int64_t samples = operands[0].shape[0];
      const std::int64_t vocabulary = operands[0].shape[1];
      const double scale =
          static_cast<double>(in(2)[0]) / static_cast<double>(prepared.all_samples);
      CrossEntropyGradient(kernels, samples, vocabulary, in(0), indices(1), scale, out);
      return OkStatus();
    }
    case GraphOp::kContract:
    case GraphOp::kInput:
    case GraphOp::kParameter:
      break;
  }
  return Unsupported(fmt::format("there is no kernel for {}", Name(prepared.op)));
}

bool HasKernel(GraphOp op, DType dtype) {
  if (dtype == DType::kF32 || dtype == DType::kF64) return true;
  return dtype == DType::kBF16 &&
         (op == GraphOp::kContract || op == GraphOp::kAdd || op == GraphOp::kConstant);
}

}  // namespace

Result<PreparedCompute> PrepareCompute(const StepProgram& program, const ProgramOp& op,
                                       const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  const ProgramValue& result = program.value(op.result);
  PreparedCompute prepared;
  prepared.op = op.compute;
  prepared.dtype = result.dtype;
  prepared.number = op.number;
  if (!HasKernel(op.compute, prepared.dtype)) {
    return Unsupported(
        fmt::format("{} is {}: kernels compute f32 and f64, of bf16 products and sums only",
                    result.spec.ToString(), Name(result.dtype)));
  }
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const ProgramValue& operand = program.value(op.operands[i]);
    // Products of bf16 may be left in f32, and added to what is f32.
    const bool widens = op.compute == GraphOp::kContract && i < 2 &&
                        operand.dtype == DType::kBF16 && result.dtype == DType::kF32;
    if (!TakesIndices(op.compute, i) && operand.dtype != result.dtype && !widens) {
      return Unsupported(fmt::format("{} {} cannot give {} {}: kernels do not convert",
                                     Name(operand.dtype), operand.spec.ToString(),
                                     Name(result.dtype), result.spec.ToString()));
    }
  }
  switch (op.compute) {
    case GraphOp::kContract: {
      CHORUS_ASSIGN_OR_RETURN(const std::vector<ChunkSet> chunks,
                              ChunksWorkedOn(program.values(), op));
      const auto part = [&](const ProgramValue& value) {
        ArrayPart worked{value.spec.DimNames(), LocalShape(value, mesh, sizes, rank), {}};
        for (int dim = 0; dim < worked.stored.rank(); ++dim) {
          const Block block = WorkedBlock(value, dim, chunks, mesh, sizes, rank);
          worked.part.push_back(
              {block.begin - HeldBlock(value, dim, mesh, sizes, rank).begin, block.size});
        }
        return worked;
      };
      const ProgramValue& a = program.value(op.operands[0]);
      const ProgramValue& b = program.value(op.operands[1]);
      if (a.dtype != b.dtype) {
        return Unsupported(fmt::format("{} {} times {} {}: kernels do not convert", Name(a.dtype),
                                       a.spec.ToString(), Name(b.dtype), b.spec.ToString()));
      }
      prepared.product = PlanContraction(part(a), part(b), part(result));
      prepared.mode = {a.dtype, result.dtype, AddsToThird(program.values(), op)};
      return prepared;
    }
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

int IndexOperand(GraphOp op) {
  if (op == GraphOp::kEmbedWindow || op == GraphOp::kEmbedWindowGrad) return 0;
  return op == GraphOp::kCrossEntropy || op == GraphOp::kCrossEntropyGrad ? 1 : -1;
}

Status CheckIndicesOf(const PreparedCompute& prepared, const std::vector<LocalView>& operands) {
  const int which = IndexOperand(prepared.op);
  const LocalView& view = operands[static_cast<std::size_t>(which)];
  const auto* const indices = static_cast<const std::int32_t*>(view.data);
  return which == 0 ? CheckIndices(indices, view.shape.elements(), prepared.all_v, "token")
                    : CheckIndices(indices, operands[0].shape[0], operands[0].shape[1], "target");
}

Status RunCompute(const PreparedCompute& prepared, KernelSet kernels,
                  const std::vector<LocalView>& operands, const LocalView& result,
                  Flops& executed) {
  if (IndexOperand(prepared.op) >= 0) CHORUS_RETURN_IF_ERROR(CheckIndicesOf(prepared, operands));
  if (prepared.op == GraphOp::kContract) {
    Contract(prepared.product, kernels, prepared.mode, operands[0].data, operands[1].data,
             result.data, executed);
    return OkStatus();
  }
  if (prepared.dtype == DType::kBF16) {
    if (prepared.op == GraphOp::kConstant) {
      std::fill_n(static_cast<std::uint16_t*>(result.data), result.shape.elements(),
                  BF16::Narrow(static_cast<float>(prepared.number)));
    } else {
      AddBF16(operands, result);
    }
    return OkStatus();
  }
  if (prepared.dtype == DType::kF64) {
    return RunPrepared<double>(prepared, kernels, operands, result);
  }
  return RunPrepared<float>(prepared, kernels, operands, result);
}

}  // namespace chorus
