// ValuePlaces: which memory each value of a program has while it runs on one rank.
//
// Bound values lie in arrays of the caller. A result lies in the slot that the plan gives it, or
// goes on in the memory of the value it takes over. All slots are there from the beginning; what is
// counted is what is used of them. Thread safety: none; lives within one run.
#pragma once

#include <utility>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/program/program.h"
#include "chorus/tensor/array_memory.h"
#include "chorus/tensor/compute.h"
#include "chorus/tensor/memory_plan.h"

namespace chorus {

class ValuePlaces {
 public:
  // `shapes` are the local shapes of all values; they and the plan must outlive the places. `slots`
  // are those of the plan, reserved.
  ValuePlaces(const MemoryPlan& plan, const std::vector<Shape>& shapes,
              std::vector<ArrayMemory::Piece> slots)
      : plan_(plan), shapes_(shapes), slots_(std::move(slots)), data_(shapes.size(), nullptr) {}

  // `memory` is the bound value's.
  void Bind(ValueId id, void* memory) { data_[static_cast<std::size_t>(id)] = memory; }
  // Gives the result of operation `i`, `op`, its memory.
  void Define(std::size_t i, const ProgramOp& op) {
    data_[static_cast<std::size_t>(op.result)] =
        op.into != kNoValue ? data_[static_cast<std::size_t>(op.into)]
                            : Use(plan_.ops[i].result, plan_.ops[i].result_bytes);
  }
  // The workspace of operation `i`, until it ends.
  void* BeginWorkspace(std::size_t i) {
    return Use(plan_.ops[i].workspace, plan_.ops[i].workspace_bytes);
  }
  void EndWorkspace(std::size_t i) { Use(plan_.ops[i].workspace, 0); }
  // What operation `i` frees.
  void Free(std::size_t i) { Use(plan_.ops[i].frees, 0); }
  // The memory of an output. REQUIRES: it has memory of its own.
  ArrayMemory::Piece Take(ValueId id) {
    const int slot = plan_.slot_of[static_cast<std::size_t>(id)];
    return slot == MemoryPlan::kNone ? ArrayMemory::Piece()
                                     : std::move(slots_[static_cast<std::size_t>(slot)]);
  }

  LocalView View(ValueId id) const {
    return {data_[static_cast<std::size_t>(id)], shapes_[static_cast<std::size_t>(id)]};
  }

 private:
  void* Use(int slot, std::int64_t bytes) {
    if (slot == MemoryPlan::kNone) return nullptr;
    ArrayMemory::Piece& piece = slots_[static_cast<std::size_t>(slot)];
    piece.Use(bytes);
    return piece.data();
  }

  const MemoryPlan& plan_;
  const std::vector<Shape>& shapes_;
  std::vector<ArrayMemory::Piece> slots_;
  std::vector<void*> data_;  // by value
};

}  // namespace chorus
