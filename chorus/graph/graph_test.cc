#include "chorus/graph/graph.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

// x -> x + gelu(x . win) . wout -> logits -> loss: one of each kind of operation.
Graph SmallModel() {
  Graph g;
  const NodeId tokens = *g.AddInput("tokens", {"B", "W"}, ElementKind::kIndex);
  const NodeId targets = *g.AddInput("targets", {"B"}, ElementKind::kIndex);
  const NodeId table = *g.AddParameter("table", {"W", "V", "D"}, 0.5);
  const NodeId win = *g.AddParameter("win", {"D", "F"}, 0.25);
  const NodeId wout = *g.AddParameter("wout", {"F", "D"}, 0);
  const NodeId head = *g.AddParameter("head", {"D", "V"}, 0.125);
  const NodeId x = *g.Add(GraphOp::kEmbedWindow, "x", {tokens, table}, {"B", "D"});
  const NodeId h = *g.Add(GraphOp::kContract, "h", {x, win}, {"B", "F"});
  const NodeId a = *g.Add(GraphOp::kGelu, "a", {h}, {"B", "F"});
  const NodeId y = *g.Add(GraphOp::kContract, "y", {a, wout}, {"B", "D"});
  const NodeId z = *g.Add(GraphOp::kAdd, "z", {x, y}, {"B", "D"});
  const NodeId logits = *g.Add(GraphOp::kContract, "logits", {z, head}, {"B", "V"});
  EXPECT_TRUE(g.Add(GraphOp::kCrossEntropy, "loss", {logits, targets}, {}).ok());
  return g;
}

TEST(Graph, TextIsOneLineANode) {
  EXPECT_EQ(SmallModel().ToString(),
            "tokens[B, W] = input(indices)\n"
            "targets[B] = input(indices)\n"
            "table[W, V, D] = parameter(normal 0.5)\n"
            "win[D, F] = parameter(normal 0.25)\n"
            "wout[F, D] = parameter(normal 0)\n"
            "head[D, V] = parameter(normal 0.125)\n"
            "x[B, D] = embed_window(tokens, table)\n"
            "h[B, F] = contract(x, win)\n"
            "a[B, F] = gelu(h)\n"
            "y[B, D] = contract(a, wout)\n"
            "z[B, D] = add(x, y)\n"
            "logits[B, V] = contract(z, head)\n"
            "loss[] = cross_entropy(logits, targets)\n");
}

TEST(Graph, DifferentiatesBackThroughEveryKind) {
  const Graph g = SmallModel();
  const GradientGraph d = *Differentiate(g, g.Find("loss"));
  const std::string text = d.graph.ToString();
  ASSERT_EQ(text.substr(0, g.ToString().size()), g.ToString());
  EXPECT_EQ(text.substr(g.ToString().size()),
            "d.loss[] = constant(1)\n"
            "d.logits[B, V] = cross_entropy_grad(logits, targets, d.loss)\n"
            "d.z[B, D] = contract(d.logits, head)\n"
            "d.head[D, V] = contract(z, d.logits)\n"
            "d.a[B, F] = contract(d.z, wout)\n"
            "d.wout[F, D] = contract(a, d.z)\n"
            "d.h[B, F] = gelu_grad(h, d.a)\n"
            "d.x.1[B, D] = contract(d.h, win)\n"
            "d.win[D, F] = contract(x, d.h)\n"
            "d.x[B, D] = add(d.z, d.x.1)\n"
            "d.table[W, V, D] = embed_window_grad(tokens, d.x)\n");
  ASSERT_EQ(d.gradients.size(), 4U);
  for (const auto& [parameter, gradient] : d.gradients) {
    EXPECT_EQ(d.graph.node(gradient).dims, d.graph.node(parameter).dims);
    EXPECT_EQ(d.graph.node(gradient).name, "d." + d.graph.node(parameter).name);
  }
  EXPECT_EQ(d.adjoint_of.at(d.graph.Find("d.x.1")), g.Find("x"));
}

TEST(Graph, GivesNoAdjointToWhatLearnsNothing) {
  Graph g;
  const NodeId x = *g.AddInput("x", {"B"}, ElementKind::kFloat);
  const NodeId y = *g.Add(GraphOp::kGelu, "y", {x}, {"B"});
  const NodeId w = *g.AddParameter("w", {"B"}, 1);
  EXPECT_TRUE(g.Add(GraphOp::kGelu, "unused", {w}, {"B"}).ok());
  const NodeId loss = *g.Add(GraphOp::kContract, "loss", {y, w}, {});
  const GradientGraph d = *Differentiate(g, loss);
  EXPECT_EQ(d.graph.Find("d.y"), -1);
  EXPECT_EQ(d.graph.Find("d.x"), -1);
  EXPECT_GE(d.graph.Find("d.w"), 0);  // one use on the way to the loss, so one part
}

