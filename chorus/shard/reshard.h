// ReshardPlan: from one spec of an array to another, by the cheapest steps. There are six:
//
//   slice           A[I]        -> A[I_X]      keep the own block; free
//   all_gather      A[I_X]      -> A[I]        minor axes only: the others would leave stripes
//   reduce_scatter  A[I]{U_X}   -> A[I_X]
//   all_reduce      A[I]{U_X}   -> A[I]
//   all_to_all      A[I_X, J]   -> A[I, J_X]   minor axes become minor axes
//   permute         A[I_XY]     -> A[I_YX]     blocks change ranks: also A[I_X] -> A[I_Y] where X
//                                              and Y are as long
//   A[I_X, J]{U_Y} -> A[I, J_Y]   e.g.   reduce_scatter J_Y, then all_gather I_X: each step works
//                                        on what the step before has made small
//   A[I_XY]        -> A[I_Y]             permute to A[I_YX], then all_gather I_X
//
//   A[I, J]{U_X}   -> A[I, J_X]          with Y idle: slice I_Y, reduce_scatter J_X, all_gather I_Y
//
// The steps are found as a shortest path between specs (reshard_search.h). Axes that keep their
// place stay, but an axis along which all ranks hold the same may be borrowed: a slice over it is
// free, and what is done before it is gathered again is done on less. On X=4,Y=4 the last line
// sends 3/4 V/4 + 3/4 V/4 of V bytes instead of 3/4 V. Of ways that cost the same the one with
// fewest permutes is taken, then the one with fewest steps. Thread safety: pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "chorus/mesh/spec.h"
#include "chorus/program/program.h"
#include "chorus/shard/tariff.h"

namespace chorus {

// One step of a reshard.
struct Move {
  ProgramOpKind kind = ProgramOpKind::kSlice;  // slice or a collective
  std::string dim;                             // empty for all_reduce and permute
  AxisNames axes;                              // major to minor
  Spec result;                                 // how the array lies afterwards
  std::string to;                              // all_to_all: the dimension they split then

  friend bool operator==(const Move&, const Move&) = default;
};

// "all_gather X on I": for people.
std::string ToString(const Move& move);

struct ReshardPlan {
  std::vector<Move> moves;  // none if nothing changes
  Cost cost;                // of rank 0, which holds the largest blocks

  friend bool operator==(const ReshardPlan&, const ReshardPlan&) = default;
};

// What operand, result and workspace of a move of an array that lies as `before` take on the rank
// of rank 0's group that needs most, as WorkspaceBytes and MostMemory (account.h) count it; an
// all_reduce works in place.
Bytes MemoryOfMove(const Spec& before, const Move& move, DType dtype, const Mesh& mesh,
                   const DimSizes& sizes);
// The most that one of the moves takes: what a move has used up is freed. 0 without moves.
Bytes MemoryOfMoves(const Spec& before, const std::vector<Move>& moves, DType dtype,
                    const Mesh& mesh, const DimSizes& sizes);

// What becomes of axes that neither spec names. Training strategies leave them: their collectives
// are those that the strategy is known by.
enum class IdleAxes : std::uint8_t { kLeave, kBorrow };

// With `most_memory` only ways whose peak is at most that are looked at.
// Errors: other dimensions, an axis that is not on the mesh, a dimension without size, or a target
// that is a sum over an axis over which the array is whole (nothing would say how to split it); no
// way within `most_memory`, with the least that would do; kUnsupported for more than eight axes
// that move or more than thirty dimensions.
Result<ReshardPlan> PlanReshard(const Spec& from, const Spec& to, DType dtype, const Mesh& mesh,
                                const DimSizes& sizes, const Tariff& tariff,
                                std::optional<Bytes> most_memory = std::nullopt,
                                IdleAxes idle = IdleAxes::kBorrow);

class ReshardSearch;

// PlanReshard for one dtype, mesh, sizes and tariff, which must outlive it; no pair of specs is
// planned twice. Thread safety: none.
class ReshardPlanner {
 public:
  ReshardPlanner(DType dtype, const Mesh& mesh, const DimSizes& sizes, const Tariff& tariff);
  ~ReshardPlanner();

  // Null if every way costs more than `most_price`, which is found out sooner than a plan. The
  // result is valid as long as the planner.
  const Result<ReshardPlan>* Plan(const Spec& from, const Spec& to, double most_price,
                                  IdleAxes idle);

  DType dtype() const { return dtype_; }
  const Mesh& mesh() const { return mesh_; }
  const DimSizes& sizes() const { return sizes_; }
  const Tariff& tariff() const { return tariff_; }
  // The least share of ceil(s / n) that s / n is, of all sizes s and all parts n that axes of the
  // mesh make together: 1 if every layout has equal blocks.
  double evenness() const { return evenness_; }

 private:
  DType dtype_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const Tariff& tariff_;
  double evenness_ = 1;
  struct Known {
    std::optional<Result<ReshardPlan>> plan;  // absent: dearer than this
    double dearer_than = -1;
  };
  std::unique_ptr<ReshardSearch> search_;
  std::unordered_map<std::string, Known> known_;  // by both specs and what idle axes do
};

}  // namespace chorus
