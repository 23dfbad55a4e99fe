// Runtime: one rank of a mesh, ready to run programs. Start here.
//
//   auto runtime = Runtime::Create(*Join(), *Mesh::Parse("X=2,Y=2"), {});
//   auto step = Executable::Load(**runtime, program, sizes);
//   ArrayStore arrays = ...;                       // every bound value, as this rank holds it
//   Status status = step->Run(arrays, settings);   // the same call on every rank
//
// Single operations on arrays, each planned by itself: operations.h.
// A runtime owns the rank's memory and its groups: one for each run of mesh axes that a collective
// of a program names, made when a program is loaded.
// Thread safety: none; all calls on a runtime and what was loaded on it come from one thread at a
// time. Ranks may be threads of one process, each with its own runtime.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "chorus/base/op_kind.h"
#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/collective/group.h"
#include "chorus/kernel/kernel_set.h"
#include "chorus/mesh/mesh.h"
#include "chorus/probe/memory.h"
#include "chorus/shard/tariff.h"
#include "chorus/tensor/array_memory.h"
#include "chorus/tensor/program_trace.h"

namespace chorus {

class Executable;

// What planning weighs bytes against operations with on the cores of one host: about 100 GFLOP/s
// against 7 GB/s from core to core, and 2 us to begin a collective.
inline constexpr Tariff kHostTariff{/*flops_per_byte=*/15, /*latency_bytes=*/15000};

struct RuntimeOptions {
  KernelSet kernels = KernelSet::kFast;
  // Memory reads as NaN before it is written: shows a value that is used before it is defined.
  bool poison_memory = false;
  Tariff tariff = kHostTariff;  // of operations.h
  // Arrays of 64 KiB and more lie in memory that the other ranks can reach, as far as there is any:
  // collectives then move each byte once.
  bool reachable_memory = true;
  // Arrays of this rank hold at most this; what would need more is refused, on all ranks.
  Bytes memory = HostMemory();
};

class Runtime {
 public:
  // Rank r of `world` is rank r of `mesh`.
  // Errors: kInvalidArgument if their sizes differ; both numbers are shown.
  static Result<std::unique_ptr<Runtime>> Create(Group world, Mesh mesh,
                                                 const RuntimeOptions& options);

  const Mesh& mesh() const { return mesh_; }
  int rank() const { return world_.rank(); }
  Group& world() { return world_; }
  ArrayMemory& memory() { return memory_; }
  KernelSet kernels() const { return options_.kernels; }
  const Tariff& tariff() const { return options_.tariff; }
  std::uint64_t mesh_hash() const { return mesh_hash_; }
  // Null if nothing is traced.
  ProgramTrace* trace() const { return trace_.get(); }

  // The group of the ranks that differ from this one along `axes`, member k being
  // mesh().Group(rank(), axes)[k]. A collective call the first time it is made for `axes`: all
  // ranks make it in the same order. The pointer is valid as long as the runtime.
  Result<Group*> GroupOver(const AxisNames& axes);

  // Gives up all groups of the runtime, so that no rank waits for this one: every collective of
  // theirs, under way or later, fails with kAborted on all ranks.
  void Abort(const std::string& reason);

  // Where operations.h keeps the program of a question: null before it was run once.
  std::shared_ptr<Executable> KeptProgram(const std::string& key) const {
    const auto found = programs_.find(key);
    return found == programs_.end() ? nullptr : found->second;
  }
  void Keep(const std::string& key, std::shared_ptr<Executable> program) {
    programs_.emplace(key, std::move(program));
  }
  std::size_t kept_programs() const { return programs_.size(); }

 private:
  Runtime(Group world, Mesh mesh, const RuntimeOptions& options);

  Group world_;
  const Mesh mesh_;
  const std::uint64_t mesh_hash_;
  const RuntimeOptions options_;
  const std::unique_ptr<ProgramTrace> trace_;
  ArrayMemory memory_;
  std::map<AxisNames, std::unique_ptr<Group>> groups_;
  std::map<std::string, std::shared_ptr<Executable>> programs_;
};

}  // namespace chorus
