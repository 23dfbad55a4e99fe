#include "chorus/collective/exchange.h"

#include <memory>
#include <utility>

#include "chorus/collective/group_core.h"

namespace chorus {

Status Exchange(GroupCore& core, Agreement agreement, const std::vector<std::int64_t>& mine,
                std::vector<std::int64_t>& all, const CallOptions& options, bool refuse) {
  all.resize(mine.size() * static_cast<std::size_t>(core.size()));
  Call call;
  call.op = OpKind::kAllGather;
  call.agreement = agreement;
  // A refused call is one with a count that can never be right.
  call.in = ConstBuffer(mine);
  if (refuse) call.in.count = -1;
  call.out = MutableBuffer(all);
  call.timeout = options.timeout;
  const std::shared_ptr<Operation> operation = core.Submit(call);
  return core.endpoint().Wait(*operation, std::nullopt);
}

}  // namespace chorus
