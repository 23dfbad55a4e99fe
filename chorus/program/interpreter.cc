#include "chorus/program/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "chorus/program/chunked.h"

namespace chorus {
namespace {

using Ranks = std::vector<PlainArray>;  // what each rank holds of one value

class Interpreter {
 public:
  Interpreter(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
              const AdamWSettings& settings)
      : program_(program),
        mesh_(mesh),
        sizes_(sizes),
        settings_(settings),
        held_(program.values().size()) {}

  Status Bind(ValueId id, const PlainArray& global) {
    const Spec& spec = program_.value(id).spec;
    const Shape wanted = GlobalShape(spec, sizes_);
    if (!(global.shape == wanted)) {
      return InvalidArgument(fmt::format("{} has shape {}, but {} was given", spec.ToString(),
                                         wanted.ToString(), global.shape.ToString()));
    }
    Ranks& ranks = Held(id);
    for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
      PlainArray local = global;
      for (std::size_t dim = 0; dim < spec.dims().size(); ++dim) {
        const Block block = BlockIn(spec, static_cast<int>(dim), rank);
        local = Cut(local, static_cast<int>(dim), block.begin, block.size);
      }
      ScaleToAddend(local, mesh_.IndexInGroup(rank, spec.partial()),
                    mesh_.GroupSize(spec.partial()));
      ranks.push_back(std::move(local));
    }
    return OkStatus();
  }

