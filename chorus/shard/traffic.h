// Predicted traffic: the bytes each rank sends in a program, by kind of collective and mesh axes.
//
// It is what the runtime counts where bytes are copied, exactly: the same choice of algorithm, the
// same schedule, the same blocks. Unlike LeastBytesSent it knows that small all_reduces trade bytes
// for steps. Thread safety: pure.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "chorus/algorithm/choices.h"
#include "chorus/base/op_kind.h"
#include "chorus/base/units.h"
#include "chorus/program/account.h"
#include "chorus/program/program.h"

namespace chorus {

// The operation of the public API that carries out a collective of a program.
// REQUIRES: IsCollective(kind).
OpKind CollectiveOf(ProgramOpKind kind);

// Bytes that member shape.index sends in one collective, by the algorithm that `choices` (or the
// built-in rule) gives for all blocks together. 0 in a group of one.
Bytes BytesSent(ProgramOpKind kind, const CollectiveShape& shape, const Choices& choices = {});

// What the busiest rank of rank 0's group sends in one collective or shift. Rank 0 has the largest
// blocks, but where blocks change ranks it keeps its own: then it is the most of the group's ranks,
// of 256 of them spread evenly if there are more. REQUIRES: SendsBytes(op.kind); program.Check is
// ok.
Bytes MostSent(const StepProgram& program, const ProgramOp& op, const Mesh& mesh,
               const DimSizes& sizes, const Choices& choices = {});
// The same of all collectives of the program together.
Bytes MostSent(const StepProgram& program, const Mesh& mesh, const DimSizes& sizes,
               const Choices& choices = {});

struct TrafficKey {
  ProgramOpKind kind = ProgramOpKind::kAllReduce;
  std::string axes;  // "X", "XY"

  // A permute is counted as the all_to_all that carries it out.
  static TrafficKey Of(const ProgramOp& op);

  friend bool operator==(const TrafficKey&, const TrafficKey&) = default;
  friend bool operator<(const TrafficKey& a, const TrafficKey& b) {
    return std::tie(a.kind, a.axes) < std::tie(b.kind, b.axes);
  }
};

// What `rank` sends in one run of the program. Every kind and axes that occur have an entry, be it
// 0. REQUIRES: program.Check(mesh, sizes) is ok.
std::map<TrafficKey, Bytes> PredictTraffic(const StepProgram& program, const Mesh& mesh,
                                           const DimSizes& sizes, std::int64_t rank,
                                           const Choices& choices = {});

}  // namespace chorus
