// Reverse-mode differentiation: from the loss back, each node hands its adjoint to its operands.
//
//   forward   x -> h = contract(x, w) -> y = gelu(h) -> ... -> loss
//   backward  d.loss = 1 -> ... -> d.y -> d.h = gelu_grad(h, d.y) -> d.x = contract(d.h, w)
//                                                                  d.w = contract(x, d.h)
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "chorus/graph/graph.h"

namespace chorus {
namespace {

class Differentiation {
 public:
  Differentiation(const Graph& graph, NodeId loss) : result_{graph, {}, {}}, loss_(loss) {}

  Result<GradientGraph> Run() {
    FindPaths();
    CHORUS_ASSIGN_OR_RETURN(const NodeId one, result_.graph.AddConstant(AdjointName(loss_), {}, 1));
    parts_[loss_] = {one};
    result_.adjoint_of[one] = loss_;
    for (NodeId id = loss_; id >= 0; --id) CHORUS_RETURN_IF_ERROR(Visit(id));
    for (const NodeId parameter : result_.graph.Parameters()) {
      const auto adjoint = adjoint_.find(parameter);
      if (adjoint == adjoint_.end()) {
        return InvalidArgument(fmt::format("parameter '{}' does not reach the loss '{}'",
                                           Node(parameter).name, Node(loss_).name));
      }
      result_.gradients.emplace_back(parameter, adjoint->second);
    }
    return std::move(result_);
  }

 private:
  const GraphNode& Node(NodeId id) const { return result_.graph.node(id); }
  std::string AdjointName(NodeId id) const { return "d." + Node(id).name; }

  // Marks the nodes between a parameter and the loss; only these have adjoints. Counts how often
  // each is used on the way to the loss: so many parts its adjoint has.
  void FindPaths() {
    std::set<NodeId> to_loss = {loss_};
    for (NodeId id = loss_; id >= 0; --id) {
      if (to_loss.count(id) == 0) continue;
      for (const NodeId operand : Node(id).operands) {
        to_loss.insert(operand);
        ++uses_[operand];
      }
    }
    for (NodeId id = 0; id <= loss_; ++id) {
      const std::vector<NodeId>& operands = Node(id).operands;
      const bool learned = Node(id).op == GraphOp::kParameter ||
                           std::any_of(operands.begin(), operands.end(),
                                       [&](NodeId operand) { return on_path_.count(operand) > 0; });
      if (learned && to_loss.count(id) > 0) on_path_.insert(id);
    }
  }

  // Sums the parts of the adjoint of `id`, which are complete since all its users come after it.
  Status Visit(NodeId id) {
    const auto parts = parts_.find(id);
    if (parts == parts_.end()) return OkStatus();  // on no path
    NodeId adjoint = parts->second[0];
    if (parts->second.size() > 1) {
      CHORUS_ASSIGN_OR_RETURN(
          adjoint, result_.graph.Add(GraphOp::kAdd, AdjointName(id), parts->second, Node(id).dims));
      result_.adjoint_of[adjoint] = id;
    }
    adjoint_[id] = adjoint;
    return Propagate(id, adjoint);
  }

  // Adds a part to the adjoint of `to`: the result of `op`.
  Status Part(NodeId to, GraphOp op, std::vector<NodeId> operands) {
    if (on_path_.count(to) == 0) return OkStatus();
    std::vector<NodeId>& parts = parts_[to];
    std::string name = AdjointName(to);
    if (uses_[to] > 1) name += fmt::format(".{}", parts.size());
    const Dims dims = Node(to).dims;
    CHORUS_ASSIGN_OR_RETURN(const NodeId part,
                            result_.graph.Add(op, std::move(name), std::move(operands), dims));
    parts.push_back(part);
    result_.adjoint_of[part] = to;
    return OkStatus();
  }

  Status Propagate(NodeId id, NodeId dy) {
    const GraphNode node = Node(id);  // a copy: Part appends nodes
    const std::vector<NodeId>& x = node.operands;
    switch (node.op) {
      case GraphOp::kInput:
      case GraphOp::kParameter:
      case GraphOp::kConstant:
        return OkStatus();
      case GraphOp::kContract:
        CHORUS_RETURN_IF_ERROR(Part(x[0], GraphOp::kContract, {dy, x[1]}));
        return Part(x[1], GraphOp::kContract, {x[0], dy});
      case GraphOp::kAdd:
        for (const NodeId addend : x) {
          if (on_path_.count(addend) > 0) parts_[addend].push_back(dy);
        }
        return OkStatus();
      case GraphOp::kGelu:
        return Part(x[0], GraphOp::kGeluGrad, {x[0], dy});
      case GraphOp::kEmbedWindow:
        return Part(x[1], GraphOp::kEmbedWindowGrad, {x[0], dy});
      case GraphOp::kCrossEntropy:
        return Part(x[0], GraphOp::kCrossEntropyGrad, {x[0], x[1], dy});
      case GraphOp::kGeluGrad:
      case GraphOp::kEmbedWindowGrad:
      case GraphOp::kCrossEntropyGrad:
        return Unsupported(
            fmt::format("node '{}' ({}) has no gradient: a loss may not contain "
                        "gradients",
                        node.name, Name(node.op)));
    }
    return OkStatus();
  }

  GradientGraph result_;
  NodeId loss_;
  std::set<NodeId> on_path_;
  std::map<NodeId, int> uses_;
  std::map<NodeId, std::vector<NodeId>> parts_;
  std::map<NodeId, NodeId> adjoint_;
};

}  // namespace

Result<GradientGraph> Differentiate(const Graph& graph, NodeId loss) {
  if (loss < 0 || loss >= graph.size()) {
    return InvalidArgument(
        fmt::format("the loss is node {}, but the graph has {} nodes", loss, graph.size()));
  }
  const GraphNode& node = graph.node(loss);
  if (!node.dims.empty() || node.elements != ElementKind::kFloat) {
    return InvalidArgument(fmt::format("the loss must be one float, but '{}' is [{}]{}", node.name,
                                       JoinDims(node.dims),
                                       node.elements == ElementKind::kIndex ? " of indices" : ""));
  }
  return Differentiation(graph, loss).Run();
}

}  // namespace chorus
