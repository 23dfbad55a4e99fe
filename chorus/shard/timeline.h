// Timeline: when each operation of a program begins and ends on a rank, by what it waits for.
//
// A rank computes, and takes part in collectives, in the order of the program. A shift goes on by
// itself from where it stands in that order: over links of its own, after those before it in the
// same direction, and it is waited for by who uses what it brings.
//
//   compute   c.0 = contract(A, B) ......  c.1 = contract(A, b.1, c.0) ...
//   link      b.1 = shift(B) ...  b.2 = shift(b.1) ..
//
// All ranks are taken to do the same at the same time. Thread safety: pure.
#pragma once

#include <string>
#include <vector>

#include "chorus/base/units.h"
#include "chorus/program/program.h"
#include "chorus/shard/tariff.h"

namespace chorus {

struct OpTime {
  Seconds time;      // of a shift, for which it takes up the links
  std::string why;   // of a collective the algorithm, of a product what bounds it
  Seconds latency;   // of a shift: until its first byte arrives
  Seconds starting;  // of a shift: what the rank itself spends on it
};

struct Timeline {
  struct Span {
    Seconds begin;
    Seconds end;
  };
  std::vector<Span> ops;  // one an operation of the program
  Seconds total;
};

// `ops`: one an operation. `one_port`: shifts in both directions leave a rank by the same port.
Timeline TimelineOf(const StepProgram& program, const std::vector<OpTime>& ops, bool one_port);

// What operations take where a byte takes a second and tariff.flops_per_byte FLOP do.
std::vector<OpTime> TimesBy(const Tariff& tariff, const StepProgram& program, const Mesh& mesh,
                            const DimSizes& sizes);

}  // namespace chorus
