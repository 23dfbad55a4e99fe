// LoweredPlan: what the executor of one rank really does for a schedule. Start here.
//
// A schedule says recv, reduce, reduce, copy; a plan says in one instruction: add up these three
// channels and this memory in registers, store once. It is made from a schedule by Lower, depends
// on neither sizes nor dtype, and is a value: printed, compared, validated (validate.h), cached.
//
//   direct reduce_scatter, N = 3, rank 1:
//     schedule  s[2]: send in[2] to 2   s[0]: send in[0] to 0
//               v[0]: recv tmp[0 : 1] from 0    v[2]: recv tmp[1 : 1] from 2
//               a[1]: reduce acc[0 : 1] = tmp[0 : 1] op in[1]
//               a[2]: reduce out[1] = acc[0 : 1] op tmp[1 : 1] finish
//     plan      0: send in[2] to 2 as 0
//               1: send in[0] to 0 as 0
//               2: reduce out[1] = message 0 from 0, in[1], message 0 from 2; finish
//
// Neither tmp nor acc is left: what arrives is added where it lies in the channel.
// Thread safety: value types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/schedule/schedule.h"

namespace chorus {

// A source of a reduction: memory of this rank, or the payload of a message while it arrives.
struct Operand {
  bool is_message = false;
  Chunk chunk;                // the memory; of a message, the chunk it would have been received to
  std::int64_t peer = -1;     // of a message
  std::int64_t message = -1;  // of a message

  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Instruction {
  enum class Kind : std::uint8_t {
    kSend,    // `chunks` to `peer` as one message
    kRecv,    // one message of `peer` into `chunks`
    kReduce,  // dst() = operands[0] op operands[1] op ..., left to right; one operand is a copy
  };

  Kind kind = Kind::kReduce;
  std::vector<Chunk> chunks;        // send, recv: of the message; reduce: the destination alone
  std::vector<Operand> operands;    // reduce
  std::int64_t peer = -1;           // send, recv
  std::int64_t message = -1;        // send, recv
  bool finish = false;              // reduce: average and round before storing
  std::vector<std::int64_t> after;  // indices, ascending, of instructions that must have ended
  std::vector<std::int64_t> steps;  // indices, ascending, of the steps of the schedule it does

  const Chunk& dst() const { return chunks[0]; }  // REQUIRES: kReduce
  std::string ToString() const;
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct LoweredPlan {
  std::string algorithm;  // name of the schedule
  OpKind op = OpKind::kBarrier;
  std::int64_t group_size = 1;
  std::int64_t rank = 0;
  std::int64_t root = 0;
  Frame frame;
  std::uint64_t schedule_hash = 0;  // of the schedule's text: ranks with different ones must differ
  // One tile's, in an order in which they could be done one by one. Messages of each ordered pair
  // of ranks are in the schedule's order.
  std::vector<Instruction> instructions;

  // One line an instruction.
  std::string ToString() const;
  friend bool operator==(const LoweredPlan&, const LoweredPlan&) = default;
};

}  // namespace chorus
