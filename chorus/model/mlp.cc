#include "chorus/model/mlp.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace chorus {
namespace {

Status CheckSize(const char* name, std::int64_t size, std::int64_t least) {
  if (size >= least) return OkStatus();
  return InvalidArgument(
      fmt::format("the model's {} is {}, it must be at least {}", name, size, least));
}

double InverseRoot(std::int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); }

}  // namespace

Result<LanguageModel> MlpLanguageModel(const MlpConfig& config) {
  CHORUS_RETURN_IF_ERROR(CheckSize("window", config.window, 1));
  CHORUS_RETURN_IF_ERROR(CheckSize("vocabulary", config.vocabulary, 1));
  CHORUS_RETURN_IF_ERROR(CheckSize("width", config.width, 1));
  CHORUS_RETURN_IF_ERROR(CheckSize("hidden", config.hidden, 1));
  CHORUS_RETURN_IF_ERROR(CheckSize("blocks", config.blocks, 0));
  LanguageModel model;
  Graph& g = model.graph;
  CHORUS_ASSIGN_OR_RETURN(const NodeId tokens,
                          g.AddInput("tokens", {"B", "W"}, ElementKind::kIndex));
  CHORUS_ASSIGN_OR_RETURN(const NodeId targets, g.AddInput("targets", {"B"}, ElementKind::kIndex));
  // A sum of W rows of variance 1/W has variance 1.
  CHORUS_ASSIGN_OR_RETURN(const NodeId embed,
                          g.AddParameter("embed", {"W", "V", "D"}, InverseRoot(config.window)));
  CHORUS_ASSIGN_OR_RETURN(NodeId x,
                          g.Add(GraphOp::kEmbedWindow, "x.0", {tokens, embed}, {"B", "D"}));
  for (std::int64_t i = 0; i < config.blocks; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    CHORUS_ASSIGN_OR_RETURN(const NodeId win,
                            g.AddParameter(block + "win", {"D", "F"}, InverseRoot(config.width)));
    CHORUS_ASSIGN_OR_RETURN(const NodeId wout, g.AddParameter(block + "wout", {"F", "D"},
                                                              InverseRoot(config.hidden) *
                                                                  InverseRoot(2 * config.blocks)));
    CHORUS_ASSIGN_OR_RETURN(const NodeId h,
                            g.Add(GraphOp::kContract, block + "h", {x, win}, {"B", "F"}));
    CHORUS_ASSIGN_OR_RETURN(const NodeId a, g.Add(GraphOp::kGelu, block + "a", {h}, {"B", "F"}));
    CHORUS_ASSIGN_OR_RETURN(const NodeId y,
                            g.Add(GraphOp::kContract, block + "y", {a, wout}, {"B", "D"}));
    CHORUS_ASSIGN_OR_RETURN(x,
                            g.Add(GraphOp::kAdd, fmt::format("x.{}", i + 1), {x, y}, {"B", "D"}));
  }
  // Logits start near 0, so the first loss is near log V.
  CHORUS_ASSIGN_OR_RETURN(
      const NodeId head, g.AddParameter("head", {"D", "V"}, 1 / static_cast<double>(config.width)));
  CHORUS_ASSIGN_OR_RETURN(model.logits, g.Add(GraphOp::kContract, "logits", {x, head}, {"B", "V"}));
  CHORUS_ASSIGN_OR_RETURN(model.loss,
                          g.Add(GraphOp::kCrossEntropy, "loss", {model.logits, targets}, {}));
  return model;
}

std::int64_t ParameterCount(const MlpConfig& config) {
  return config.window * config.vocabulary * config.width +
         2 * config.blocks * config.width * config.hidden + config.width * config.vocabulary;
}

}  // namespace chorus
