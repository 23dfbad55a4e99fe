#include "chorus/shard/chunk_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/program/chunked.h"

namespace chorus {
namespace {

constexpr int kMostParts = 16;
constexpr int kMostHalved = 64;
// Of all blocks together, beyond what directions need: a smaller share of the product is not worth
// to be waited for.
constexpr std::int64_t kMostChunks = 128;
constexpr std::int64_t kMostTurns = 1024;

bool EndsIn(const AxisNames& axes, const AxisNames& end) {
  return axes.size() >= end.size() && std::equal(end.rbegin(), end.rend(), axes.rbegin());
}

// The summed dimension whose minor axes in both operands are `axes`; "" if there is none.
std::string SummedOver(const ComputePlan& plan, const AxisNames& axes) {
  for (const SpecDim& dim : plan.operands[0].dims()) {
    if (plan.result.FindDim(dim.name) < 0 && EndsIn(dim.axes, axes)) return dim.name;
  }
  return "";
}

bool CanLoop(const ComputePlan& plan, ChunkLoop::Of of) {
  if (of == ChunkLoop::Of::kResult) {
    return !plan.result_moves.moves.empty() &&
           plan.result_moves.moves[0].kind == ProgramOpKind::kReduceScatter &&
           !SummedOver(plan, plan.result_moves.moves[0].axes).empty();
  }
  const ReshardPlan& moves = plan.operand_moves[of == ChunkLoop::Of::kLeft ? 0 : 1];
  return !moves.moves.empty() && moves.moves.back().kind == ProgramOpKind::kAllGather;
}

// Writes the operations of one loop.
class LoopEmitter {
 public:
  LoopEmitter(ProgramEmitter& emitter, const ComputePlan& plan, const ChunkLoop& loop, ValueId left,
              ValueId right, const Provenance& why)
      : emitter_(emitter),
        plan_(plan),
        loop_(loop),
        chunks_(loop.Chunks()),
        move_(MoveOf(plan, loop.of)),
        left_(left),
        right_(right),
        dtype_(emitter.value(left).dtype),
        why_(why) {}

  ValueId Gather(const std::string& name) {
    const bool is_left = loop_.of == ChunkLoop::Of::kLeft;
    const ValueId own = is_left ? left_ : right_;
    const Spec& from = emitter_.value(own).spec;
    const std::string base = from.name();
    const Spec spec = WithoutAxes(from, move_.dim, move_.axes);
    const bool sums = plan_.result.FindDim(move_.dim) < 0;
    const DType dtype = sums && dtype_ == DType::kBF16 ? DType::kF32 : dtype_;
    std::vector<ValueId> come(chunks_.size(), own);
    // Chunks that do not follow each other in memory are copied before they go.
    if (from.FindDim(move_.dim) != 0) {
      for (std::size_t c = 0; c < chunks_.size(); ++c) {
        ProgramOp op = Op(ProgramOpKind::kSlice, {own});
        op.dim = move_.dim;
        op.axes = move_.axes;
        come[c] = emitter_.Add(std::move(op), Chunk(spec, base, dtype_, 0, chunks_[c]));
      }
    }
    for (std::size_t c = 0; c < chunks_.size(); ++c) {
      come[c] = Pass(come[c], spec, base, 1, chunks_[c]);
    }
    ChunkSet done = Set(0, {0, loop_.parts});
    ValueId result = Product(left_, right_, kNoValue, name, dtype, done);
    for (int hop = 1; hop < loop_.turns; ++hop) {
      for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const ValueId chunk = come[c];
        if (hop + 1 < loop_.turns) come[c] = Pass(chunk, spec, base, hop + 1, chunks_[c]);
        done = done.With(Set(TurnAfter(hop, chunks_[c]), chunks_[c]));
        result =
            Product(is_left ? chunk : left_, is_left ? right_ : chunk, result, name, dtype, done);
      }
    }
    return dtype == dtype_ ? result : Narrow(result, plan_.result.WithName(name));
  }

