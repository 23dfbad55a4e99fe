#include "chorus/shard/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "chorus/shard/compute.h"
#include "chorus/shard/emitter.h"

namespace chorus {
namespace {

constexpr std::size_t kAlternatives = 3;  // that provenance keeps

// A wanted layout and the row that wants it ("" if it follows from another value).
struct Wanted {
  std::optional<Spec> spec;
  std::string row;
};

class Partitioner {
 public:
  Partitioner(const Graph& graph, const ShardingTable& table, const Mesh& mesh,
              const DimSizes& sizes, const PartitionOptions& options)
      : graph_(graph), table_(table), mesh_(mesh), sizes_(sizes), options_(options) {}

  Result<Partition> Step(const GradientGraph& gradients, NodeId loss) {
    for (const auto& [node, of] : gradients.adjoint_of) final_adjoint_[of] = node;  // the last one
    for (const auto& [node, of] : final_adjoint_) adjoint_of_[of] = node;
    for (const auto& [parameter, gradient] : gradients.gradients) {
      adjoint_of_[gradient] = parameter;
    }
    outputs_ = {loss};
    CHORUS_RETURN_IF_ERROR(VisitAll(/*training=*/true));
    for (const auto& [parameter, gradient] : gradients.gradients) {
      CHORUS_RETURN_IF_ERROR(Update(parameter, gradient));
    }
    return Finish();
  }

  Result<Partition> Forward(const std::vector<NodeId>& outputs) {
    outputs_ = outputs;
    CHORUS_RETURN_IF_ERROR(VisitAll(/*training=*/false));
    return Finish();
  }

 private:
  const GraphNode& Node(NodeId id) const { return graph_.node(id); }
  const ParameterRow& RowOf(NodeId parameter) const {
    return *FindParameterRow(table_, Node(parameter).name);
  }

  Result<Partition> Finish() {
    std::vector<ValueId> outputs;
    outputs.reserve(outputs_.size());
    for (const NodeId id : outputs_) outputs.push_back(value_.at(id));
    CHORUS_ASSIGN_OR_RETURN(partition_.program, emitter_.Finish(std::move(outputs)));
    return std::move(partition_);
  }

  // Nodes that the outputs (and, in training, the gradients) are computed from.
  std::set<NodeId> Needed() const {
    std::set<NodeId> needed(outputs_.begin(), outputs_.end());
    for (const auto& [gradient, parameter] : adjoint_of_) {
      if (Node(parameter).op == GraphOp::kParameter) needed.insert(gradient);
    }
    for (NodeId id = graph_.size() - 1; id >= 0; --id) {
      if (needed.count(id) == 0) continue;
      for (const NodeId operand : Node(id).operands) needed.insert(operand);
    }
    return needed;
  }

  Status VisitAll(bool training) {
    const std::set<NodeId> needed = Needed();
    for (const NodeId id : needed) {
      if (Node(id).op == GraphOp::kInput) BindInput(id);
    }
    for (const NodeId id : needed) {
      if (Node(id).op == GraphOp::kParameter) BindParameter(id, training);
    }
    for (const NodeId id : needed) {
      switch (Node(id).op) {
        case GraphOp::kInput:
        case GraphOp::kParameter:
          break;
        case GraphOp::kConstant:
          Constant(id);
          break;
        case GraphOp::kAdd:
          CHORUS_RETURN_IF_ERROR(Sum(id));
          break;
        default:
          CHORUS_RETURN_IF_ERROR(Compute(id));
      }
    }
    return OkStatus();
  }

  void BindInput(NodeId id) {
    const ValueRow& row = *FindValueRow(table_, Node(id).name);
    const bool indices = Node(id).elements == ElementKind::kIndex;
    value_[id] = emitter_.Bind(row.spec.WithName(Node(id).name),
                               indices ? DType::kI32 : options_.dtype, StorageClass::kInput);
    Placed(id, row.spec, row.pattern);
  }

  void BindParameter(NodeId id, bool training) {
    const ParameterRow& row = RowOf(id);
    const std::string& name = Node(id).name;
    value_[id] = emitter_.Bind(row.rest.WithName(name), options_.dtype, StorageClass::kParameter);
    Placed(id, row.rest, row.pattern);
    if (!training) return;
    for (const char* moment : {".m", ".v"}) {
      moments_[id].push_back(emitter_.Bind(row.optimizer.WithName(name + moment), options_.dtype,
                                           StorageClass::kOptimizerState));
    }
  }

