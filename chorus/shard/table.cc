#include "chorus/shard/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorus {
namespace {

Status CheckRowSpec(std::string_view pattern, std::string_view column, const Spec& spec,
                    const GraphNode& node, const Mesh& mesh) {
  const std::string where = fmt::format("row '{}'{}", pattern, column);
  if (spec.DimNames() != node.dims) {
    return InvalidArgument(fmt::format("{} says {}, but {} has dimensions [{}]", where,
                                       spec.ToString(), node.name, JoinDims(node.dims)));
  }
  if (!spec.partial().empty()) {
    return InvalidArgument(fmt::format("{} says {}, but rows hold no sums: leave {{U_{}}} out",
                                       where, spec.ToString(), JoinAxes(spec.partial())));
  }
  return spec.Check(mesh).WithContext(where);
}

Status CheckNode(const ShardingTable& table, const GraphNode& node, const Mesh& mesh) {
  if (node.op == GraphOp::kParameter) {
    const ParameterRow* row = FindParameterRow(table, node.name);
    if (row == nullptr) {
      return InvalidArgument(
          fmt::format("parameter {}[{}] has no row in the strategy's table; add one of pattern "
                      "'{}' with rest [{}]",
                      node.name, JoinDims(node.dims), node.name, JoinDims(node.dims)));
    }
    CHORUS_RETURN_IF_ERROR(CheckRowSpec(row->pattern, " at rest", row->rest, node, mesh));
    CHORUS_RETURN_IF_ERROR(CheckRowSpec(row->pattern, " in use", row->use, node, mesh));
    CHORUS_RETURN_IF_ERROR(
        CheckRowSpec(row->pattern, " of the gradient", row->gradient, node, mesh));
    return CheckRowSpec(row->pattern, " of the optimizer", row->optimizer, node, mesh);
  }
  const ValueRow* row = FindValueRow(table, node.name);
  if (row != nullptr) return CheckRowSpec(row->pattern, "", row->spec, node, mesh);
  if (node.op == GraphOp::kInput) {
    return InvalidArgument(
        fmt::format("input {}[{}] has no row in the strategy's table; add one of pattern "
                    "'{}' with spec [{}]",
                    node.name, JoinDims(node.dims), node.name, JoinDims(node.dims)));
  }
  return OkStatus();
}

// Error if `pattern` matches no node of the graph for which `wanted` holds.
template <typename Wanted>
Status CheckUsed(std::string_view pattern, const Graph& graph, std::string_view what,
                 const Wanted& wanted) {
  std::string names;
  for (const GraphNode& node : graph.nodes()) {
    if (!wanted(node)) continue;
    if (MatchesPattern(pattern, node.name)) return OkStatus();
    names += fmt::format("{}{}", names.empty() ? "" : ", ", node.name);
  }
  return InvalidArgument(fmt::format("row '{}' matches no {}; there are {}", pattern, what, names));
}

}  // namespace

bool MatchesPattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (name.substr(0, star) != pattern.substr(0, star)) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t begin = star; begin <= name.size(); ++begin) {
    if (MatchesPattern(rest, name.substr(begin))) return true;
  }
  return false;
}

const ParameterRow* FindParameterRow(const ShardingTable& table, std::string_view name) {
  for (const ParameterRow& row : table.parameters) {
    if (MatchesPattern(row.pattern, name)) return &row;
  }
  return nullptr;
}

const ValueRow* FindValueRow(const ShardingTable& table, std::string_view name) {
  for (const ValueRow& row : table.values) {
    if (MatchesPattern(row.pattern, name)) return &row;
  }
  return nullptr;
}

Status CheckTable(const ShardingTable& table, const Graph& graph, const Mesh& mesh) {
  for (const GraphNode& node : graph.nodes()) {
    CHORUS_RETURN_IF_ERROR(CheckNode(table, node, mesh));
  }
  const auto is_parameter = [](const GraphNode& node) { return node.op == GraphOp::kParameter; };
  for (const ParameterRow& row : table.parameters) {
    CHORUS_RETURN_IF_ERROR(CheckUsed(row.pattern, graph, "parameter", is_parameter));
  }
  for (const ValueRow& row : table.values) {
    CHORUS_RETURN_IF_ERROR(CheckUsed(row.pattern, graph, "value",
                                     [&](const GraphNode& node) { return !is_parameter(node); }));
  }
  return OkStatus();
}

std::string ToString(const ShardingTable& table) {
  std::string text;
  for (const ParameterRow& row : table.parameters) {
    text += fmt::format("{}: rest {} use {} gradient {} optimizer {} {}\n", row.pattern,
                        row.rest.ToString(), row.use.ToString(), row.gradient.ToString(),
                        row.optimizer.ToString(), row.keep ? "keep" : "free");
  }
  for (const ValueRow& row : table.values) {
    text += fmt::format("{}: {}\n", row.pattern, row.spec.ToString());
  }
  return text;
}

}  // namespace chorus
