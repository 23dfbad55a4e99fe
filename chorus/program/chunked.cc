#include "chorus/program/chunked.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chorus {
namespace {

const ProgramValue& At(const std::vector<ProgramValue>& values, ValueId id) {
  return values[static_cast<std::size_t>(id)];
}

bool EndsWith(const AxisNames& axes, const AxisNames& end) {
  return axes.size() >= end.size() && std::equal(end.rbegin(), end.rend(), axes.rbegin());
}

bool IsChunked(const ProgramValue& value) { return value.holds || value.so_far; }

std::string Shown(const ProgramValue& value) {
  std::string text = value.spec.ToString();
  if (value.holds) text += " holds " + value.holds->ToString();
  if (value.so_far) text += " so_far " + value.so_far->ToString();
  return text;
}

// Those that a contraction adds to what is done, from what its third operand and its result say.
Result<std::optional<ChunkSet>> NewlyDone(const std::vector<ProgramValue>& values,
                                          const ProgramOp& op) {
  const ProgramValue& result = At(values, op.result);
  std::optional<ChunkSet> before;
  if (op.operands.size() == 3) before = At(values, op.operands[2]).so_far;
  if (!before) return result.so_far;
  if (!result.so_far) {  // all is done
    ChunkSet rest = *before;
    rest.has.flip();
    return std::optional<ChunkSet>(std::move(rest));
  }
  if (!before->SameGrid(*result.so_far) || before->Without(*result.so_far).size() > 0) {
    return InvalidArgument(
        fmt::format("{} does not go on from {}", Shown(result), Shown(At(values, op.operands[2]))));
  }
  return std::optional<ChunkSet>(result.so_far->Without(*before));
}

// Of one sum: all that is not among `some`, each once.
bool IsRestOf(const ChunkSet& some, const ChunkSet& rest) {
  return some.SameGrid(rest) && !some.Overlaps(rest) && some.With(rest).IsAll();
}

// The group's axes may not split or sum anything else of a value that goes round.
Status CheckFree(const Spec& spec, const AxisNames& axes) {
  for (const std::string& axis : axes) {
    if (spec.Uses(axis)) {
      return InvalidArgument(
          fmt::format("{} lies differently on the ranks along {}, so what the "
                      "next one holds is not what it would be here",
                      spec.ToString(), axis));
    }
  }
  return OkStatus();
}

}  // namespace

Spec WithoutAxes(const Spec& spec, const std::string& dim, const AxisNames& axes) {
  AxisNames left = spec.AxesOf(dim);
  if (spec.FindDim(dim) < 0 || !EndsWith(left, axes)) return spec;
  left.resize(left.size() - axes.size());
  return *spec.WithAxes(dim, std::move(left));
}

Block HeldBlock(const ProgramValue& value, int dim, const Mesh& mesh, const DimSizes& sizes,
                std::int64_t rank) {
  const SpecDim& split = value.spec.dims()[static_cast<std::size_t>(dim)];
  const std::int64_t size = sizes.find(split.name)->second;
  if (value.holds && value.holds->dim == split.name) {
    return BlockOf(*value.holds, split.axes, mesh, size, rank);
  }
  return BlockOf(split.axes, mesh, size, rank);
}

Shape LocalShape(const ProgramValue& value, const Mesh& mesh, const DimSizes& sizes,
                 std::int64_t rank) {
  std::vector<std::int64_t> local;
  for (int dim = 0; dim < static_cast<int>(value.spec.dims().size()); ++dim) {
    local.push_back(HeldBlock(value, dim, mesh, sizes, rank).size);
  }
  return Shape(std::move(local));
}

bool WorksOnChunks(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  return (op.result != kNoValue && IsChunked(At(values, op.result))) ||
         std::any_of(op.operands.begin(), op.operands.end(),
                     [&](ValueId id) { return IsChunked(At(values, id)); });
}

Result<std::vector<ChunkSet>> ChunksWorkedOn(const std::vector<ProgramValue>& values,
                                             const ProgramOp& op) {
  std::map<std::string, ChunkSet> by_dim;
  const auto add = [&by_dim](const ChunkSet& set, const ProgramValue& of) {
    const auto [entry, is_new] = by_dim.emplace(set.dim, set);
    if (is_new || entry->second == set) return OkStatus();
    return InvalidArgument(fmt::format("{} works on chunks {} where others work on {}", Shown(of),
                                       set.ToString(), entry->second.ToString()));
  };
  for (std::size_t k = 0; k < std::min<std::size_t>(op.operands.size(), 2); ++k) {
    const ProgramValue& operand = At(values, op.operands[k]);
    if (operand.holds) CHORUS_RETURN_IF_ERROR(add(*operand.holds, operand));
  }
  const ProgramValue& result = At(values, op.result);
  if (result.holds) CHORUS_RETURN_IF_ERROR(add(*result.holds, result));
  CHORUS_ASSIGN_OR_RETURN(const std::optional<ChunkSet> done, NewlyDone(values, op));
  if (done) CHORUS_RETURN_IF_ERROR(add(*done, result));
  std::vector<ChunkSet> chunks;
  for (auto& [dim, set] : by_dim) {
    CHORUS_RETURN_IF_ERROR(RunOf(set).status());
    chunks.push_back(std::move(set));
  }
  return chunks;
}

