#include "chorus/collective/operation.h"

namespace chorus {

void Operation::Reset() {
  deadline.reset();
  started = false;
  done = false;
  shape.reset();
  detour.clear();
  status = OkStatus();
  callbacks.clear();
}

void Operation::KeepCounts() {
  counts.assign(call.counts.begin(), call.counts.end());
  call.counts = counts;
  call.recv_counts = {};
  call.algorithm = {};
}

}  // namespace chorus
