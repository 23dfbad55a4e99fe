#include "chorus/model/mlp.h"

#include <gtest/gtest.h>

namespace chorus {
namespace {

TEST(MlpLanguageModel, IsAGraph) {
  const LanguageModel model = *MlpLanguageModel({4, 16, 16, 32, 2});
  EXPECT_EQ(model.graph.ToString(),
            "tokens[B, W] = input(indices)\n"
            "targets[B] = input(indices)\n"
            "embed[W, V, D] = parameter(normal 0.5)\n"
            "x.0[B, D] = embed_window(tokens, embed)\n"
            "blocks.0.win[D, F] = parameter(normal 0.25)\n"
            "blocks.0.wout[F, D] = parameter(normal 0.08838834764831843)\n"
            "blocks.0.h[B, F] = contract(x.0, blocks.0.win)\n"
            "blocks.0.a[B, F] = gelu(blocks.0.h)\n"
            "blocks.0.y[B, D] = contract(blocks.0.a, blocks.0.wout)\n"
            "x.1[B, D] = add(x.0, blocks.0.y)\n"
            "blocks.1.win[D, F] = parameter(normal 0.25)\n"
            "blocks.1.wout[F, D] = parameter(normal 0.08838834764831843)\n"
            "blocks.1.h[B, F] = contract(x.1, blocks.1.win)\n"
            "blocks.1.a[B, F] = gelu(blocks.1.h)\n"
            "blocks.1.y[B, D] = contract(blocks.1.a, blocks.1.wout)\n"
            "x.2[B, D] = add(x.1, blocks.1.y)\n"
            "head[D, V] = parameter(normal 0.0625)\n"
            "logits[B, V] = contract(x.2, head)\n"
            "loss[] = cross_entropy(logits, targets)\n");
  EXPECT_EQ(model.graph.node(model.logits).name, "logits");
  EXPECT_EQ(model.graph.node(model.loss).name, "loss");
  EXPECT_EQ(ParameterCount({4, 16, 16, 32, 2}), 4 * 16 * 16 + 4 * 16 * 32 + 16 * 16);
}

TEST(MlpLanguageModel, HasAGradientForEveryParameter) {
  const LanguageModel model = *MlpLanguageModel({3, 5, 4, 6, 3});
  const auto gradients = Differentiate(model.graph, model.loss);
  ASSERT_TRUE(gradients.ok()) << gradients.status().message();
  EXPECT_EQ(gradients->gradients.size(), 2U + 2 * 3);
}

TEST(MlpLanguageModel, RefusesSizesBelowOne) {
  EXPECT_EQ(MlpLanguageModel({4, 16, 0, 32, 2}).status().message(),
            "the model's width is 0, it must be at least 1");
  EXPECT_EQ(MlpLanguageModel({4, 16, 8, 32, -1}).status().message(),
            "the model's blocks is -1, it must be at least 0");
  EXPECT_TRUE(MlpLanguageModel({4, 16, 8, 32, 0}).ok());
}

}  // namespace
}  // namespace chorus
