#include "chorus/run/lower.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace chorus {
namespace {

// FNV-1a.
std::uint64_t Hash(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

// A scratch slot and everything that touches it, in the order of the list.
using Slot = std::pair<BufferKind, std::int64_t>;

std::optional<Slot> SlotOf(const Chunk& chunk) {
  if (!IsScratch(chunk.buffer)) return std::nullopt;
  return Slot{chunk.buffer, chunk.slot};
}

std::vector<Chunk> Reads(const Step& step) {
  if (step.verb == Verb::kRecv) return {};
  if (step.verb == Verb::kSend) return step.chunks;
  return {step.chunks.begin() + 1, step.chunks.end()};
}

std::vector<Chunk> Writes(const Step& step) {
  if (step.verb == Verb::kSend) return {};
  if (step.verb == Verb::kRecv) return step.chunks;
  return {step.dst()};
}

// For each step that writes one scratch chunk and nothing else: the step that alone reads it.
std::map<std::size_t, std::size_t> SoleReaders(const std::vector<Step>& steps) {
  struct Value {
    std::size_t writer;
    std::vector<std::size_t> readers;
  };
  std::map<Slot, Value> current;
  std::map<std::size_t, std::size_t> result;
  const auto close = [&](const Value& value) {
    if (value.readers.size() == 1) result.emplace(value.writer, value.readers[0]);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const Chunk& chunk : Reads(steps[i])) {
      const auto slot = SlotOf(chunk);
      if (!slot.has_value()) continue;
      if (const auto it = current.find(*slot); it != current.end()) it->second.readers.push_back(i);
    }
    const std::vector<Chunk> writes = Writes(steps[i]);
    for (const Chunk& chunk : writes) {
      const auto slot = SlotOf(chunk);
      if (!slot.has_value()) continue;
      if (const auto it = current.find(*slot); it != current.end()) {
        close(it->second);
        current.erase(it);
      }
      if (writes.size() == 1) current.emplace(*slot, Value{i, {}});
    }
  }
  for (const auto& [slot, value] : current) close(value);
  return result;
}

// One instruction a step, in the steps' order; index of both is the same.
std::vector<Instruction> OneForOne(const std::vector<Step>& steps) {
  std::vector<Instruction> instructions;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    Instruction instruction;
    if (step.IsMessage()) {
      const bool sends = step.verb == Verb::kSend;
      instruction.kind = sends ? Instruction::Kind::kSend : Instruction::Kind::kRecv;
      instruction.chunks = step.chunks;
      instruction.peer = step.peer;
      instruction.message = step.message;
    } else {
      instruction.kind = Instruction::Kind::kReduce;
      instruction.chunks = {step.dst()};
      instruction.operands.push_back({false, step.a(), -1, -1});
      if (step.verb == Verb::kReduce) instruction.operands.push_back({false, step.b(), -1, -1});
      instruction.finish = step.finish;
    }
    instruction.after = step.after;
    instruction.steps = {static_cast<std::int64_t>(i)};
    instructions.push_back(std::move(instruction));
  }
  return instructions;
}

class Fuser {
 public:
  explicit Fuser(const std::vector<Step>& steps)
      : steps_(steps), instructions_(OneForOne(steps)), into_(steps.size()) {
    for (std::size_t i = 0; i < into_.size(); ++i) into_[i] = i;
  }

  // A step is merged into the later step that alone reads what it writes. Going forward through the
  // list, an instruction is complete with all that went into it before it goes into another.
  std::vector<Instruction> Run() {
    for (const auto& [writer, reader] : SoleReaders(steps_)) {
      if (steps_[reader].verb != Verb::kReduce) continue;
      if (steps_[writer].verb == Verb::kRecv) {
        if (steps_[writer].chunks.size() == 1 && KeepsMessageOrder(writer, reader) &&
            !WaitsForMoreSends(writer, reader)) {
          MergeMessage(writer, reader);
        }
      } else if (MayMergeSum(writer, reader)) {
        MergeSum(writer, reader);
      }
    }
    return Compact();
  }

 private:
  bool MayMergeSum(std::size_t writer, std::size_t reader) const {
    return !steps_[writer].finish && steps_[reader].a() == steps_[writer].dst() &&
           steps_[writer].dst() != steps_[reader].b() &&
           instructions_[reader].operands[0].chunk == steps_[writer].dst() &&
           HoldsAccumulators(steps_[writer].dst().buffer) && MessagesMayMove(writer, reader);
  }

  // A reduction that takes messages must not wait for sends that the taking did not wait for. In
  // one_shot the reduction waits until its own input is sent; did it also take the messages, each
  // rank would wait for the other to take first.
  bool WaitsForMoreSends(std::size_t writer, std::size_t reader) const {
    const std::vector<std::int64_t>& known = instructions_[writer].after;
    const std::vector<std::int64_t>& all = instructions_[reader].after;
    return std::any_of(all.begin(), all.end(), [&](std::int64_t i) {
      return steps_[static_cast<std::size_t>(i)].verb == Verb::kSend &&
             std::find(known.begin(), known.end(), i) == known.end();
    });
  }