  Status Run() {
    for (const ProgramOp& op : program_.ops()) {
      switch (op.kind) {
        case ProgramOpKind::kFree:
          Held(op.operands[0]).clear();
          break;
        case ProgramOpKind::kAdamW:
          Update(op);
          break;
        case ProgramOpKind::kShift:
        case ProgramOpKind::kJoin:
          for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
            Held(op.result).push_back(op.kind == ProgramOpKind::kShift ? Arrived(op, rank)
                                                                       : Joined(op, rank));
          }
          break;
        case ProgramOpKind::kCompute:
          CHORUS_RETURN_IF_ERROR(Compute(op).WithContext(ToString(program_, op)));
          break;
        case ProgramOpKind::kSlice:
        case ProgramOpKind::kAllGather:
        case ProgramOpKind::kReduceScatter:
        case ProgramOpKind::kAllReduce:
        case ProgramOpKind::kAllToAll:
        case ProgramOpKind::kPermute:
          for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
            Held(op.result).push_back(Move(op, rank));
          }
          break;
      }
      if (op.into != kNoValue) {
        Held(op.into).clear();
        lives_on_[op.into] = op.result;
      }
    }
    return OkStatus();
  }

  // The value whose memory bound value `id` has at the end.
  ValueId Final(ValueId id) const {
    for (auto next = lives_on_.find(id); next != lives_on_.end(); next = lives_on_.find(id)) {
      id = next->second;
    }
    return id;
  }

  // Joins what the ranks hold to the whole array. Error if replicas differ.
  Result<PlainArray> Join(ValueId id) const {
    const Spec& spec = program_.value(id).spec;
    PlainArray whole = Filled(GlobalShape(spec, sizes_), std::numeric_limits<double>::quiet_NaN());
    std::set<std::vector<std::int64_t>> seen;  // begins of blocks that are in place
    for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
      const PlainArray local = SumOver(id, mesh_.Group(rank, spec.partial()));
      std::vector<Block> place;
      std::vector<std::int64_t> begins;
      for (std::size_t dim = 0; dim < spec.dims().size(); ++dim) {
        place.push_back(BlockIn(spec, static_cast<int>(dim), rank));
        begins.push_back(place.back().begin);
      }
      if (local.elements.empty()) continue;
      if (seen.insert(begins).second) {
        PasteAt(whole, place, 0, local);
      } else if (!(Take(whole, place) == local)) {
        return Internal(fmt::format("replicas of {} differ on rank {}", spec.ToString(), rank));
      }
    }
    return whole;
  }

 private:
  // Makes of the true array what member k of n ranks holds of it as a sum. Addends differ, and
  // whole numbers stay whole: member k > 0 holds k + 1 times the array, the first the rest.
  static void ScaleToAddend(PlainArray& array, std::int64_t k, std::int64_t n) {
    const std::int64_t factor = k > 0 ? k + 1 : 2 - n * (n + 1) / 2;
    for (double& x : array.elements) x *= static_cast<double>(factor);
  }

  Ranks& Held(ValueId id) { return held_[static_cast<std::size_t>(id)]; }
  const PlainArray& At(ValueId id, std::int64_t rank) const {
    return held_[static_cast<std::size_t>(id)][static_cast<std::size_t>(rank)];
  }

  Block BlockIn(const Spec& spec, int dim, std::int64_t rank) const {
    const SpecDim& split = spec.dims()[static_cast<std::size_t>(dim)];
    return BlockOf(split.axes, mesh_, sizes_.find(split.name)->second, rank);
  }
  Block BlockIn(const Spec& spec, const std::string& dim, std::int64_t rank) const {
    return BlockIn(spec, spec.FindDim(dim), rank);
  }

  PlainArray SumOver(ValueId id, const std::vector<std::int64_t>& group) const {
    PlainArray sum = At(id, group[0]);
    for (std::size_t k = 1; k < group.size(); ++k) AddTo(sum, At(id, group[k]));
    return sum;
  }

  static PlainArray Take(PlainArray from, const std::vector<Block>& place) {
    for (std::size_t dim = 0; dim < place.size(); ++dim) {
      from = Cut(from, static_cast<int>(dim), place[dim].begin, place[dim].size);
    }
    return from;
  }

  // Pastes `part` into `to` at `place`, one dimension after the other.
  static void PasteAt(PlainArray& to, const std::vector<Block>& place, std::size_t dim,
                      const PlainArray& part) {
    if (dim == place.size()) {
      to = part;
      return;
    }
    PlainArray slab = Cut(to, static_cast<int>(dim), place[dim].begin, place[dim].size);
    PasteAt(slab, place, dim + 1, part);
    Paste(to, static_cast<int>(dim), place[dim].begin, slab);
  }

  // What `rank` holds after a slice or a collective.
  PlainArray Move(const ProgramOp& op, std::int64_t rank) const {
    const ValueId from = op.operands[0];
    const Spec& before = program_.value(from).spec;
    const Spec& after = program_.value(op.result).spec;
    if (program_.value(op.result).holds && op.kind == ProgramOpKind::kSlice) {
      return Take(At(from, rank), PlaceIn(program_.value(from), program_.value(op.result), rank));
    }
    const std::vector<std::int64_t> group = mesh_.Group(rank, op.axes);
    if (op.kind == ProgramOpKind::kAllReduce) return SumOver(from, group);
    if (ExchangesPieces(op.kind)) return Collect(from, after, group, rank);
    const int dim = before.FindDim(op.dim);
    if (op.kind == ProgramOpKind::kAllGather) return Gathered(op, dim, group, rank);
    const Block outer = BlockIn(before, dim, rank);
    const Block own = BlockIn(after, dim, rank);
    const PlainArray whole =
        op.kind == ProgramOpKind::kSlice ? At(from, rank) : SumOver(from, group);
    return Cut(whole, dim, own.begin - outer.begin, own.size);
  }

  // What the members hold along `dim` joined, as much as the result has of it.
  PlainArray Gathered(const ProgramOp& op, int dim, const std::vector<std::int64_t>& group,
                      std::int64_t rank) const {
    const ProgramValue& result = program_.value(op.result);
    const Block own = HeldBlock(result, dim, mesh_, sizes_, rank);
    PlainArray joined =
        Filled(LocalShape(result, mesh_, sizes_, rank), std::numeric_limits<double>::quiet_NaN());
    for (const std::int64_t member : group) {
      const Block held = BlockIn(program_.value(op.operands[0]).spec, dim, member);
      const std::int64_t begin = std::max(held.begin, own.begin);
      const std::int64_t end = std::min(held.begin + held.size, own.begin + own.size);
      if (begin >= end) continue;
      Paste(joined, dim, begin - own.begin,
            Cut(At(op.operands[0], member), dim, begin - held.begin, end - begin));
    }
    return joined;
  }

  // Where the elements of `part` lie in the array of `whole`, which holds them; on one rank.
  std::vector<Block> PlaceIn(const ProgramValue& whole, const ProgramValue& part,
                             std::int64_t rank) const {
    std::vector<Block> place;
    for (int dim = 0; dim < static_cast<int>(part.spec.dims().size()); ++dim) {
      const Block block = HeldBlock(part, dim, mesh_, sizes_, rank);
      place.push_back({block.begin - HeldBlock(whole, dim, mesh_, sizes_, rank).begin, block.size});
    }
    return place;
  }

  // What `rank` gets in a shift: what the rank that sends it calls turn 0 further back.
  PlainArray Arrived(const ProgramOp& op, std::int64_t rank) const {
    const std::vector<std::int64_t> group = mesh_.Group(rank, op.axes);
    const auto n = static_cast<std::int64_t>(group.size());
    const std::int64_t from =
        group[static_cast<std::size_t>((mesh_.IndexInGroup(rank, op.axes) + op.by + n) % n)];
    ProgramValue sent = program_.value(op.result);
    sent.holds = sent.holds->Turned(-op.by);
    return Take(At(op.operands[0], from), PlaceIn(program_.value(op.operands[0]), sent, from));
  }

  PlainArray Joined(const ProgramOp& op, std::int64_t rank) const {
    const ProgramValue& result = program_.value(op.result);
    const bool adds = op.into != kNoValue;
    PlainArray joined = adds ? At(op.into, rank)
                             : Filled(LocalShape(result, mesh_, sizes_, rank),
                                      std::numeric_limits<double>::quiet_NaN());
    for (const ValueId id : op.operands) {
      if (id == op.into) continue;
      const std::vector<Block> place = PlaceIn(result, program_.value(id), rank);
      PlainArray part = At(id, rank);
      if (adds) AddTo(part, Take(joined, place));
      PasteAt(joined, place, 0, part);
    }
    return joined;
  }

  // A contraction of chunks: cuts out what is worked on, and puts what comes of it in its place.
  PlainArray ContractChunks(const ProgramOp& op, std::int64_t rank) const {
    const std::vector<ChunkSet> chunks = *ChunksWorkedOn(program_.values(), op);
    const auto place = [&](ValueId id) {
      const ProgramValue& value = program_.value(id);
      std::vector<Block> blocks;
      for (int dim = 0; dim < static_cast<int>(value.spec.dims().size()); ++dim) {
        const Block block = WorkedBlock(value, dim, chunks, mesh_, sizes_, rank);
        blocks.push_back(
            {block.begin - HeldBlock(value, dim, mesh_, sizes_, rank).begin, block.size});
      }
      return blocks;
    };
    const std::vector<Block> to = place(op.result);
    std::vector<std::int64_t> worked;
    for (const Block& block : to) worked.push_back(block.size);
    PlainArray product =
        Contract(RuleOf(op), Take(At(op.operands[0], rank), place(op.operands[0])),
                 Take(At(op.operands[1], rank), place(op.operands[1])), Shape(std::move(worked)));
    PlainArray result = op.operands.size() == 3
                            ? At(op.operands[2], rank)
                            : Filled(LocalShape(program_.value(op.result), mesh_, sizes_, rank),
                                     std::numeric_limits<double>::quiet_NaN());
    if (AddsToThird(program_.values(), op)) AddTo(product, Take(result, to));
    PasteAt(result, to, 0, product);
    return result;
  }

  // The block that `rank` has under `after`, put together from whatever the members hold of it.
  PlainArray Collect(ValueId from, const Spec& after, const std::vector<std::int64_t>& group,
                     std::int64_t rank) const {
    const Spec& before = program_.value(from).spec;
    PlainArray block =
        Filled(LocalShape(after, mesh_, sizes_, rank), std::numeric_limits<double>::quiet_NaN());
    for (const std::int64_t member : group) {
      std::vector<Block> there;  // where the common part lies in what the member holds
      std::vector<Block> here;   // and in the block
      for (int dim = 0; dim < static_cast<int>(after.dims().size()); ++dim) {
        const Block held = BlockIn(before, dim, member);
        const Block own = BlockIn(after, dim, rank);
        const std::int64_t begin = std::max(held.begin, own.begin);
        const std::int64_t end = std::min(held.begin + held.size, own.begin + own.size);
        there.push_back({begin - held.begin, end - begin});
        here.push_back({begin - own.begin, end - begin});
      }
      if (std::all_of(here.begin(), here.end(), [](const Block& b) { return b.size > 0; })) {
        PasteAt(block, here, 0, Take(At(from, member), there));
      }
    }
    return block;
  }

  void Update(const ProgramOp& op) {
    const AdamWSettings& s = settings_;
    const double correct1 = 1 - std::pow(s.beta1, static_cast<double>(s.step));
    const double correct2 = 1 - std::pow(s.beta2, static_cast<double>(s.step));
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(mesh_.size()); ++rank) {
      std::vector<double>& w = Held(op.operands[0])[rank].elements;
      std::vector<double>& m = Held(op.operands[1])[rank].elements;
      std::vector<double>& v = Held(op.operands[2])[rank].elements;
      const std::vector<double>& g = Held(op.operands[3])[rank].elements;
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = s.beta1 * m[i] + (1 - s.beta1) * g[i];
        v[i] = s.beta2 * v[i] + (1 - s.beta2) * g[i] * g[i];
        w[i] -= s.learning_rate * (m[i] / correct1 / (std::sqrt(v[i] / correct2) + s.epsilon) +
                                   s.weight_decay * w[i]);
      }
    }
  }

  Status Compute(const ProgramOp& op) {
    Ranks results;
    for (std::int64_t rank = 0; rank < mesh_.size(); ++rank) {
      CHORUS_ASSIGN_OR_RETURN(PlainArray result, ComputeOn(op, rank));
      results.push_back(std::move(result));
    }
    Held(op.result) = std::move(results);
    return OkStatus();
  }

  Result<PlainArray> ComputeOn(const ProgramOp& op, std::int64_t rank) const {
    std::vector<const PlainArray*> x;
    x.reserve(op.operands.size());
    for (const ValueId id : op.operands) x.push_back(&At(id, rank));
    const Spec& spec = program_.value(op.result).spec;
    if (WorksOnChunks(program_.values(), op)) return ContractChunks(op, rank);
    const Shape shape = LocalShape(spec, mesh_, sizes_, rank);
    const auto elementwise = [&](auto f) {
      PlainArray result = Filled(shape, 0);
      for (std::size_t i = 0; i < result.elements.size(); ++i) result.elements[i] = f(i);
      return result;
    };
    switch (op.compute) {
      case GraphOp::kConstant:
        return Filled(shape, op.number);
      case GraphOp::kContract:
        return Contract(RuleOf(op), *x[0], *x[1], shape);
      case GraphOp::kAdd: {
        PlainArray sum = *x[0];
        for (std::size_t k = 1; k < x.size(); ++k) AddTo(sum, *x[k]);
        return sum;
      }
      case GraphOp::kGelu:
        return elementwise([&](std::size_t i) { return Gelu(x[0]->elements[i]); });
      case GraphOp::kGeluGrad:
        return elementwise(
            [&](std::size_t i) { return x[1]->elements[i] * GeluSlope(x[0]->elements[i]); });
      case GraphOp::kEmbedWindow: {
        const Spec& table = program_.value(op.operands[1]).spec;
        const std::string& v = table.dims()[1].name;
        CHORUS_RETURN_IF_ERROR(CheckIndices(*x[0], v));
        return EmbedWindow(*x[0], *x[1], BlockIn(table, v, rank).begin);
      }
      case GraphOp::kEmbedWindowGrad: {
        const std::string& v = spec.dims()[1].name;
        CHORUS_RETURN_IF_ERROR(CheckIndices(*x[0], v));
        return EmbedWindowGrad(*x[0], *x[1], shape, BlockIn(spec, v, rank).begin);
      }
      case GraphOp::kCrossEntropy:
      case GraphOp::kCrossEntropyGrad: {
        const std::vector<SpecDim>& dims = program_.value(op.operands[0]).spec.dims();
        CHORUS_RETURN_IF_ERROR(CheckIndices(*x[1], dims[1].name));
        const auto global_b = static_cast<double>(sizes_.find(dims[0].name)->second);
        if (op.compute == GraphOp::kCrossEntropy) return CrossEntropy(*x[0], *x[1], global_b);
        return CrossEntropyGrad(*x[0], *x[1], *x[2], global_b);
      }
      case GraphOp::kInput:
      case GraphOp::kParameter:
        break;
    }
    return Internal(fmt::format("{} is bound, not computed", Name(op.compute)));
  }

  Status CheckIndices(const PlainArray& indices, const std::string& dim) const {
    const std::int64_t size = sizes_.find(dim)->second;
    for (const double index : indices.elements) {
      if (!(index >= 0 && index < static_cast<double>(size))) {
        return InvalidArgument(
            fmt::format("index {} is outside dimension {} of size {}", index, dim, size));
      }
    }
    return OkStatus();
  }

  OpRule RuleOf(const ProgramOp& op) const {
    std::vector<Dims> operands;
    for (const ValueId id : op.operands) operands.push_back(program_.value(id).spec.DimNames());
    if (op.compute == GraphOp::kContract) operands.resize(2);
    return *MakeRule(op.compute, operands, program_.value(op.result).spec.DimNames());
  }

  const StepProgram& program_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const AdamWSettings& settings_;
  std::vector<Ranks> held_;              // by value, then by rank; empty where there is no memory
  std::map<ValueId, ValueId> lives_on_;  // taken over by
};

}  // namespace

