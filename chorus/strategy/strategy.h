// Strategies: the named ways to share out a training step, as tables of specs. Start here.
//
// X is the axis the batch is split over, Y the axis weights are split over. For a block
// x + gelu(x . win) . wout of the MLP language model:
//
//   name         x         win at rest  wout at rest  what moves in a step
//   data         [B_X, D]  [D, F]       [F, D]        all_reduce of gradients
//   zero1        [B_X, D]  [D, F]       [F, D]        reduce_scatter of gradients, all_gather of
//                                                     updated parameters; moments split over X
//   fsdp         [B_X, D]  [D_X, F]     [F_X, D]      all_gather of parameters twice,
//                                                     reduce_scatter of gradients
//   tensor       [B, D]    [D, F_Y]     [F_Y, D]      all_reduce of x after a block, and of d.x
//   data+tensor  [B_X, D]  [D, F_Y]     [F_Y, D]      both
//   fsdp+tensor  [B_X, D]  [D_X, F_Y]   [F_YX, D]     both
//
// No matrix product is done twice: with tensor, the embedding is split over D and the head over the
// D that its product sums. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/graph/graph.h"
#include "chorus/mesh/mesh.h"
#include "chorus/shard/table.h"

namespace chorus {

// What a strategy does with parameters along the data axis.
enum class ParameterSharding { kNone, kOptimizer, kEverything };

// Rows for every input, parameter and residual value of the MLP language model. An empty axis is
// left out. REQUIRES: axis names differ.
ShardingTable MlpTable(const std::string& data_axis, ParameterSharding sharding,
                       const std::string& tensor_axis);

// "data", "zero1", ...: all names that MakeStrategy knows.
std::vector<std::string> StrategyNames();

// The table of a named strategy on a mesh: one of one kind takes the only axis of the mesh, "a+b"
// takes the first axis for the batch and the second for the weights.
// Errors: an unknown name (the known ones are listed), another number of axes.
Result<ShardingTable> MakeStrategy(std::string_view name, const Mesh& mesh);

// One row from text, as configuration files have it; empty columns follow from those before:
// use and optimizer from rest, gradient from optimizer. Errors point at the character.
struct ParameterRowText {
  std::string pattern;    // "blocks.*.win"
  std::string rest;       // "[D_X, F]"
  std::string use;        // "[D, F]"
  std::string gradient;   // "[D_X, F]"
  std::string optimizer;  // "[D_X, F]"
  std::string policy;     // "free" or "keep"; empty: free
};
Result<ParameterRow> ParseParameterRow(const ParameterRowText& text);
Result<ValueRow> ParseValueRow(const std::string& pattern, const std::string& spec);

// The inverse of ToString(table), columns left out as above. Errors name the line.
Result<ShardingTable> ParseTable(std::string_view text);

}  // namespace chorus
