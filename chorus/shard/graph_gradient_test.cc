// Gradients made on the graph equal finite differences, on one rank and sharded.
#include <gtest/gtest.h>

#include <cmath>

#include "chorus/base/random.h"
#include "chorus/model/mlp.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/partition.h"

namespace chorus {
namespace {

using Arrays = std::map<std::string, PlainArray>;

// Every input split over B if it has it; parameters whole, or split over their first dimension.
ShardingTable TableFor(const Graph& graph, bool split_parameters) {
  ShardingTable table;
  for (const GraphNode& node : graph.nodes()) {
    const Spec whole = Spec::Whole("", node.dims);
    if (node.op == GraphOp::kInput) {
      table.values.push_back({node.name, *whole.WithAxes("B", {"X"})});
    } else if (node.op == GraphOp::kParameter) {
      const Spec rest = split_parameters ? *whole.WithAxes(node.dims[0], {"X"}) : whole;
      table.parameters.push_back({node.name, rest, whole, rest, rest, false});
    }
  }
  return table;
}

Arrays RandomArrays(const Graph& graph, const DimSizes& sizes) {
  Arrays arrays;
  for (const GraphNode& node : graph.nodes()) {
    if (node.op != GraphOp::kInput && node.op != GraphOp::kParameter) continue;
    PlainArray array = Filled(GlobalShape(Spec::Whole("", node.dims), sizes), 0);
    const RandomStream random(3, node.name);
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      array.elements[i] = node.elements == ElementKind::kIndex
                              ? static_cast<double>(random.Below(sizes.at("V"), i))
                              : 0.5 * random.Normal(i);
    }
    arrays[node.name] = array;
  }
  return arrays;
}

// Compares every element of every gradient with (loss(w + h) - loss(w - h)) / 2h.
void ExpectGradientsAreSlopes(const Graph& graph, NodeId loss, const DimSizes& sizes,
                              const char* mesh_text, bool split_parameters) {
  const Mesh mesh = *Mesh::Parse(mesh_text);
  const ShardingTable table = TableFor(graph, split_parameters);
  const GradientGraph d = *Differentiate(graph, loss);
  std::vector<NodeId> outputs = {loss};
  for (const auto& [parameter, gradient] : d.gradients) outputs.push_back(gradient);
  PartitionOptions options;
  options.dtype = DType::kF64;
  const auto all = PartitionForward(d.graph, outputs, table, mesh, sizes, options);
  ASSERT_TRUE(all.ok()) << all.status().message();
  // The loss alone, on one rank, for the differences.
  ShardingTable alone = TableFor(graph, false);
  for (ValueRow& row : alone.values) row.spec = Spec::Whole("", row.spec.DimNames());
  const auto only_loss = PartitionForward(graph, {loss}, alone, Mesh(), sizes, options);
  ASSERT_TRUE(only_loss.ok()) << only_loss.status().message();

  Arrays arrays = RandomArrays(graph, sizes);
  const auto results = Interpret(all->program, mesh, sizes, arrays, AdamWSettings());
  ASSERT_TRUE(results.ok()) << results.status().message();
  const auto loss_at = [&] {
    const auto result = Interpret(only_loss->program, Mesh(), sizes, arrays, AdamWSettings());
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result->at(graph.node(loss).name).elements[0];
  };
  EXPECT_NEAR(results->at(graph.node(loss).name).elements[0], loss_at(), 1e-13);
  constexpr double kStep = 1e-5;
  for (const auto& [parameter, gradient] : d.gradients) {
    const std::string& name = graph.node(parameter).name;
    for (std::size_t i = 0; i < arrays.at(name).elements.size(); ++i) {
      double& w = arrays.at(name).elements[i];
      const double here = w;
      w = here + kStep;
      const double above = loss_at();
      w = here - kStep;
      const double below = loss_at();
      w = here;
      EXPECT_NEAR(results->at(d.graph.node(gradient).name).elements[i],
                  (above - below) / (2 * kStep), 1e-8)
          << name << " element " << i << " on " << mesh_text;
    }
  }
}

TEST(Gradient, OfTheLanguageModelIsTheSlope) {
  const LanguageModel model = *MlpLanguageModel({2, 5, 3, 4, 2});
  const DimSizes sizes = {{"B", 5}, {"W", 2}, {"V", 5}, {"D", 3}, {"F", 4}};
  ExpectGradientsAreSlopes(model.graph, model.loss, sizes, "X=1", false);
  ExpectGradientsAreSlopes(model.graph, model.loss, sizes, "X=3", false);
  ExpectGradientsAreSlopes(model.graph, model.loss, sizes, "X=2", true);
}

// A parameter used three times, a product over two indices, one with a batch index.
TEST(Gradient, OfSharedParametersAddsUp) {
  Graph g;
  const NodeId x = *g.AddInput("x", {"B", "H", "D"}, ElementKind::kFloat);
  const NodeId t = *g.AddInput("t", {"B"}, ElementKind::kIndex);
  const NodeId w = *g.AddParameter("w", {"H", "D", "V"}, 1);
  const NodeId u = *g.AddParameter("u", {"H", "D"}, 1);
  const NodeId gate = *g.Add(GraphOp::kGelu, "gate", {u}, {"H", "D"});
  const NodeId gated = *g.Add(GraphOp::kContract, "gated", {x, gate}, {"B", "H", "D"});
  const NodeId p = *g.Add(GraphOp::kContract, "p", {gated, w}, {"B", "V"});
  const NodeId q = *g.Add(GraphOp::kContract, "q", {x, w}, {"B", "V"});
  const NodeId r = *g.Add(GraphOp::kContract, "r", {u, w}, {"H", "V"});
  const NodeId s = *g.Add(GraphOp::kContract, "s", {x, r}, {"B", "D", "V"});
  const NodeId v = *g.Add(GraphOp::kContract, "v", {s, u}, {"B", "H", "V"});
  const NodeId m = *g.Add(GraphOp::kContract, "m", {v, u}, {"B", "V", "D"});
  const NodeId b = *g.AddInput("b", {"B", "D"}, ElementKind::kFloat);
  const NodeId n = *g.Add(GraphOp::kContract, "n", {m, b}, {"B", "V"});
  const NodeId logits = *g.Add(GraphOp::kAdd, "logits", {p, q, n, p}, {"B", "V"});
  const NodeId loss = *g.Add(GraphOp::kCrossEntropy, "loss", {logits, t}, {});
  const DimSizes sizes = {{"B", 3}, {"H", 2}, {"D", 2}, {"V", 3}};
  ExpectGradientsAreSlopes(g, loss, sizes, "X=1", false);
  ExpectGradientsAreSlopes(g, loss, sizes, "X=2", false);
  ExpectGradientsAreSlopes(g, loss, sizes, "X=2", true);
}

}  // namespace
}  // namespace chorus
