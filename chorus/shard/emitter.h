// ProgramEmitter: collects the operations of a program and places its memory.
//
// Internal to the room. Values are bound first, then operations are added without a word about
// memory; Finish frees every value after its last use and lets results take over memory that ends
// there. What is sent by a shift stays until what that brings is used: then it has gone. Thread
// safety: none.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "chorus/program/program.h"
#include "chorus/shard/reshard.h"

namespace chorus {

class ProgramEmitter {
 public:
  // Adds a bound value. REQUIRES: no operation was added yet; the name is new.
  ValueId Bind(Spec spec, DType dtype, StorageClass storage);

  // Adds an operation with a result named `spec.name()`, or that name with a number if it is taken.
  ValueId Add(ProgramOp op, const Spec& spec, DType dtype, StorageClass storage);
  // The same for a value that may be chunks of an array.
  ValueId Add(ProgramOp op, ProgramValue value);
  // Adds an operation without result.
  void Add(ProgramOp op);

  // Adds the moves of a reshard of `from` and returns where they end: `from` itself if there are
  // none. The last result is named `name`; with `into` it is written back there.
  ValueId Move(ValueId from, const ReshardPlan& reshard, const std::string& name,
               StorageClass storage, const Provenance& why, ValueId into = kNoValue);

  const ProgramValue& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }

  Result<StepProgram> Finish(std::vector<ValueId> outputs);

 private:
  std::string Unique(const std::string& name);
  // By value: the last operation that needs it.
  std::vector<std::size_t> LastUses() const;

  std::vector<ProgramValue> values_;
  std::vector<ProgramOp> ops_;
  std::set<std::string> names_;
  std::set<ValueId> written_back_;  // in the memory of a bound value
  ValueId bound_ = 0;
};

}  // namespace chorus