  // Moving the taking of a message from `writer` to `reader` must not let a later message of the
  // same peer be taken before it.
  bool KeepsMessageOrder(std::size_t writer, std::size_t reader) const {
    for (std::size_t i = writer + 1; i <= reader; ++i) {
      if (TakesFrom(instructions_[i], steps_[writer].peer) && into_[i] == i) return false;
    }
    return true;
  }
  bool MessagesMayMove(std::size_t writer, std::size_t reader) const {
    const auto& operands = instructions_[writer].operands;
    const bool takes = std::any_of(operands.begin(), operands.end(),
                                   [](const Operand& operand) { return operand.is_message; });
    if (takes && WaitsForMoreSends(writer, reader)) return false;
    for (const Operand& operand : operands) {
      if (!operand.is_message) continue;
      for (std::size_t i = writer + 1; i <= reader; ++i) {
        if (into_[i] == i && TakesFrom(instructions_[i], operand.peer)) return false;
      }
    }
    return true;
  }
  static bool TakesFrom(const Instruction& instruction, std::int64_t peer) {
    if (instruction.kind == Instruction::Kind::kRecv) return instruction.peer == peer;
    return std::any_of(
        instruction.operands.begin(), instruction.operands.end(),
        [&](const Operand& operand) { return operand.is_message && operand.peer == peer; });
  }

  void MergeMessage(std::size_t writer, std::size_t reader) {
    Instruction& to = instructions_[reader];
    const Chunk& chunk = steps_[writer].dst();
    for (Operand& operand : to.operands) {
      Chunk plain = operand.chunk;
      plain.scaled = false;
      if (!operand.is_message && plain == chunk) {
        operand = {true, operand.chunk, steps_[writer].peer, steps_[writer].message};
      }
    }
    Absorb(writer, reader);
  }

  void MergeSum(std::size_t writer, std::size_t reader) {
    Instruction& to = instructions_[reader];
    std::vector<Operand> operands = instructions_[writer].operands;
    operands.insert(operands.end(), to.operands.begin() + 1, to.operands.end());
    to.operands = std::move(operands);
    Absorb(writer, reader);
  }

  void Absorb(std::size_t writer, std::size_t reader) {
    Instruction& to = instructions_[reader];
    Instruction& from = instructions_[writer];
    to.after.insert(to.after.end(), from.after.begin(), from.after.end());
    to.steps.insert(to.steps.end(), from.steps.begin(), from.steps.end());
    into_[writer] = reader;
  }

  std::size_t Final(std::size_t i) const {
    while (into_[i] != i) i = into_[i];
    return i;
  }

  std::vector<Instruction> Compact() {
    std::map<std::size_t, std::int64_t> index;
    std::vector<Instruction> result;
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
      if (into_[i] != i) continue;
      index.emplace(i, static_cast<std::int64_t>(result.size()));
      result.push_back(std::move(instructions_[i]));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::set<std::int64_t> after;
      for (const std::int64_t step : result[i].after) {
        const std::int64_t target = index.at(Final(static_cast<std::size_t>(step)));
        if (target != static_cast<std::int64_t>(i)) after.insert(target);
      }
      result[i].after.assign(after.begin(), after.end());
      std::sort(result[i].steps.begin(), result[i].steps.end());
    }
    return result;
  }

  const std::vector<Step>& steps_;
  std::vector<Instruction> instructions_;
  std::vector<std::size_t> into_;  // where each has gone; itself if it stands
};

// True if every dependency points backwards, so that the list can be done one by one. A step that
// waited for one merged into a later reduction may no longer; such a plan stays unfused.
bool IsInOrder(const std::vector<Instruction>& instructions) {
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto& after = instructions[i].after;
    if (!after.empty() && after.back() >= static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

Result<LoweredPlan> Lower(const Schedule& schedule, std::int64_t group_size, std::int64_t rank,
                          std::int64_t root, const LowerOptions& options) {
  CHORUS_ASSIGN_OR_RETURN(Frame frame, schedule.FrameFor(group_size, rank, root));
  CHORUS_ASSIGN_OR_RETURN(std::vector<Step> steps, schedule.ForRank(group_size, rank, root));
  LoweredPlan plan;
  plan.algorithm = schedule.name();
  plan.op = schedule.op();
  plan.group_size = group_size;
  plan.rank = rank;
  plan.root = root;
  plan.frame = frame;
  plan.schedule_hash = Hash(schedule.ToString());
  if (options.fuse) plan.instructions = Fuser(steps).Run();
  if (!options.fuse || !IsInOrder(plan.instructions)) plan.instructions = OneForOne(steps);
  return plan;
}

}  // namespace chorus
