// AnswerWithin: an answer that is given up when it takes too long or too much, or when nobody waits
// for it.
//
// What computes cannot be interrupted from outside, so it runs in a child of this process, whose
// end takes all that it began with it; the child ends with the thread that asks, whatever ends
// that. Thread safety: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace chorus::studio {

struct BoundedReply {
  int status = 0;
  std::string body;
};

enum class BoundedEnd : std::uint8_t {
  kAnswered,
  kTooLong,
  kGivenUp,   // the server ends, or who asked is gone
  kFailed,    // there is no child: it could not be made, as without memory
  kLost,      // the child ended before it had answered
  kTooLarge,  // it wanted more memory than it may have
};

struct BoundedResult {
  BoundedEnd end = BoundedEnd::kFailed;
  BoundedReply reply = {};  // of kAnswered
  int signal = 0;           // of kLost: which ended the child, 0 if it ended by itself
};

struct BoundedLimits {
  std::chrono::milliseconds time;
  std::int64_t memory = 0;  // bytes of address space beyond those of this process; 0: no limit
};

// What ends the wait before its time: descriptors, -1 for none.
struct BoundedWatch {
  int stop = -1;        // readable: the server ends
  int connection = -1;  // a socket whose other side is closed: nobody waits
};

// True if one of them says so now.
bool GivesUp(const BoundedWatch& watch);

// What `answer` gives, called in a child process. The child has no descriptor of this process but
// its way back. REQUIRES: `answer` waits for no other thread and changes nothing that outlives it.
BoundedResult AnswerWithin(const BoundedLimits& limits, const BoundedWatch& watch,
                           const std::function<BoundedReply()>& answer);

}  // namespace chorus::studio