TEST(Graph, RefusesWithWhatIsTaken) {
  Graph g;
  const NodeId x = *g.AddInput("x", {"B", "D"}, ElementKind::kFloat);
  const NodeId t = *g.AddInput("t", {"B"}, ElementKind::kIndex);
  const NodeId w = *g.AddParameter("w", {"D", "F"}, 1);
  const auto add = [&](GraphOp op, std::vector<NodeId> operands, Dims dims) {
    return g.Add(op, "n", std::move(operands), std::move(dims)).status().message();
  };
  EXPECT_EQ(add(GraphOp::kContract, {x, w}, {"B", "F", "G"}),
            "node 'n': contract takes two operands and a result, each index in at least two of the "
            "three; it was given [B, D], [D, F] -> [B, F, G]");
  EXPECT_EQ(add(GraphOp::kContract, {x, w}, {"F"}),  // a sum over B of x alone
            "node 'n': contract takes two operands and a result, each index in at least two of the "
            "three; it was given [B, D], [D, F] -> [F]");
  EXPECT_EQ(add(GraphOp::kAdd, {x, w}, {"B", "D"}),
            "node 'n': add takes at least two operands of the result's dimensions; it was given "
            "[B, D], [D, F] -> [B, D]");
  EXPECT_EQ(add(GraphOp::kGelu, {t}, {"B"}),
            "operand 0 of 'n' (gelu) must hold floats, but 't' holds indices");
  EXPECT_EQ(add(GraphOp::kCrossEntropy, {x, x}, {}),
            "operand 1 of 'n' (cross_entropy) must hold indices, but 'x' holds floats");
  EXPECT_EQ(add(GraphOp::kGelu, {9}, {"B"}),
            "operand 0 of 'n' is node 9, but the graph has 3 nodes");
  EXPECT_EQ(g.AddParameter("w", {"D"}, 1).status().message(), "the graph has a node 'w' already");
  EXPECT_EQ(g.AddParameter("v", {"D", "D"}, 1).status().message(),
            "v[D, D] has dimension D twice; give them different names");
  EXPECT_EQ(Differentiate(g, x).status().message(),
            "the loss must be one float, but 'x' is [B, D]");
}

TEST(Graph, NamesAParameterThatLearnsNothing) {
  Graph g;
  const NodeId w = *g.AddParameter("w", {"B"}, 1);
  EXPECT_TRUE(g.AddParameter("idle", {"B"}, 1).ok());
  const NodeId loss = *g.Add(GraphOp::kContract, "loss", {w, w}, {});
  EXPECT_EQ(Differentiate(g, loss).status().message(),
            "parameter 'idle' does not reach the loss 'loss'");
}

TEST(OpRule, SaysWhatIsSummedLinearAndWhole) {
  const OpRule product = *MakeRule(GraphOp::kContract, {{"B", "D"}, {"D", "F"}}, {"B", "F"});
  EXPECT_EQ(product.loop, (Dims{"B", "F", "D"}));
  EXPECT_EQ(product.summed, (Dims{"D"}));
  EXPECT_EQ(product.linearity, (std::vector<Linearity>{Linearity::kAlone, Linearity::kAlone}));

  const OpRule loss = *MakeRule(GraphOp::kCrossEntropy, {{"B", "V"}, {"B"}}, {});
  EXPECT_EQ(loss.summed, (Dims{"B", "V"}));
  EXPECT_EQ(loss.whole, (Dims{"V"}));
  EXPECT_EQ(loss.linearity[0], Linearity::kNone);

  // A shard of the table's rows or positions adds only its part.
  const OpRule embed = *MakeRule(GraphOp::kEmbedWindow, {{"B", "W"}, {"W", "V", "D"}}, {"B", "D"});
  EXPECT_EQ(embed.summed, (Dims{"W", "V"}));
  const OpRule back =
      *MakeRule(GraphOp::kEmbedWindowGrad, {{"B", "W"}, {"B", "D"}}, {"W", "V", "D"});
  EXPECT_EQ(back.summed, (Dims{"B"}));
  EXPECT_EQ(back.linearity, (std::vector<Linearity>{Linearity::kNone, Linearity::kAlone}));
}

TEST(GraphOp, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(GraphOp::kCrossEntropyGrad); ++i) {
    const auto op = static_cast<GraphOp>(i);
    EXPECT_EQ(ParseGraphOp(Name(op)), op);
  }
  EXPECT_EQ(ParseGraphOp("softmax"), std::nullopt);
}

}  // namespace
}  // namespace chorus
