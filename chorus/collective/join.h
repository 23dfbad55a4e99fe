// What Join and JoinThreads share. Not for users.
#pragma once

#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"

namespace chorus {

// The settings of the group of all ranks. Errors: values out of range, an unreadable
// CHORUS_TIMEOUT.
Result<GroupSettings> WorldSettings(const JoinOptions& options);

}  // namespace chorus
