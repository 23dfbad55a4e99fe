#include "chorus/strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chorus {
namespace {

struct NamedStrategy {
  std::string_view name;
  bool data;  // has an axis for the batch
  ParameterSharding sharding;
  bool tensor;  // has an axis for the weights
};

constexpr std::array<NamedStrategy, 6> kStrategies = {{
    {"data", true, ParameterSharding::kNone, false},
    {"zero1", true, ParameterSharding::kOptimizer, false},
    {"fsdp", true, ParameterSharding::kEverything, false},
    {"tensor", false, ParameterSharding::kNone, true},
    {"data+tensor", true, ParameterSharding::kNone, true},
    {"fsdp+tensor", true, ParameterSharding::kEverything, true},
}};

AxisNames Axes(const std::string& major, const std::string& minor = "") {
  AxisNames axes;
  for (const std::string& axis : {major, minor}) {
    if (!axis.empty()) axes.push_back(axis);
  }
  return axes;
}

Spec Lie(std::vector<SpecDim> dims) { return *Spec::Create("", std::move(dims)); }

// `use` is how the parameter is used, `shard` the same split further over the data axis.
ParameterRow Row(std::string pattern, const Spec& use, const Spec& shard,
                 ParameterSharding sharding) {
  switch (sharding) {
    case ParameterSharding::kNone:
      return {std::move(pattern), use, use, use, use, false};
    case ParameterSharding::kOptimizer:
      return {std::move(pattern), use, use, shard, shard, false};
    case ParameterSharding::kEverything:
      break;
  }
  return {std::move(pattern), shard, use, shard, shard, false};
}

}  // namespace

ShardingTable MlpTable(const std::string& data_axis, ParameterSharding sharding,
                       const std::string& tensor_axis) {
  const AxisNames x = Axes(data_axis);
  const AxisNames y = Axes(tensor_axis);
  const AxisNames yx = Axes(tensor_axis, data_axis);
  ShardingTable table;
  // Shards lie along the leading dimension where they can: then blocks are runs of memory.
  table.parameters = {
      Row("embed", Lie({{"W", {}}, {"V", {}}, {"D", y}}), Lie({{"W", x}, {"V", {}}, {"D", y}}),
          sharding),
      Row("blocks.*.win", Lie({{"D", {}}, {"F", y}}), Lie({{"D", x}, {"F", y}}), sharding),
      Row("blocks.*.wout", Lie({{"F", y}, {"D", {}}}), Lie({{"F", yx}, {"D", {}}}), sharding),
      Row("head", Lie({{"D", y}, {"V", {}}}), Lie({{"D", yx}, {"V", {}}}), sharding),
  };
  table.values = {
      {"tokens", Lie({{"B", x}, {"W", {}}})},
      {"targets", Lie({{"B", x}})},
      {"x.*", Lie({{"B", x}, {"D", {}}})},
      {"logits", Lie({{"B", x}, {"V", {}}})},
  };
  return table;
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  names.reserve(kStrategies.size());
  for (const NamedStrategy& strategy : kStrategies) names.emplace_back(strategy.name);
  return names;
}

Result<ShardingTable> MakeStrategy(std::string_view name, const Mesh& mesh) {
  const auto* const strategy =
      std::find_if(kStrategies.begin(), kStrategies.end(),
                   [name](const NamedStrategy& known) { return known.name == name; });
  if (strategy == kStrategies.end()) {
    return InvalidArgument(fmt::format("there is no strategy '{}'; known are {}", name,
                                       fmt::join(StrategyNames(), ", ")));
  }
  const std::size_t axes = (strategy->data ? 1U : 0U) + (strategy->tensor ? 1U : 0U);
  if (mesh.axes().size() != axes) {
    return InvalidArgument(
        fmt::format("strategy '{}' needs a mesh of {}, but the mesh is '{}'", name,
                    axes == 1 ? "one axis, like X=4" : "two axes, like X=2,Y=2", mesh.ToString()));
  }
  const std::string& first = mesh.axes().front().name;
  const std::string& last = mesh.axes().back().name;
  return MlpTable(strategy->data ? first : "", strategy->sharding, strategy->tensor ? last : "");
}

}  // namespace chorus
