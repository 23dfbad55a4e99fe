// OperationRecord: what a group's flight recorder keeps of one operation of one rank.
//
// Part of the public API, so it compiles as C++17. Thread safety: a value type.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace chorus {

struct OperationRecord {
  enum class State : std::uint8_t {
    kPosted,    // called; waits for the operations before it
    kStarted,   // under way, as far as this rank can tell
    kFinished,  // well
    kFailed,    // given up, or the group ended
    kRefused,   // the call was wrong by itself
  };

  std::uint64_t number = 0;       // the k of #k
  std::string call;               // "all_reduce f32 x 10 sum"
  std::string algorithm;          // "direct, mapped or stages": and what moves the bytes
  std::uint64_t fingerprint = 0;  // calls that ranks may make together have the same
  State state = State::kPosted;
  // std::chrono::steady_clock since its epoch. Zero: not looked at, since that would have cost a
  // small call too much; of those every 16th has times, and whatever had to wait for long.
  std::chrono::nanoseconds started{0};
  std::chrono::nanoseconds ended{0};
};

}  // namespace chorus