Block WorkedBlock(const ProgramValue& value, int dim, const std::vector<ChunkSet>& chunks,
                  const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  const std::string& name = value.spec.dims()[static_cast<std::size_t>(dim)].name;
  for (const ChunkSet& set : chunks) {
    if (set.dim != name) continue;
    return BlockOf(set, WithoutAxes(value.spec, name, set.axes).AxesOf(name), mesh,
                   sizes.find(name)->second, rank);
  }
  return HeldBlock(value, dim, mesh, sizes, rank);
}

bool AddsToThird(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  if (op.operands.size() < 3) return false;
  const std::optional<ChunkSet>& before = At(values, op.operands[2]).so_far;
  return before && At(values, op.result).spec.FindDim(before->dim) < 0;
}

Status CheckShift(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result) {
  if (op.by != 1 && op.by != -1) {
    return InvalidArgument(
        fmt::format("shift by {}: what arrives is of the next rank, 1, or of "
                    "the one before, -1",
                    op.by));
  }
  if (!result.holds || op.axes.empty() || result.holds->axes != op.axes) {
    return InvalidArgument(fmt::format("shift over {} leaves {}: it must hold a chunk over {}",
                                       JoinAxes(op.axes), Shown(result), JoinAxes(op.axes)));
  }
  const ChunkSet& holds = *result.holds;
  CHORUS_RETURN_IF_ERROR(RunOf(holds).status());
  ProgramValue sent = operand;
  if (!sent.holds) {  // the same chunk of the own block, where it lies
    sent.holds = holds.Turned(-op.by);
    sent.spec = WithoutAxes(sent.spec, holds.dim, op.axes);
    if (RunOf(*sent.holds)->turn != 0 || sent.spec == operand.spec || sent.so_far ||
        sent.spec.FindDim(holds.dim) != 0) {
      return InvalidArgument(
          fmt::format("{} cannot be shifted to {}: it must hold that chunk, or be split over {} "
                      "along its first dimension",
                      Shown(operand), Shown(result), JoinAxes(op.axes)));
    }
  }
  CHORUS_RETURN_IF_ERROR(CheckFree(sent.spec, op.axes));
  sent.holds = sent.holds->Turned(op.by);
  if (sent.so_far) sent.so_far = sent.so_far->Turned(op.by);
  if (sent.spec.SameLayout(result.spec) && sent.holds == result.holds &&
      sent.so_far == result.so_far && sent.dtype == result.dtype) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format("leaves {} {}, but the result is {} {}", Name(sent.dtype),
                                     Shown(sent), Name(result.dtype), Shown(result)));
}

Status CheckJoin(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  const ProgramValue& result = At(values, op.result);
  if (op.operands.empty() || IsChunked(result)) {
    return InvalidArgument("takes values and leaves one that is no chunk");
  }
  const ProgramValue& first = At(values, op.operands[0]);
  const bool adds = op.into != kNoValue;
  if (adds && (op.into != op.operands[0] || op.operands.size() < 2 || !first.holds ||
               !first.so_far || first.dtype != result.dtype)) {
    return InvalidArgument(
        fmt::format("adds to its first operand, all chunks half summed, and leaves the sum in its "
                    "memory; {} is not that",
                    Shown(first)));
  }
  Spec spec = first.spec;
  if (op.operands.size() > 1 || first.holds) {
    std::optional<ChunkSet> all;
    for (std::size_t k = adds ? 1 : 0; k < op.operands.size(); ++k) {
      const ProgramValue& value = At(values, op.operands[k]);
      if (!value.holds || value.so_far.has_value() != adds || !value.spec.SameLayout(first.spec) ||
          value.dtype != first.dtype) {
        return InvalidArgument(fmt::format("{} is no chunk like {}", Shown(value), Shown(first)));
      }
      if (adds && !IsRestOf(*first.so_far, *value.so_far)) {
        return InvalidArgument(
            fmt::format("{} is not what {} lacks of the sum", Shown(value), Shown(first)));
      }
      if (all && (!all->SameGrid(*value.holds) || all->Overlaps(*value.holds))) {
        return InvalidArgument(
            fmt::format("{} and {} are no parts of one array", Shown(first), Shown(value)));
      }
      all = all ? all->With(*value.holds) : *value.holds;
    }
    if (adds && *all != *first.holds) {
      return InvalidArgument(fmt::format("adds {} to {}: every chunk is to be added once",
                                         all->ToString(), Shown(first)));
    }
    if (all->IsOwnBlock()) {
      AxisNames axes = spec.AxesOf(all->dim);
      axes.insert(axes.end(), all->axes.begin(), all->axes.end());
      CHORUS_ASSIGN_OR_RETURN(spec, spec.WithAxes(all->dim, std::move(axes)));
    } else if (!all->IsAll()) {
      return InvalidArgument(
          fmt::format("{} are neither the own block nor all of it", all->ToString()));
    }
  } else if (first.so_far) {
    return InvalidArgument(fmt::format("{} is not done", Shown(first)));
  }
  const bool narrows = first.dtype == DType::kF32 && result.dtype == DType::kBF16;
  if (spec.SameLayout(result.spec) && (first.dtype == result.dtype || narrows)) return OkStatus();
  return InvalidArgument(fmt::format("leaves {} {}, but the result is {} {}", Name(first.dtype),
                                     spec.WithName("").ToString(), Name(result.dtype),
                                     Shown(result)));
}