  void Placed(NodeId id, const Spec& spec, const std::string& row) {
    partition_.placed.push_back({spec.WithName(Node(id).name), row});
  }

  void Constant(NodeId id) {
    ProgramOp op;
    op.kind = ProgramOpKind::kCompute;
    op.compute = GraphOp::kConstant;
    op.number = Node(id).number;
    op.why = {Node(id).name, "", "a constant is whole everywhere", {}};
    const Spec spec = Spec::Whole(Node(id).name, Node(id).dims);
    value_[id] = emitter_.Add(std::move(op), spec, options_.dtype, StorageClass::kActivation);
    Placed(id, spec, "");
  }

  // How the result of a node must lie.
  Wanted WantedFor(NodeId id) const {
    const std::string& name = Node(id).name;
    if (const ValueRow* row = FindValueRow(table_, name)) return {row->spec, row->pattern};
    if (std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end()) {
      return {Spec::Whole("", Node(id).dims), "output"};
    }
    const auto adjoint = adjoint_of_.find(id);
    if (adjoint == adjoint_of_.end()) return {};  // also a part of an adjoint: the sum decides
    const NodeId of = adjoint->second;
    if (Node(of).op == GraphOp::kParameter) return {RowOf(of).gradient, RowOf(of).pattern};
    const Spec& spec = emitter_.value(value_.at(of)).spec;
    return {*spec.WithPartial({}), ""};
  }

  StorageClass StorageOf(NodeId id) const {
    const auto adjoint = adjoint_of_.find(id);
    const bool gradient =
        adjoint != adjoint_of_.end() && Node(adjoint->second).op == GraphOp::kParameter;
    return gradient ? StorageClass::kGradient : StorageClass::kActivation;
  }

  // How an operand lies for its use.
  Spec UseOf(NodeId operand) const {
    const std::string& name = Node(operand).name;
    if (Node(operand).op == GraphOp::kParameter) return RowOf(operand).use.WithName(name);
    return emitter_.value(value_.at(operand)).spec.WithName(name);
  }

  Status Compute(NodeId id) {
    const GraphNode& node = Node(id);
    const Wanted wanted = WantedFor(id);
    ComputeRequest request;
    request.op = node.op;
    for (const NodeId operand : node.operands) request.operands.push_back(UseOf(operand));
    request.result = Spec::Whole(node.name, node.dims);
    request.wanted = wanted.spec;
    request.dtype = options_.dtype;
    request.strict = true;
    request.most_ways = 1 + kAlternatives;
    CHORUS_ASSIGN_OR_RETURN(const std::vector<ComputePlan> plans,
                            PlanCompute(request, mesh_, sizes_, options_.tariff));
    if (plans.empty()) return Conflict(std::move(request));
    const ComputePlan& plan = plans[0];

    Provenance why{node.name, wanted.row, plan.rule, {}};
    for (std::size_t i = 1; i < plans.size() && i <= kAlternatives; ++i) {
      why.rejected.push_back({plans[i].rule, plans[i].cost.bytes_sent, plans[i].cost.flops});
    }
    if (node.op == GraphOp::kContract && !plan.repeated.empty()) {
      partition_.repeated_products.push_back(
          fmt::format("{} is repeated along {}", node.name, JoinAxes(plan.repeated)));
    }
    ProgramOp op;
    op.kind = ProgramOpKind::kCompute;
    op.compute = node.op;
    op.why = why;
    for (std::size_t k = 0; k < node.operands.size(); ++k) {
      CHORUS_ASSIGN_OR_RETURN(const ValueId operand, Bring(node.operands[k], plan.operands[k],
                                                           plan.operand_moves[k], why));
      op.operands.push_back(operand);
    }
    const bool moves = !plan.result_moves.moves.empty();
    const std::string name = moves ? node.name + ".local" : node.name;
    const ValueId local =
        emitter_.Add(std::move(op), plan.result.WithName(name), options_.dtype, StorageOf(id));
    value_[id] = emitter_.Move(local, plan.result_moves, node.name, StorageOf(id), why);
    Placed(id, plan.Final(), wanted.row);
    return OkStatus();
  }

  Status Conflict(ComputeRequest request) const {
    std::string operands;
    for (const Spec& operand : request.operands) {
      operands += fmt::format("{}{}", operands.empty() ? "" : ", ", operand.ToString());
    }
    request.strict = false;
    request.idle = IdleAxes::kLeave;
    request.most_ways = 1;
    CHORUS_ASSIGN_OR_RETURN(const std::vector<ComputePlan> ways,
                            PlanCompute(request, mesh_, sizes_, options_.tariff));
    return InvalidArgument(fmt::format(
        "{} = {}({}) cannot run as its operands lie; let a row gather one first. Cheapest: {} ({} "
        "bytes sent per rank)",
        request.result.name(), Name(request.op), operands, ways[0].rule,
        ways[0].cost.bytes_sent.value()));
  }

