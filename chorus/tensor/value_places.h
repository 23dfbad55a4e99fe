// ValuePlaces: which memory each value of a program has while it runs on one rank.
//
// Bound values lie in arrays of the caller. A result gets a piece of the memory when it is defined,
// or goes on in the memory of the value it takes over. Thread safety: none; lives within one run.
#pragma once

#include <vector>

#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/program/program.h"
#include "chorus/tensor/array_memory.h"
#include "chorus/tensor/compute.h"

namespace chorus {

class ValuePlaces {
 public:
  // `shapes` are the local shapes of all values; both must outlive the places.
  ValuePlaces(const StepProgram& program, const std::vector<Shape>& shapes, ArrayMemory& memory)
      : program_(program), shapes_(shapes), memory_(memory), places_(shapes.size()) {}

  // `memory` is the bound value's.
  void Bind(ValueId id, void* memory) { At(id).data = memory; }
  // Gives the result of `op` its memory. Errors: those of ArrayMemory::Allocate.
  Status Define(const ProgramOp& op);
  void Free(ValueId id) { At(id) = Place(); }
  // The memory of an output. REQUIRES: it has memory of its own.
  ArrayMemory::Piece Take(ValueId id) { return std::move(At(id).own); }

  LocalView View(ValueId id) const {
    return {places_[static_cast<std::size_t>(id)].data, shapes_[static_cast<std::size_t>(id)]};
  }

 private:
  struct Place {
    void* data = nullptr;
    ArrayMemory::Piece own;  // empty if the memory is a bound value's
  };
  Place& At(ValueId id) { return places_[static_cast<std::size_t>(id)]; }

  const StepProgram& program_;
  const std::vector<Shape>& shapes_;
  ArrayMemory& memory_;
  std::vector<Place> places_;
};

inline Status ValuePlaces::Define(const ProgramOp& op) {
  if (op.into != kNoValue) {
    // The operand keeps its address for this operation: only the ownership moves.
    At(op.result).data = At(op.into).data;
    At(op.result).own = std::move(At(op.into).own);
    return OkStatus();
  }
  const DType dtype = program_.value(op.result).dtype;
  CHORUS_ASSIGN_OR_RETURN(At(op.result).own,
                          memory_.Allocate(View(op.result).shape.elements() * SizeOf(dtype)));
  At(op.result).data = At(op.result).own.data();
  return OkStatus();
}

}  // namespace chorus
