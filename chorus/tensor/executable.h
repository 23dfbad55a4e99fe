// Executable: a StepProgram made ready for one rank, and run step after step.
//
// Loading works out everything that follows from the program, the mesh and the sizes; a step then
// only calls kernels and collectives, in the order of the program. A shift is begun in its turn and
// goes on beside what follows: its message moves while the rank computes or between two
// operations, and it is waited for by the first that uses what it brings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/collective/group.h"
#include "chorus/kernel/block_copy.h"
#include "chorus/program/account.h"
#include "chorus/program/program.h"
#include "chorus/shard/traffic.h"
#include "chorus/tensor/chunk_moves.h"
#include "chorus/tensor/compute.h"
#include "chorus/tensor/memory_plan.h"
#include "chorus/tensor/runtime.h"
#include "chorus/tensor/sharded_array.h"
#include "chorus/tensor/shifts_under_way.h"
#include "chorus/tensor/value_places.h"

namespace chorus {

// Arrays of one rank by the name of their value. Programs that share a store share parameters.
using ArrayStore = std::map<std::string, ShardedArray>;

// What one run did on this rank, counted where it was done.
struct RunCounters {
  std::map<TrafficKey, OpTraffic> traffic;  // what it sent; an entry for each kind and axes
  Flops products;                           // operations of matrix products
  Bytes peak;                               // the most memory of arrays held at any time
  // How long each operation of the program took, waiting for other ranks included; of a shift until
  // it was seen to be done, whatever went on meanwhile.
  std::vector<Seconds> op_times;

  // Equal work; times differ.
  friend bool operator==(const RunCounters& a, const RunCounters& b) {
    return a.traffic == b.traffic && a.products == b.products && a.peak == b.peak;
  }
};

// Lifetime: within its runtime's. Thread safety: as Runtime.
class Executable {
 public:
  // A collective call: makes the groups that the program's collectives need. All ranks load it or
  // none (agreement.h). Errors: sizes or axes missing; an operation without a kernel for its dtype
  // and layout; that other ranks load another program or other sizes.
  static Result<Executable> Load(Runtime& runtime, StepProgram program, DimSizes sizes);
  // What Load does without the other ranks, with the same errors of this rank. The first run agrees
  // with them and makes the groups.
  static Result<Executable> Prepare(Runtime& runtime, StepProgram program, DimSizes sizes);

  // A collective call. Runs the program once on the arrays of `store`: every bound value must be
  // there, with the spec, dtype and local shape that the program says; outputs are put there, in
  // place of arrays of their names. `settings` are for AdamW. Counters are of this run alone.
  // Errors before anything is done, of all ranks at once, bound values being as they were and
  // earlier outputs gone: kInvalidArgument naming the value that is missing or different, or an
  // index in a bound value that is outside its table; kResourceExhausted if there is no memory for
  // the run; kInvalidArgument if other ranks run another program. Errors after that: those of
  // collectives; an index in a value that was made, which ends the groups of the runtime
  // (kAborted elsewhere). Bound values are then undefined.
  Status Run(ArrayStore& store, const AdamWSettings& settings);
  // The same on arrays given in the order of the program's bound values, whatever their names; the
  // outputs that are not bound, in order. `question` is what the ranks agree on that they do.
  // REQUIRES: the program changes no bound value.
  Result<std::vector<ShardedArray>> RunOn(const std::vector<const ShardedArray*>& arrays,
                                          const std::string& question);

  const RunCounters& counters() const { return counters_; }  // of the last run
  const StepProgram& program() const { return program_; }
  Runtime& runtime() const { return *runtime_; }
  const DimSizes& sizes() const { return sizes_; }
  // All that a run follows from: mesh, sizes, program. Ranks that run it have the same text.
  std::string Text() const;
  std::uint64_t hash() const { return hash_; }  // of the text; not 0

 private:
  // One operation worked out. Which members are used depends on the kind.
  struct Instruction {
    PreparedCompute compute;     // kCompute
    BlockShape slice;            // kSlice, inner in bytes
    ShiftShape shift;            // kShift
    JoinShape join;              // kJoin
    CollectiveShape collective;  // collectives
    Group* group = nullptr;      // collectives, shifts; null for a group of this rank alone
  };

  Executable(Runtime& runtime, StepProgram program, DimSizes sizes)
      : runtime_(&runtime), program_(std::move(program)), sizes_(std::move(sizes)) {}

  // The data of the bound values, and the slots of the memory plan.
  struct Ready {
    std::vector<void*> bound;
    std::vector<ArrayMemory::Piece> slots;
  };

  Status CheckOutputs() const;
  Status PrepareOperation(const ProgramOp& op);
  Status MakeGroups();
  Status CheckBound(ValueId id, const ShardedArray& array) const;
  Status CheckIndices(const std::vector<void*>& bound) const;
  // All that a run needs on this rank, before others are asked.
  Result<Ready> MakeReady(const std::vector<const ShardedArray*>& arrays) const;
  Result<std::vector<ShardedArray>> RunReady(Ready ready, const AdamWSettings& settings);
  Status RunOperations(ValuePlaces& places, const AdamWSettings& settings);
  std::string Title() const;
  Status Step(std::size_t i, const AdamWSettings& settings, ValuePlaces& places,
              ShiftsUnderWay& shifts);
  Status BeginShift(std::size_t i, ValuePlaces& places, ShiftsUnderWay& shifts);
  void Slice(const ProgramOp& op, const Instruction& instruction, ValuePlaces& places) const;
  void Update(const ProgramOp& op, const AdamWSettings& settings, const ValuePlaces& places) const;
  std::map<TrafficKey, OpTraffic> TrafficSoFar() const;

  Runtime* runtime_;
  StepProgram program_;
  DimSizes sizes_;
  std::vector<Shape> shapes_;                     // local, one a value
  std::vector<Instruction> instructions_;         // one an operation
  std::map<TrafficKey, Group*> traffic_sources_;  // null: this rank alone
  MemoryPlan memory_plan_;
  std::uint64_t hash_ = 0;
  bool has_groups_ = false;
  RunCounters counters_;
};

}  // namespace chorus