  // Brings an operand to `target`. `moves` lead there from how it lies for its use.
  Result<ValueId> Bring(NodeId operand, const Spec& target, const ReshardPlan& moves,
                        Provenance why) {
    const std::string& name = Node(operand).name;
    if (Node(operand).op != GraphOp::kParameter) {
      const ValueId brought =
          emitter_.Move(value_.at(operand), moves, name + ".own", StorageClass::kWorkspace, why);
      const bool reduced = std::any_of(moves.moves.begin(), moves.moves.end(),
                                       [](const Move& move) { return IsCollective(move.kind); });
      if (reduced) value_[operand] = brought;  // once is enough: later uses start from the sum
      return brought;
    }
    const ParameterRow& row = RowOf(operand);
    why.row = row.pattern;
    why.rule = fmt::format("{} rests as {}, {} uses {}", name, row.rest.ToString(), why.source,
                           target.WithName("").ToString());
    why.rejected.clear();
    ValueId from = value_.at(operand);
    if (row.keep) {
      auto kept = kept_.find(operand);
      if (kept == kept_.end()) {
        CHORUS_ASSIGN_OR_RETURN(const ReshardPlan to_use, Plan(row.rest, row.use));
        from = emitter_.Move(from, to_use, name + ".use", StorageClass::kWorkspace, why);
        kept = kept_.emplace(operand, from).first;
      }
      from = kept->second;
    }
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan to_target, Plan(emitter_.value(from).spec, target));
    return emitter_.Move(from, to_target, name + ".use", StorageClass::kWorkspace, why);
  }

  Result<ReshardPlan> Plan(const Spec& from, const Spec& to) const {
    return PlanReshard(from, to, options_.dtype, mesh_, sizes_, options_.tariff, std::nullopt,
                       IdleAxes::kLeave);
  }

  // A sum of values: addends that are sums over the same axes are added first and reduced once.
  Status Sum(NodeId id) {
    const GraphNode& node = Node(id);
    const Wanted wanted = WantedFor(id);
    std::map<AxisNames, std::vector<ValueId>> groups;  // by what is still to be summed over
    const Spec* whole = nullptr;                       // the first addend that is no sum
    for (const NodeId operand : node.operands) {
      const ValueId addend = value_.at(operand);
      const Spec& spec = emitter_.value(addend).spec;
      groups[spec.partial()].push_back(addend);
      if (whole == nullptr && spec.partial().empty()) whole = &spec;
    }
    Spec target = emitter_.value(value_.at(node.operands[0])).spec;
    if (wanted.spec) {
      target = *wanted.spec;
    } else if (groups.size() > 1) {
      CHORUS_ASSIGN_OR_RETURN(target,
                              whole != nullptr ? Result<Spec>(*whole) : target.WithPartial({}));
    }
    target = target.WithName(node.name);

    std::vector<ValueId> addends;
    for (auto& [partial, members] : groups) {
      CHORUS_ASSIGN_OR_RETURN(Spec lie, target.WithPartial({}));
      // Sums are added as they are, if all lie alike, and brought to the target as one.
      const Spec& first = emitter_.value(members[0]).spec;
      if (!partial.empty()) lie = first;
      for (ValueId& member : members) {
        Provenance why{node.name, wanted.row, "addends must lie alike", {}};
        CHORUS_ASSIGN_OR_RETURN(member, BringAddend(member, lie, wanted, why, ""));
      }
      const bool is_all = groups.size() == 1;  // so this is the result
      if (!partial.empty() && members.size() > 1) {
        const std::string name = is_all && lie.SameLayout(target) ? node.name : node.name + ".sum";
        members = {
            Add(members, lie.WithName(name), id, wanted.row,
                fmt::format("addends that are sums over {} are reduced once", JoinAxes(partial)))};
      }
      for (const ValueId member : members) {
        Provenance why{node.name, wanted.row, "the sum is reduced for its first use", {}};
        CHORUS_ASSIGN_OR_RETURN(
            const ValueId addend,
            BringAddend(member, target, wanted, why, is_all && !partial.empty() ? node.name : ""));
        addends.push_back(addend);
      }
    }
    value_[id] = addends.size() == 1
                     ? addends[0]
                     : Add(addends, target, id, wanted.row, "addends lie alike: nothing moves");
    Placed(id, emitter_.value(value_[id]).spec, wanted.row);
    return OkStatus();
  }

