// Step: one thing one rank does in a schedule, with all formulas worked out.
//
// Schedule::ForRank lists the steps of a rank. The four verbs:
//
//   send    the chunks, in their order, are one message to `peer`; no chunk makes it a signal
//   recv    the message with that number from `peer` is written into the chunks
//   reduce  dst = a op b: the contribution of lower ranks is on the left
//   copy    dst = a
//
// A chunk names memory of the rank that executes the step. What travels or is stored there follows
// from the buffer (the wire type):
//
//   in, out, tmp   elements: a raw contribution, or a finished result
//   acc            accumulators: partial sums, f32 where elements are f16 or bf16
//
// so a sum in progress never leaves acc, a message between acc chunks moves accumulators, and
// everything else moves elements. A chunk has as many elements as its block. Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chorus {

enum class BufferKind : std::uint8_t {
  kIn,   // the caller's input: read only
  kOut,  // the caller's output
  kTmp,  // scratch slots for elements
  kAcc,  // scratch slots for accumulators
};

enum class Verb : std::uint8_t { kSend, kRecv, kReduce, kCopy };

std::string_view Name(BufferKind buffer);  // "in", "out", "tmp", "acc"
std::string_view Name(Verb verb);          // "send", "recv", "reduce", "copy"

constexpr bool IsScratch(BufferKind buffer) {
  return buffer == BufferKind::kTmp || buffer == BufferKind::kAcc;
}
constexpr bool HoldsAccumulators(BufferKind buffer) { return buffer == BufferKind::kAcc; }

struct Chunk {
  BufferKind buffer = BufferKind::kIn;
  std::int64_t slot = 0;   // of tmp and acc; 0 for in and out
  std::int64_t block = 0;  // which logical block lies there; its size is bound by the caller
  bool scaled = false;     // operand of reduce or copy: multiplied by the caller's pre-scale first

  // "in[2]", "acc[1 : 2]", "scaled in[2]".
  std::string ToString() const;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

struct Step {
  Verb verb = Verb::kCopy;
  std::string label;  // "v[3]"; unique on its rank
  // send, recv: the chunks of the message. reduce: dst, a, b. copy: dst, a.
  std::vector<Chunk> chunks;
  std::int64_t peer = -1;     // send, recv: the rank at the other end
  std::int64_t message = -1;  // send, recv: the number that, with both ranks, matches the two
  // reduce, copy: the average is taken and the value rounded to an element before it is stored.
  bool finish = false;
  // Indices, ascending, of earlier steps of this rank that must have ended before this one begins.
  std::vector<std::int64_t> after;

  bool IsMessage() const { return verb == Verb::kSend || verb == Verb::kRecv; }
  const Chunk& dst() const { return chunks[0]; }  // REQUIRES: verb is reduce or copy
  const Chunk& a() const { return chunks[1]; }    // REQUIRES: verb is reduce or copy
  const Chunk& b() const { return chunks[2]; }    // REQUIRES: verb is reduce

  // "v[3]: recv tmp[0 : 2] from 1 as 3"; dependencies are left out.
  std::string ToString() const;
  friend bool operator==(const Step&, const Step&) = default;
};

}  // namespace chorus
