// The moments of messages that share ports, event by event. Thread safety: pure.
#pragma once

#include "chorus/cost/formula/moments.h"

namespace chorus {

// Works out the first `count` messages of a table; the others are as if they were not.
void ByEvents(const Timetable& table, double bytes, bool counts_latency, Timetable::Number count,
              Moments& moments);

}  // namespace chorus
