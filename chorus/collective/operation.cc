#include "chorus/collective/operation.h"

#include "chorus/collective/coalesce.h"

namespace chorus {

void Operation::GiveDeadline(std::chrono::milliseconds patience) {
  timeout = patience;
  deadline = Clock::now() + timeout;
  for (const std::weak_ptr<Operation>& each : parts) {
    const std::shared_ptr<Operation> operation = each.lock();
    if (operation == nullptr || operation->list.get() != this) continue;
    operation->timeout = timeout;
    operation->deadline = deadline;
  }
}

void Operation::KeepCounts() {
  counts.assign(call.counts.begin(), call.counts.end());
  call.counts = counts;
  call.recv_counts = {};
  call.algorithm = {};
}

std::string ListOperation::Describe(std::size_t of_part) const {
  return DescribeCalls(calls[of_part], size);
}

}  // namespace chorus