  ValueId Scatter(const std::string& name) {
    const std::string summed = SummedOver(plan_, move_.axes);
    AxisNames partial;
    for (const std::string& axis : plan_.result.partial()) {
      if (std::find(move_.axes.begin(), move_.axes.end(), axis) == move_.axes.end()) {
        partial.push_back(axis);
      }
    }
    const Spec spec = *plan_.result.WithPartial(std::move(partial));
    const DType dtype = dtype_ == DType::kBF16 ? DType::kF32 : dtype_;
    const std::string base = name + ".part";
    std::vector<ValueId> sums(chunks_.size(), kNoValue);
    for (int hop = loop_.turns - 1; hop > 0; --hop) {
      for (std::size_t c = 0; c < chunks_.size(); ++c) {
        const int way = chunks_[c].way;
        ValueId& sum = sums[c];
        ProgramValue chunk = Chunk(spec, base, dtype, TurnAfter(hop, chunks_[c]), chunks_[c]);
        chunk.so_far = SummedAt(summed, hop, way);
        ProgramOp op = Op(ProgramOpKind::kCompute, {left_, right_});
        op.compute = GraphOp::kContract;
        if (sum != kNoValue) {
          op.operands.push_back(sum);
          op.into = sum;
        }
        sum = emitter_.Add(std::move(op), chunk);
        ProgramValue passed = chunk;
        passed.holds = chunk.holds->Turned(-way);
        passed.so_far = chunk.so_far->Turned(-way);
        ProgramOp shift = Op(ProgramOpKind::kShift, {sum});
        shift.axes = move_.axes;
        shift.by = -way;
        sum = emitter_.Add(std::move(shift), passed);
      }
    }
    // The own rows at once, while what the others have summed of them is on its way.
    ProgramOp op = Op(ProgramOpKind::kCompute, {left_, right_});
    op.compute = GraphOp::kContract;
    ProgramValue own = Chunk(spec, base, dtype, 0, {0, loop_.parts});
    own.so_far = SummedAt(summed, loop_.turns - 1, 1);
    own.storage = StorageClass::kActivation;
    sums.insert(sums.begin(), emitter_.Add(std::move(op), std::move(own)));
    ProgramOp add = Op(ProgramOpKind::kJoin, sums);
    add.into = sums[0];
    const bool rounds = dtype != dtype_;
    const ValueId sum =
        emitter_.Add(std::move(add), move_.result.WithName(rounds ? name + ".sum" : name), dtype,
                     StorageClass::kActivation);
    return rounds ? Narrow(sum, move_.result.WithName(name)) : sum;
  }

 private:
  // Of which turn a chunk is after so many hops.
  int TurnAfter(int hops, const ChunkLoop::Chunk& chunk) const {
    return (hops * chunk.way + loop_.turns) % loop_.turns;
  }
  ChunkSet Set(int turn, const ChunkLoop::Chunk& chunk) const {
    return ChunkSet::Of(move_.dim, move_.axes, loop_.turns, loop_.parts, turn, chunk.first,
                        chunk.count);
  }
  // The addends of a sum that has `hop` hops before it: those of the ranks it has come by.
  ChunkSet SummedAt(const std::string& dim, int hop, int way) const {
    ChunkSet sum = ChunkSet::Of(dim, move_.axes, loop_.turns, 1, 0, 0, 1);
    const ChunkSet own = sum;
    for (int before = loop_.turns - 1; before > hop; --before) sum = sum.Turned(-way).With(own);
    return sum;
  }

  ProgramOp Op(ProgramOpKind kind, std::vector<ValueId> operands) const {
    ProgramOp op;
    op.kind = kind;
    op.operands = std::move(operands);
    op.why = why_;
    return op;
  }
  ProgramValue Chunk(const Spec& spec, const std::string& base, DType dtype, int turn,
                     const ChunkLoop::Chunk& chunk) const {
    ProgramValue value{spec.WithName(fmt::format("{}.{}.{}", base, turn, chunk.first)), dtype,
                       StorageClass::kWorkspace};
    value.holds = Set(turn, chunk);
    return value;
  }

  // What arrives when the chunk goes on, to be of this rank after `hop` hops.
  ValueId Pass(ValueId value, const Spec& spec, const std::string& base, int hop,
               const ChunkLoop::Chunk& chunk) {
    ProgramOp op = Op(ProgramOpKind::kShift, {value});
    op.axes = move_.axes;
    op.by = chunk.way;
    return emitter_.Add(std::move(op), Chunk(spec, base, dtype_, TurnAfter(hop, chunk), chunk));
  }

  ValueId Product(ValueId a, ValueId b, ValueId before, const std::string& name, DType dtype,
                  const ChunkSet& done) {
    ProgramOp op = Op(ProgramOpKind::kCompute, {a, b});
    op.compute = GraphOp::kContract;
    if (before != kNoValue) {
      op.operands.push_back(before);
      op.into = before;
    }
    const bool is_last = done.IsAll();
    const bool rounds = dtype != dtype_;
    ProgramValue value{plan_.result.WithName(is_last && !rounds ? name : name + ".so.far"), dtype,
                       StorageClass::kActivation};
    if (!is_last) value.so_far = done;
    return emitter_.Add(std::move(op), std::move(value));
  }

