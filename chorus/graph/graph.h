// Graph: a computation on arrays with named dimensions, one node an array. Start here.
//
// A graph knows dimensions by name and nothing of sizes, dtypes or meshes. It is built node by
// node, each checked by the rule of its kind when it is added, and is then a value.
//
//   Graph graph;
//   const NodeId x = *graph.AddInput("x", {"B", "D"}, ElementKind::kFloat);
//   const NodeId w = *graph.AddParameter("w", {"D", "F"}, /*init_std=*/0.02);
//   const NodeId h = *graph.Add(GraphOp::kContract, "h", {x, w}, {"B", "F"});
//
// Thread safety: like int; a const Graph may be read by several threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/graph/op.h"

namespace chorus {

// Position of a node in its graph. Operands come before the nodes that use them.
using NodeId = int;

enum class ElementKind : std::uint8_t {
  kFloat,
  kIndex,  // whole numbers >= 0 that select rows: tokens, targets
};

struct GraphNode {
  GraphOp op = GraphOp::kInput;
  std::string name;  // unique in the graph
  Dims dims;
  ElementKind elements = ElementKind::kFloat;
  std::vector<NodeId> operands;
  // kConstant: the value of every element. kParameter: the standard deviation of the normal
  // distribution it starts from, 0 for a start at zero. Otherwise 0.
  double number = 0;

  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

class Graph {
 public:
  Result<NodeId> AddInput(std::string name, Dims dims, ElementKind elements);
  Result<NodeId> AddParameter(std::string name, Dims dims, double init_std);
  Result<NodeId> AddConstant(std::string name, Dims dims, double number);
  // Adds the result of `op`. Errors: what MakeRule refuses, an operand that is not there, floats
  // where indices are taken or the reverse, a name that is empty or taken.
  Result<NodeId> Add(GraphOp op, std::string name, std::vector<NodeId> operands, Dims dims);

  const std::vector<GraphNode>& nodes() const { return nodes_; }
  int size() const { return static_cast<int>(nodes_.size()); }
  // REQUIRES: 0 <= id < size().
  const GraphNode& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  OpRule RuleOf(NodeId id) const;
  // The node of that name, -1 if there is none.
  NodeId Find(std::string_view name) const;
  // All parameters, in the order they were added.
  std::vector<NodeId> Parameters() const;

  // One line a node: "h[B, F] = contract(x, w)".
  std::string ToString() const;

  friend bool operator==(const Graph&, const Graph&) = default;

 private:
  Result<NodeId> Append(GraphNode node);

  std::vector<GraphNode> nodes_;
};

// A graph followed by the nodes that compute the gradients of a loss.
struct GradientGraph {
  Graph graph;  // the first nodes are those of the graph that was differentiated
  // (parameter, its gradient), in the order of Parameters(). Both have the same dimensions.
  std::vector<std::pair<NodeId, NodeId>> gradients;
  // For every added node that is an adjoint or a part of one: the node it belongs to. An adjoint
  // lies on a mesh like what it belongs to, unless a table says otherwise.
  std::map<NodeId, NodeId> adjoint_of;
};

// Reverse-mode differentiation on the graph. The adjoint of a node "x" is named "d.x"; one that
// several uses add up to is the sum of "d.x.0", "d.x.1", ... Every reduction over ranks that the
// gradients need follows later from the rules of these nodes; none is written by hand.
// Errors: `loss` is no scalar of floats, or a parameter does not reach it (named).
Result<GradientGraph> Differentiate(const Graph& graph, NodeId loss);

}  // namespace chorus
