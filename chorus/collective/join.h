// What all ways of joining share. Not for users.
#pragma once

#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"
#include "chorus/launch/meeting.h"

namespace chorus {

// The settings of the group of all ranks. Errors: values out of range, an unreadable
// CHORUS_TIMEOUT.
Result<GroupSettings> WorldSettings(const JoinOptions& options);

// This process's place by the options and its environment. Errors as of PlaceInJob.
Result<JobPlace> PlaceOf(const JoinOptions& options);

// Join at a place and with settings that are known. `crossing_ns` as of AgreeOnChoices; `progress`
// as of Meet; both may be null.
Result<Group> JoinWith(GroupSettings settings, const JobPlace& place, const JoinOptions& options,
                       double* crossing_ns, MeetingProgress* progress);

// `transport` as the rank is to use it: watched by `trace` if that is not null (it must outlive the
// transport), within what the options wrap it in.
std::unique_ptr<Transport> Wrapped(std::unique_ptr<Transport> transport, TraceRecorder* trace,
                                   const JoinOptions& options);

}  // namespace chorus
