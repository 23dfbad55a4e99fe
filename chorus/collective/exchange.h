// Exchange: what collective calls that are no operation tell each other first.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/call.h"
#include "chorus/collective/group.h"

namespace chorus {

class GroupCore;

// An all_gather of one small record a rank, which is `agreement`: all = those of ranks 0, 1, ... A
// rank that takes part only to say that it cannot has `refuse` set; the others then get an error.
// REQUIRES: every rank gives a record of the same size.
Status Exchange(GroupCore& core, Agreement agreement, const std::vector<std::int64_t>& mine,
                std::vector<std::int64_t>& all, const CallOptions& options, bool refuse);

}  // namespace chorus
