#include "chorus/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace chorus {

Result<NodeId> Graph::Append(GraphNode node) {
  if (node.name.empty()) return InvalidArgument("a node of a graph needs a name");
  if (Find(node.name) >= 0) {
    return InvalidArgument(fmt::format("the graph has a node '{}' already", node.name));
  }
  Dims sorted = node.dims;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return InvalidArgument(fmt::format("{}[{}] has dimension {} twice; give them different names",
                                       node.name, JoinDims(node.dims), *twice));
  }
  nodes_.push_back(std::move(node));
  return size() - 1;
}

Result<NodeId> Graph::AddInput(std::string name, Dims dims, ElementKind elements) {
  return Append({GraphOp::kInput, std::move(name), std::move(dims), elements, {}, 0});
}

Result<NodeId> Graph::AddParameter(std::string name, Dims dims, double init_std) {
  if (!(init_std >= 0)) {
    return InvalidArgument(fmt::format(
        "parameter '{}' starts with standard deviation {}, it must be 0 or more", name, init_std));
  }
  return Append(
      {GraphOp::kParameter, std::move(name), std::move(dims), ElementKind::kFloat, {}, init_std});
}

Result<NodeId> Graph::AddConstant(std::string name, Dims dims, double number) {
  return Append(
      {GraphOp::kConstant, std::move(name), std::move(dims), ElementKind::kFloat, {}, number});
}

Result<NodeId> Graph::Add(GraphOp op, std::string name, std::vector<NodeId> operands, Dims dims) {
  std::vector<Dims> operand_dims;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] < 0 || operands[i] >= size()) {
      return InvalidArgument(
          fmt::format("operand {} of '{}' is node {}, but the graph has {} nodes", i, name,
                      operands[i], size()));
    }
    const GraphNode& operand = node(operands[i]);
    const bool indices = operand.elements == ElementKind::kIndex;
    if (indices != TakesIndices(op, i)) {
      return InvalidArgument(fmt::format("operand {} of '{}' ({}) must hold {}, but '{}' holds {}",
                                         i, name, Name(op), indices ? "floats" : "indices",
                                         operand.name, indices ? "indices" : "floats"));
    }
    operand_dims.push_back(operand.dims);
  }
  const Result<OpRule> rule = MakeRule(op, operand_dims, dims);
  if (!rule.ok()) return rule.status().WithContext(fmt::format("node '{}'", name));
  return Append(
      {op, std::move(name), std::move(dims), ElementKind::kFloat, std::move(operands), 0});
}

OpRule Graph::RuleOf(NodeId id) const {
  std::vector<Dims> operand_dims;
  for (const NodeId operand : node(id).operands) operand_dims.push_back(node(operand).dims);
  Result<OpRule> rule = MakeRule(node(id).op, operand_dims, node(id).dims);
  assert(rule.ok());  // Add has checked it
  return std::move(rule).value();
}

NodeId Graph::Find(std::string_view name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [name](const GraphNode& node) { return node.name == name; });
  return found == nodes_.end() ? -1 : static_cast<NodeId>(found - nodes_.begin());
}

std::vector<NodeId> Graph::Parameters() const {
  std::vector<NodeId> parameters;
  for (NodeId id = 0; id < size(); ++id) {
    if (node(id).op == GraphOp::kParameter) parameters.push_back(id);
  }
  return parameters;
}

std::string Graph::ToString() const {
  std::string text;
  for (const GraphNode& node : nodes_) {
    std::string operands;
    for (const NodeId operand : node.operands) {
      operands += fmt::format("{}{}", operands.empty() ? "" : ", ", this->node(operand).name);
    }
    if (node.op == GraphOp::kConstant) operands = fmt::format("{}", node.number);
    if (node.op == GraphOp::kParameter) operands = fmt::format("normal {}", node.number);
    if (node.op == GraphOp::kInput) {
      operands = node.elements == ElementKind::kIndex ? "indices" : "floats";
    }
    text +=
        fmt::format("{}[{}] = {}({})\n", node.name, JoinDims(node.dims), Name(node.op), operands);
  }
  return text;
}

}  // namespace chorus