Status CheckChunkOf(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result) {
  const ChunkSet& holds = *result.holds;
  CHORUS_ASSIGN_OR_RETURN(const ChunkRun run, RunOf(holds));
  const Spec spec = WithoutAxes(operand.spec, holds.dim, holds.axes);
  if (IsChunked(operand) || result.so_far || run.turn != 0 || spec == operand.spec ||
      !spec.SameLayout(result.spec) || op.axes != holds.axes || op.dim != holds.dim ||
      operand.dtype != result.dtype) {
    return InvalidArgument(
        fmt::format("{} is no chunk of the own block of {}", Shown(result), Shown(operand)));
  }
  return OkStatus();
}

Status CheckPanelOf(const ProgramValue& operand, const ProgramOp& op, const ProgramValue& result) {
  if (IsChunked(operand) || result.so_far || !result.holds || !result.holds->axes.empty() ||
      result.holds->dim != op.dim || op.into != kNoValue) {
    return InvalidArgument(
        fmt::format("all_gather of {} leaves {}: of an array it brings all or a panel of {}, like "
                    "{} 0100, which lies in memory of its own",
                    Shown(operand), Shown(result), op.dim, op.dim));
  }
  return RunOf(*result.holds).status();
}

Status CheckChunkedContract(const std::vector<ProgramValue>& values, const ProgramOp& op) {
  const ProgramValue& result = At(values, op.result);
  if (op.operands.size() < 2 || op.operands.size() > 3) {
    return InvalidArgument("takes two operands, and as a third what it goes on from");
  }
  CHORUS_ASSIGN_OR_RETURN(const std::vector<ChunkSet> chunks, ChunksWorkedOn(values, op));
  if (op.operands.size() == 3) {
    const ProgramValue& third = At(values, op.operands[2]);
    if (op.into != op.operands[2] || third.holds != result.holds || !third.so_far) {
      return InvalidArgument(
          fmt::format("goes on from {} to {}: that must be not yet done, of the "
                      "same chunk, and give its memory to the result",
                      Shown(third), Shown(result)));
    }
  }
  std::vector<Spec> specs;
  for (const ValueId id : {op.operands[0], op.operands[1], op.result}) {
    Spec spec = At(values, id).spec;
    for (const ChunkSet& set : chunks) {
      const Spec without = WithoutAxes(spec, set.dim, set.axes);
      if (!(without == spec) && RunOf(set)->turn != 0) {
        return InvalidArgument(fmt::format("{} has its own block along {}, not {}", spec.ToString(),
                                           set.dim, set.ToString()));
      }
      spec = without;
    }
    if (id != op.result && At(values, id).so_far) {
      return InvalidArgument(fmt::format("{} is not done", Shown(At(values, id))));
    }
    specs.push_back(std::move(spec));
  }
  const Spec wanted = std::move(specs.back());
  specs.pop_back();
  for (const ChunkSet& set : chunks) {
    const bool in_operand = specs[0].FindDim(set.dim) >= 0 || specs[1].FindDim(set.dim) >= 0;
    const ProgramValue& says = result.so_far ? result : At(values, op.operands.back());
    const bool is_said = says.so_far && says.so_far->dim == set.dim;
    const bool is_held = result.holds && result.holds->dim == set.dim;
    if (!in_operand || !(is_said || is_held)) {
      return InvalidArgument(
          fmt::format("works on {} only, but {} does not say so", set.ToString(), Shown(result)));
    }
  }
  return CheckCompute(GraphOp::kContract, specs, wanted);
}

}  // namespace chorus