  ValueId Narrow(ValueId value, const Spec& spec) {
    return emitter_.Add(Op(ProgramOpKind::kJoin, {value}), spec, dtype_, StorageClass::kActivation);
  }

  ProgramEmitter& emitter_;
  const ComputePlan& plan_;
  const ChunkLoop& loop_;
  const std::vector<ChunkLoop::Chunk> chunks_;
  const Move& move_;
  const ValueId left_;
  const ValueId right_;
  const DType dtype_;
  const Provenance& why_;
};

}  // namespace

std::vector<ChunkLoop::Chunk> ChunkLoop::Chunks() const {
  const int one_way = parts / directions;
  std::vector<Chunk> chunks;
  for (int first = 0; first < one_way; first += chunks.back().count) {
    const int left = one_way - first;
    const int count = cut == Cut::kEven ? 1 : std::max(left / 2, 1);
    chunks.push_back({first, count, 1});
    if (directions == 2) chunks.push_back({one_way + first, count, -1});
  }
  return chunks;
}

const Move& MoveOf(const ComputePlan& plan, ChunkLoop::Of of) {
  if (of == ChunkLoop::Of::kResult) return plan.result_moves.moves.front();
  return plan.operand_moves[of == ChunkLoop::Of::kLeft ? 0 : 1].moves.back();
}

std::string ToString(const ChunkLoop& loop, const ComputePlan& plan) {
  const Spec& spec = loop.of == ChunkLoop::Of::kResult
                         ? plan.result
                         : plan.operands[loop.of == ChunkLoop::Of::kLeft ? 0 : 1];
  return fmt::format("{} {} in {} x {} chunks{}, {} round", spec.name(),
                     loop.of == ChunkLoop::Of::kResult ? "goes" : "comes", loop.turns,
                     loop.Chunks().size(), loop.cut == ChunkLoop::Cut::kHalving ? " by halves" : "",
                     loop.directions == 1 ? "one way" : "both ways");
}

std::vector<ChunkLoop> LoopsOf(const ComputePlan& plan, const Mesh& mesh, const DimSizes& sizes) {
  std::vector<ChunkLoop> loops;
  for (const ChunkLoop::Of of :
       {ChunkLoop::Of::kLeft, ChunkLoop::Of::kRight, ChunkLoop::Of::kResult}) {
    if (plan.operand_moves.size() != 2 || !CanLoop(plan, of)) continue;
    const Move& move = MoveOf(plan, of);
    const std::int64_t turns = mesh.GroupSize(move.axes);
    if (turns < 2 || turns > kMostTurns) continue;
    AxisNames axes = move.result.AxesOf(move.dim);  // of a block
    if (of != ChunkLoop::Of::kResult) axes.insert(axes.end(), move.axes.begin(), move.axes.end());
    const std::int64_t length = BlockOf(axes, mesh, sizes.find(move.dim)->second, 0).size;
    const std::int64_t useful = std::clamp<std::int64_t>(kMostChunks / turns, 2, kMostHalved);
    const std::int64_t most = std::clamp<std::int64_t>(length, 1, useful);
    for (int parts = 1; parts <= most; parts *= 2) {
      for (int directions = 1; directions <= 2; ++directions) {
        // Between two ranks both ways are the same links.
        if (directions == 2 && (parts == 1 || turns == 2)) continue;
        ChunkLoop loop{of, ChunkLoop::Cut::kHalving, static_cast<int>(turns), parts, directions};
        // Of two parts one is half already.
        if (of != ChunkLoop::Of::kResult && parts / directions > 2) loops.push_back(loop);
        loop.cut = ChunkLoop::Cut::kEven;
        if (parts <= kMostParts) loops.push_back(loop);
      }
    }
  }
  return loops;
}

ValueId EmitLoop(ProgramEmitter& emitter, const ComputePlan& plan, const ChunkLoop& loop,
                 ValueId left, ValueId right, const std::string& name, const Provenance& why) {
  LoopEmitter loop_emitter(emitter, plan, loop, left, right, why);
  return loop.of == ChunkLoop::Of::kResult ? loop_emitter.Scatter(name) : loop_emitter.Gather(name);
}

}  // namespace chorus
