// Meeting: how the processes of one host that were started together find each other.
//
//   rank 0                                    rank r > 0
//   listens at @chorus-<uid>-<port>    <---   connects, again and again until rank 0 is there
//   checks the user (SO_PEERCRED)             checks the user
//                                      <---   hello of r: arena, pidfd, token
//   when all have come: every hello    --->   has everyone's hello
//
// The name is in the abstract name space: nothing in a file system, gone with rank 0, and free
// again as soon as all have met. If anything is wrong rank 0 tells all who have come. Thread
// safety: pure apart from the socket.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/launch/environment.h"
#include "chorus/transport/shm/shm_transport.h"

namespace chorus {

// What a meeting shows while it is under way, and how it is given up. Thread safety: all functions
// from any thread.
class MeetingProgress {
 public:
  // The meeting ends with kAborted soon, unless all have met meanwhile.
  void GiveUp() { given_up_.store(true); }
  const std::atomic<bool>& given_up() const { return given_up_; }
  // Whom this rank waits for: rank 0 for all who have not come, the others for rank 0. Nobody once
  // all have met; nothing before the meeting has begun.
  std::optional<std::vector<int>> missing() const;
  void SetMissing(std::vector<int> ranks);

 private:
  std::atomic<bool> given_up_{false};
  mutable std::mutex mutex_;
  std::optional<std::vector<int>> missing_;  // guarded by mutex_
};

// Gives `mine` to all other ranks of the job and returns theirs, by rank; this rank's own entry is
// empty. A rank that comes and goes away again may come anew. Errors, the same text on every rank
// that came: kDeadlineExceeded naming the ranks that did not come in time; kInvalidArgument if
// ranks disagree on WORLD_SIZE, a rank came twice, or another job meets at this port just now;
// kAborted if rank 0 gave up. `progress` may be null.
Result<std::vector<ShmHello>> Meet(const JobPlace& place, const ShmHello& mine,
                                   std::chrono::milliseconds timeout,
                                   MeetingProgress* progress = nullptr);

}  // namespace chorus
