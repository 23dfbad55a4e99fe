// Whether two ranks have made the same calls. The fingerprint that a lane carries is that of all
// calls of the group up to its own, so that ranks which disagreed about an earlier call, each of
// which sent and went on, cannot go on together. Where the numbers differ, the records say whether
// it was a disagreement: a call that one of them refused is none.
#pragma once

#include <cstdint>
#include <optional>

#include "chorus/run/executor.h"
#include "chorus/transport/lane.h"
#include "chorus/transport/links.h"

namespace chorus {

// What is wrong if `peer` has sent `theirs` with its message of operation `sequence` where this
// rank has `mine`; empty if nothing is.
std::optional<Executor::Trouble> Disagreement(const Links& links, int peer, std::uint64_t sequence,
                                              std::uint64_t mine, std::uint64_t theirs);

// The line of `peer` in one phase of the call. nullptr while it has not come, or if the ranks
// disagree: then `trouble` says how.
inline const LaneLine* AgreedLine(Links& links, int peer, unsigned phase, const CallMemory& call,
                                  std::optional<Executor::Trouble>& trouble) {
  const LaneLine* const line = links.lane_from(peer).Look(call.sequence, phase);
  if (line == nullptr) return nullptr;
  links.lane_to(peer).HeardOf(call.sequence);
  if (line->fingerprint == call.history) return line;
  trouble = Disagreement(links, peer, call.sequence, call.history, line->fingerprint);
  return trouble.has_value() ? nullptr : line;
}

}  // namespace chorus
