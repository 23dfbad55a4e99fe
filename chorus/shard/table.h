// ShardingTable: what a parallel strategy is. Rows say how parameters and values lie; the rest
// follows.
//
// A row names what it is about by a pattern: '*' stands for any run of characters, "blocks.*.win"
// for blocks.0.win and blocks.17.win. The first row that matches counts. Specs in rows have no
// name. Thread safety: value types.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/graph/graph.h"
#include "chorus/mesh/spec.h"

namespace chorus {

// One parameter, or several alike. All specs name the parameter's dimensions and hold no sums.
struct ParameterRow {
  std::string pattern;
  Spec rest;       // between uses and between steps
  Spec use;        // as an operand; brought there just before
  Spec gradient;   // of the gradient once it is computed
  Spec optimizer;  // of both moments, of the gradient and the parameter while it is updated
  // What was brought there for a use: false: freed after each use and brought again for the next;
  // true: kept to the last use of the step.
  bool keep = false;

  friend bool operator==(const ParameterRow&, const ParameterRow&) = default;
};

// One input or computed value, or several alike.
struct ValueRow {
  std::string pattern;
  Spec spec;  // how it lies when it is used

  friend bool operator==(const ValueRow&, const ValueRow&) = default;
};

struct ShardingTable {
  std::vector<ParameterRow> parameters;  // every parameter needs a row
  // Every input needs a row. Other values need none: how they lie is derived from how their
  // operands lie, and an adjoint lies like what it belongs to.
  std::vector<ValueRow> values;

  friend bool operator==(const ShardingTable&, const ShardingTable&) = default;
};

bool MatchesPattern(std::string_view pattern, std::string_view name);

// The first row for `name`, nullptr if there is none.
const ParameterRow* FindParameterRow(const ShardingTable& table, std::string_view name);
const ValueRow* FindValueRow(const ShardingTable& table, std::string_view name);

// Error if a parameter or an input of the graph has no row, a row matches nothing, names other
// dimensions than what it matches, an axis that the mesh lacks, or a sum.
Status CheckTable(const ShardingTable& table, const Graph& graph, const Mesh& mesh);

// One line a row:
//   blocks.*.win: rest [D_X, F] use [D, F] gradient [D_X, F] optimizer [D_X, F] free
//   tokens: [B_X, W]
std::string ToString(const ShardingTable& table);

}  // namespace chorus
