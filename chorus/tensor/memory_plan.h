// MemoryPlan: which piece of memory each value of a program lies in, known before it runs.
//
//   op                     slot of its result      live slots after it
//   g = all_gather(a)      0: 4096 bytes           0
//   c = contract(g, b)     1: 1024 bytes           0 1
//   free g                                         1
//   d = gelu(c)            0 again? only if it would leave less than a quarter of it idle, else 2
//
// All slots of a run are taken at once, before anything is sent, so that a run that has begun does
// not end for want of memory on one rank while others wait for it. Thread safety: a value.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/program/program.h"

namespace chorus {

struct MemoryPlan {
  static constexpr int kNone = -1;  // bound values, and what has 0 bytes

  // What an operation takes and gives back, by slot. The workspace is its own while it runs.
  struct Op {
    int result = kNone;  // newly taken for its result
    std::int64_t result_bytes = 0;
    int workspace = kNone;
    std::int64_t workspace_bytes = 0;
    int frees = kNone;
  };

  std::vector<std::int64_t> slots;  // bytes of each
  std::vector<Op> ops;              // one an operation
  std::vector<int> slot_of;         // one a value
  std::int64_t peak = 0;            // the most bytes used at a time, of what is not bound
  int peak_op = -1;                 // when that is; -1: nothing is used
};

// `shapes` are the local ones of all values, `workspace_bytes` those of all operations.
MemoryPlan PlanMemory(const StepProgram& program, const std::vector<Shape>& shapes,
                      const std::vector<std::int64_t>& workspace_bytes);

}  // namespace chorus
