#include "chorus/train/programs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "chorus/graph/graph.h"
#include "chorus/model/mlp.h"
#include "chorus/shard/partition.h"
#include "chorus/strategy/strategy.h"

namespace chorus {
namespace {

// Rows written out go first, as the first row that matches a value counts. A named strategy has
// rows for models of every size: those of blocks say nothing to a model without blocks.
Result<ShardingTable> MakeTable(const StrategyConfig& strategy, const Mesh& mesh,
                                const Graph& graph) {
  ShardingTable table = strategy.rows;
  if (strategy.name == kRowsOnly) return table;
  CHORUS_ASSIGN_OR_RETURN(ShardingTable named, MakeStrategy(strategy.name, mesh));
  const std::vector<GraphNode>& nodes = graph.nodes();
  const auto matches_nothing = [&nodes](const auto& row) {
    return std::none_of(nodes.begin(), nodes.end(), [&row](const GraphNode& node) {
      return MatchesPattern(row.pattern, node.name);
    });
  };
  named.parameters.erase(
      std::remove_if(named.parameters.begin(), named.parameters.end(), matches_nothing),
      named.parameters.end());
  table.parameters.insert(table.parameters.end(), named.parameters.begin(), named.parameters.end());
  table.values.insert(table.values.end(), named.values.begin(), named.values.end());
  return table;
}

}  // namespace

Result<ModelPrograms> MakePrograms(const TrainConfig& config, std::int64_t vocabulary) {
  const MlpConfig shape{.window = config.model.window,
                        .vocabulary = vocabulary,
                        .width = config.model.width,
                        .hidden = config.model.hidden,
                        .blocks = config.model.blocks};
  CHORUS_ASSIGN_OR_RETURN(const LanguageModel model, MlpLanguageModel(shape));
  CHORUS_ASSIGN_OR_RETURN(const GradientGraph gradients, Differentiate(model.graph, model.loss));
  Result<ShardingTable> table = MakeTable(config.strategy, config.mesh, model.graph);
  if (!table.ok()) return table.status().WithContext("[strategy]");

  ModelPrograms out;
  out.sizes = {{std::string(kBatchDim), config.loop.batch},
               {"W", shape.window},
               {"V", shape.vocabulary},
               {"D", shape.width},
               {"F", shape.hidden}};
  const PartitionOptions options{.dtype = config.loop.dtype, .tariff = {}};
  Result<Partition> step =
      PartitionStep(gradients, model.loss, *table, config.mesh, out.sizes, options);
  if (!step.ok()) return step.status().WithContext("[strategy]");
  out.step = std::move(step->program);
  CHORUS_ASSIGN_OR_RETURN(Partition evaluate, PartitionForward(model.graph, {model.loss}, *table,
                                                               config.mesh, out.sizes, options));
  out.evaluate = std::move(evaluate.program);
  CHORUS_ASSIGN_OR_RETURN(Partition generate, PartitionForward(model.graph, {model.logits}, *table,
                                                               config.mesh, out.sizes, options));
  out.generate = std::move(generate.program);
  for (const NodeId id : model.graph.Parameters()) {
    out.init_std[model.graph.node(id).name] = model.graph.node(id).number;
  }
  return out;
}

}  // namespace chorus
