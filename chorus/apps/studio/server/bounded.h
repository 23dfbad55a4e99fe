// AnswerWithin: an answer that is given up when it takes too long.
//
// What computes cannot be interrupted from outside, so it runs in a child of this process, whose
// end takes all that it began with it. Thread safety: any thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace chorus::studio {

struct BoundedReply {
  int status = 0;
  std::string body;
};

// What `answer` gives, called in a child process; empty if that takes longer than `most`, ends by
// itself before it has answered (as without memory), or cannot be made. REQUIRES: `answer` waits
// for no other thread and changes nothing that outlives it.
std::optional<BoundedReply> AnswerWithin(std::chrono::milliseconds most,
                                         const std::function<BoundedReply()>& answer);

}  // namespace chorus::studio
