// Locations: the memory of one rank in one tile, numbered, and what each step does to it.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/schedule/expansion.h"

namespace chorus {

// in[b] is b; out[b] is b too in place, else behind; then the slots of tmp and acc. A slot is one
// location, whichever block lies in it.
class Locations {
 public:
  Locations(const Frame& frame, bool in_place) : frame_(frame), in_place_(in_place) {}

  std::int64_t count() const { return 2 * frame_.blocks + frame_.tmp_slots + frame_.acc_slots; }
  std::int64_t Of(const Chunk& chunk) const {
    switch (chunk.buffer) {
      case BufferKind::kIn:
        return chunk.block;
      case BufferKind::kOut:
        return (in_place_ ? 0 : frame_.blocks) + chunk.block;
      case BufferKind::kTmp:
        return 2 * frame_.blocks + chunk.slot;
      case BufferKind::kAcc:
        break;
    }
    return 2 * frame_.blocks + frame_.tmp_slots + chunk.slot;
  }

  // A copy of a chunk onto itself, as in place of out[b] = in[b], touches nothing.
  bool IsIdle(const Step& step) const {
    return step.verb == Verb::kCopy && !step.finish && !step.a().scaled &&
           Of(step.dst()) == Of(step.a());
  }
  // The chunks that a step reads and those that it writes.
  static std::vector<Chunk> Reads(const Step& step) {
    if (step.verb == Verb::kSend) return step.chunks;
    if (step.verb == Verb::kRecv) return {};
    return {step.chunks.begin() + 1, step.chunks.end()};
  }
  static std::vector<Chunk> Writes(const Step& step) {
    if (step.verb == Verb::kSend) return {};
    if (step.verb == Verb::kRecv) return step.chunks;
    return {step.dst()};
  }

 private:
  Frame frame_;
  bool in_place_;
};

}  // namespace chorus