  ValueId Add(const std::vector<ValueId>& addends, const Spec& spec, NodeId id,
              const std::string& row, const std::string& rule) {
    ProgramOp op;
    op.kind = ProgramOpKind::kCompute;
    op.compute = GraphOp::kAdd;
    op.operands = addends;
    op.why = {Node(id).name, row, rule, {}};
    return emitter_.Add(std::move(op), spec, options_.dtype, StorageOf(id));
  }

  // `name` of what it becomes; empty: made from its own.
  Result<ValueId> BringAddend(ValueId from, const Spec& target, const Wanted& wanted,
                              const Provenance& why, const std::string& name) {
    const ProgramValue& value = emitter_.value(from);
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan moves, Plan(value.spec, target));
    const bool gathers = std::any_of(moves.moves.begin(), moves.moves.end(), [](const Move& move) {
      return move.kind == ProgramOpKind::kAllGather;
    });
    if (gathers && !wanted.spec) {
      return InvalidArgument(fmt::format(
          "{} adds {} to a value that lies as {}; add a row that says how "
          "{} lies",
          why.source, value.spec.ToString(), target.WithName("").ToString(), why.source));
    }
    return emitter_.Move(from, moves, name.empty() ? value.name() + ".addend" : name, value.storage,
                         why);
  }

  // AdamW on the optimizer's shard; the parameter is brought back to its place at rest.
  Status Update(NodeId parameter, NodeId gradient) {
    const ParameterRow& row = RowOf(parameter);
    const std::string& name = Node(parameter).name;
    Provenance why{name, row.pattern, "the optimizer's shard is updated", {}};
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan to_shard, Plan(row.rest, row.optimizer));
    for (const Move& move : to_shard.moves) {
      if (move.kind != ProgramOpKind::kSlice) {
        return InvalidArgument(fmt::format(
            "row '{}': the optimizer's spec {} must be the spec at rest {} or split it further",
            row.pattern, row.optimizer.ToString(), row.rest.ToString()));
      }
    }
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan back, Plan(row.optimizer, row.rest));
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan of_gradient,
                            Plan(emitter_.value(value_.at(gradient)).spec, row.optimizer));
    ProgramOp op;
    op.kind = ProgramOpKind::kAdamW;
    const ValueId own =
        emitter_.Move(value_.at(parameter), to_shard, name + ".own", StorageClass::kWorkspace, why);
    const ValueId g = emitter_.Move(value_.at(gradient), of_gradient, Node(gradient).name + ".own",
                                    StorageClass::kGradient, why);
    op.operands = {own, moments_.at(parameter)[0], moments_.at(parameter)[1], g};
    op.why = why;
    emitter_.Add(std::move(op));
    why.rule = "the updated parameter goes back to its place";
    emitter_.Move(own, back, name + ".new", StorageClass::kParameter, why, value_.at(parameter));
    return OkStatus();
  }

  const Graph& graph_;
  const ShardingTable& table_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const PartitionOptions& options_;
  ProgramEmitter emitter_;
  Partition partition_;
  std::vector<NodeId> outputs_;
  std::map<NodeId, ValueId> value_;  // where each node's value is now; parameters: at rest
  std::map<NodeId, ValueId> kept_;   // parameters that stay as used
  std::map<NodeId, std::vector<ValueId>> moments_;
  std::map<NodeId, NodeId> final_adjoint_;  // node -> its complete adjoint
  std::map<NodeId, NodeId> adjoint_of_;     // complete adjoint -> node
};

}  // namespace

Result<Partition> PartitionStep(const GradientGraph& graph, NodeId loss, const ShardingTable& table,
                                const Mesh& mesh, const DimSizes& sizes,
                                const PartitionOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckTable(table, graph.graph, mesh));
  return Partitioner(graph.graph, table, mesh, sizes, options).Step(graph, loss);
}

Result<Partition> PartitionForward(const Graph& graph, const std::vector<NodeId>& outputs,
                                   const ShardingTable& table, const Mesh& mesh,
                                   const DimSizes& sizes, const PartitionOptions& options) {
  CHORUS_RETURN_IF_ERROR(CheckTable(table, graph, mesh));
  return Partitioner(graph, table, mesh, sizes, options).Forward(outputs);
}

}  // namespace chorus
