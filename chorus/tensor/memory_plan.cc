#include "chorus/tensor/memory_plan.h"

#include <algorithm>

#include "chorus/base/dtype.h"

namespace chorus {
namespace {

// Hands out slots, smallest that fits first, of those the one that was freed last.
class Slots {
 public:
  explicit Slots(std::vector<std::int64_t>& bytes) : bytes_(bytes) {}

  int Take(std::int64_t wanted) {
    if (wanted == 0) return MemoryPlan::kNone;
    auto best = free_.end();
    for (auto slot = free_.begin(); slot != free_.end(); ++slot) {
      const std::int64_t has = Of(*slot);
      if (has < wanted || has - wanted > has / 4) continue;
      if (best == free_.end() || has <= Of(*best)) best = slot;
    }
    if (best == free_.end()) {
      bytes_.push_back(wanted);
      return static_cast<int>(bytes_.size()) - 1;
    }
    const int slot = *best;
    free_.erase(best);
    return slot;
  }

  void Give(int slot) {
    if (slot != MemoryPlan::kNone) free_.push_back(slot);
  }

 private:
  std::int64_t Of(int slot) const { return bytes_[static_cast<std::size_t>(slot)]; }

  std::vector<std::int64_t>& bytes_;
  std::vector<int> free_;  // in the order in which they were freed
};

}  // namespace

MemoryPlan PlanMemory(const StepProgram& program, const std::vector<Shape>& shapes,
                      const std::vector<std::int64_t>& workspace_bytes) {
  MemoryPlan plan;
  plan.slot_of.assign(shapes.size(), MemoryPlan::kNone);
  Slots slots(plan.slots);
  std::vector<std::int64_t> held(shapes.size(), 0);  // bytes of each value that has its own
  std::int64_t live = 0;
  for (std::size_t i = 0; i < program.ops().size(); ++i) {
    const ProgramOp& op = program.ops()[i];
    MemoryPlan::Op& uses = plan.ops.emplace_back();
    const auto result = static_cast<std::size_t>(op.result);
    if (op.kind == ProgramOpKind::kFree) {
      const auto freed = static_cast<std::size_t>(op.operands[0]);
      uses.frees = plan.slot_of[freed];
      slots.Give(uses.frees);
      plan.slot_of[freed] = MemoryPlan::kNone;
      live -= held[freed];
      continue;
    }
    if (op.result != kNoValue && op.into != kNoValue) {  // goes on in the memory of the operand
      const auto into = static_cast<std::size_t>(op.into);
      std::swap(plan.slot_of[result], plan.slot_of[into]);
      std::swap(held[result], held[into]);
    } else if (op.result != kNoValue) {
      uses.result_bytes = shapes[result].elements() * SizeOf(program.value(op.result).dtype);
      uses.result = slots.Take(uses.result_bytes);
      plan.slot_of[result] = uses.result;
      held[result] = uses.result_bytes;
      live += uses.result_bytes;
    }
    uses.workspace_bytes = workspace_bytes[i];
    uses.workspace = slots.Take(uses.workspace_bytes);
    slots.Give(uses.workspace);
    if (live + uses.workspace_bytes > plan.peak) {
      plan.peak = live + uses.workspace_bytes;
      plan.peak_op = static_cast<int>(i);
    }
  }
  return plan;
}

}  // namespace chorus
