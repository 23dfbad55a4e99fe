// LaneExecutor: carries out a LoweredPlan whose messages all fit lanes.
//
// Every message is there whole or not at all, and room for it is certain (lane.h), so nothing is
// streamed, no tile is cut and no header is read: the instructions are done one after another, in
// their order, and the only thing ever waited for is a line. All addresses are worked out when the
// executor is made, once for each shape of call.
//
//   one_shot all_reduce of 8 B, rank 0 of 2:
//     0. send    in -> lane to rank 1, phase 0      one line leaves
//     1. reduce  out = in + lane from rank 1        one line arrives
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "chorus/kernel/kernel_set.h"
#include "chorus/kernel/reduce.h"
#include "chorus/run/executor.h"
#include "chorus/run/lowered_plan.h"
#include "chorus/run/scratch_memory.h"
#include "chorus/transport/lane.h"

namespace chorus {

class LaneExecutor final : public Executor {
 public:
  // Messages use the phases from `first_phase` on. `plan`, `binding`, `links` and `scratch` must
  // outlive this; executors that share scratch take turns. REQUIRES: each message fits
  // links->lane_bytes(), and no pair of ranks has more messages than phases are left.
  LaneExecutor(const LoweredPlan* plan, const Binding* binding, Links* links,
               ScratchMemory* scratch, KernelSet kernels, unsigned first_phase);

  // REQUIRES: `binding` is the one it was made for.
  void Start(const Binding& binding, const CallMemory& memory) override;
  Progress Advance() override;
  void Stop() override {}  // nothing is ever half sent
  const Trouble& trouble() const override { return *trouble_; }
  const std::vector<Wait>& Waits() override;

 private:
  // Memory of this rank: a range of the caller's buffers or of scratch.
  struct Part {
    BufferKind buffer = BufferKind::kIn;  // kTmp stands for all scratch
    std::int64_t offset = 0;              // bytes
    std::int64_t bytes = 0;
    DType dtype = DType::kF32;
  };
  struct Message {
    int peer = -1;
    unsigned phase = 0;
    std::int64_t bytes = 0;
  };
  struct Source {
    bool is_message = false;
    bool scaled = false;
    Message message;
    Part part;  // memory; of a message its dtype alone
  };
  struct Action {
    Instruction::Kind kind = Instruction::Kind::kReduce;
    Message message;              // send, recv
    std::vector<Part> parts;      // send, recv: of the message; reduce: the destination alone
    std::vector<Source> sources;  // reduce
    std::int64_t count = 0;       // reduce: elements
    bool finish = false;          // reduce
    bool is_copy = false;         // reduce: of one source, with nothing done to it
  };

  Part PartOf(const Chunk& chunk);
  std::byte* At(const Part& part) const;
  // True once it is done.
  bool Do(const Action& action);
  bool Send(const Action& action);
  bool Recv(const Action& action);
  bool Reduce(const Action& action);
  bool Copy(const Action& action);
  // The payload, or nullptr while it has not come or if it is another call's: see trouble_.
  const std::byte* Find(const Message& message);
  bool HasCome(const Message& message) const;
  // How often to look for what an action waits for.
  int Looks(const Action& action) const;
  // Wakes the receivers of what was posted since the last time.
  void WakeReceivers();

  const LoweredPlan& plan_;
  const Binding& binding_;
  Links& links_;
  ScratchMemory& scratch_memory_;
  const KernelSet kernels_;
  const bool is_one_way_;  // a rank may be ahead of those it sends to
  std::vector<Action> actions_;
  std::int64_t scratch_bytes_ = 0;
  std::vector<std::int64_t> slots_;  // tmp slots, then acc slots: offset in scratch, -1 if unused
  std::vector<ReduceSource> operands_;

  CallMemory memory_;
  std::byte* scratch_ = nullptr;
  std::size_t next_ = 0;         // action
  std::size_t next_source_ = 0;  // of the next action: those before it have come
  std::size_t first_post_ = 0;  // actions from here to `next_` may have posted; nobody is woken yet
  std::optional<Trouble> trouble_;
};

}  // namespace chorus
