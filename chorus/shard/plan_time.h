// The time of a program on a machine: what its products take by the roofline, what its collectives
// take by the formulas of the machine.
//
// Of rank 0, whose blocks are the largest. Every collective is charged what the fastest algorithm
// takes that has a formula there, by the model `sum` (formula.h); a permute or a shift, one message
// a rank.
// Slices, packing and frees are not charged: they move memory of one device, once.
// Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/base/units.h"
#include "chorus/program/program.h"
#include "chorus/shard/placement.h"
#include "chorus/shard/tariff.h"
#include "chorus/shard/timeline.h"

namespace chorus {

struct PlanTime {
  std::vector<OpTime> ops;  // one an operation of the program
  Seconds compute;
  Seconds moves;  // collectives, and of shifts what the links take that take longest
  Timeline line;  // by what waits for what: shifts go on beside what is computed

  Seconds OneAfterAnother() const { return compute + moves; }
  Seconds Elapsed() const { return line.total; }
  // If all that moves can hide behind all that is computed.
  Seconds Overlapped() const { return std::max(compute, moves); }
};

// Errors: no figures of the device's products or memory in the catalogue; axes that are no box on a
// torus. REQUIRES: the program's mesh is the placement's, program.Check is ok.
Result<PlanTime> TimeOf(const StepProgram& program, const MeshPlacement& placement,
                        const DimSizes& sizes);

// The tariff of planning for that machine: what a device computes while it sends a byte over the
// slowest of the axes, and what it could send while a message over that axis starts; the default on
// one rank. Errors: as TimeOf.
Result<Tariff> TariffOn(const MeshPlacement& placement);

}  // namespace chorus
