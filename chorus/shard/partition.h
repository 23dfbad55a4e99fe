// The partitioner: graph + table + mesh -> StepProgram.
//
// Every node of the graph is planned in order (compute.h): its operands lie as the table or an
// earlier node says and may be sliced, which is free, but not gathered; what comes out is brought
// to how the table, or the value it is the adjoint of, says it must lie. Parameters are brought to
// their use just before it. Nobody writes a reduction of a gradient: it follows from the index that
// the product sums.
//
//   data parallel   x[B_X, D], dh[B_X, F]  ->  d.w[D, F]{U_X}  ->  all_reduce
//   FSDP            w[D_X, F] -> all_gather -> w[D, F] -> free;  d.w[D, F]{U_X} -> reduce_scatter
//
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/graph/graph.h"
#include "chorus/program/program.h"
#include "chorus/shard/table.h"
#include "chorus/shard/tariff.h"

namespace chorus {

struct PartitionOptions {
  DType dtype = DType::kF32;  // of all floats; indices are i32
  Tariff tariff;
};

// How a value of the graph lies, and why.
struct PlacedValue {
  Spec spec;        // with the value's name
  std::string row;  // the pattern that says so; empty: derived

  friend bool operator==(const PlacedValue&, const PlacedValue&) = default;
};

struct Partition {
  StepProgram program;
  std::vector<PlacedValue> placed;  // every node of the graph, in its order
  // Matrix products that ranks along an axis repeat instead of sharing. A good strategy has none.
  std::vector<std::string> repeated_products;
};

// One step of training: the loss, all gradients, the update of all parameters. Bound values are the
// inputs, and for each parameter w: w, "w.m", "w.v". The output is the loss, whole on every rank.
// `sizes` are those to plan for; the program is right for any.
// Errors: what CheckTable refuses; an operation that cannot run as its operands lie (the message
// shows the cheapest ways out); an optimizer spec that is not the spec at rest split further.
Result<Partition> PartitionStep(const GradientGraph& graph, NodeId loss, const ShardingTable& table,
                                const Mesh& mesh, const DimSizes& sizes,
                                const PartitionOptions& options);

// The forward pass alone: bound values are the inputs and parameters that `outputs` need, which
// come out whole on every rank.
Result<Partition> PartitionForward(const Graph& graph, const std::vector<NodeId>& outputs,
                                   const ShardingTable& table, const Mesh& mesh,
                                   const DimSizes& sizes, const PartitionOptions& options);

}  // namespace chorus