Result<std::map<std::string, PlainArray>> Interpret(const StepProgram& program, const Mesh& mesh,
                                                    const DimSizes& sizes,
                                                    const std::map<std::string, PlainArray>& bound,
                                                    const AdamWSettings& settings) {
  CHORUS_RETURN_IF_ERROR(program.Check(mesh, sizes));
  Interpreter interpreter(program, mesh, sizes, settings);
  for (ValueId id = 0; id < program.bound(); ++id) {
    const auto array = bound.find(program.value(id).name());
    if (array == bound.end()) {
      return InvalidArgument(
          fmt::format("no array was given for the bound value {}", program.value(id).name()));
    }
    CHORUS_RETURN_IF_ERROR(interpreter.Bind(id, array->second));
  }
  CHORUS_RETURN_IF_ERROR(interpreter.Run());
  std::map<std::string, PlainArray> results;
  for (ValueId id = 0; id < program.bound(); ++id) {
    CHORUS_ASSIGN_OR_RETURN(results[program.value(id).name()],
                            interpreter.Join(interpreter.Final(id)));
  }
  for (const ValueId id : program.outputs()) {
    CHORUS_ASSIGN_OR_RETURN(results[program.value(id).name()], interpreter.Join(id));
  }
  return results;
}

}  // namespace chorus
