// Memory that the ranks of a job can reach: Group::AllocateReachable and what Allocate agrees on.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "chorus/collective/exchange.h"
#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"

namespace chorus {
namespace {

// Gives a region back when the last handle is gone.
class Reachable {
 public:
  Reachable(std::shared_ptr<Endpoint> endpoint, Region region)
      : endpoint_(std::move(endpoint)), region_(region) {}
  ~Reachable() { endpoint_->Release(region_); }
  Reachable(const Reachable&) = delete;
  Reachable& operator=(const Reachable&) = delete;

  const Region& region() const { return region_; }

 private:
  const std::shared_ptr<Endpoint> endpoint_;
  const Region region_;
};

Result<std::shared_ptr<Reachable>> MakeReachable(const GroupCore& core, std::int64_t bytes) {
  if (bytes < 0)
    return InvalidArgument(fmt::format("allocate: {} bytes are fewer than none", bytes));
  CHORUS_RETURN_IF_ERROR(core.CheckProcess("allocate"));
  const std::lock_guard<std::mutex> lock(core.endpoint().mutex());
  CHORUS_ASSIGN_OR_RETURN(const Region region,
                          core.endpoint().transport().Allocate(std::max<std::int64_t>(bytes, 1)));
  core.endpoint().transport().Prefault(region.key);
  return std::make_shared<Reachable>(core.shared_endpoint(), region);
}

std::shared_ptr<void> MemoryOf(std::shared_ptr<Reachable> reachable) {
  std::byte* const data = reachable->region().data;
  return {std::move(reachable), data};
}

}  // namespace

Result<std::shared_ptr<void>> Group::AllocateReachable(std::int64_t bytes) {
  CHORUS_ASSIGN_OR_RETURN(std::shared_ptr<Reachable> reachable,
                          MakeReachable(*impl_->core(), bytes));
  return MemoryOf(std::move(reachable));
}

Result<std::shared_ptr<void>> Group::AllocateTogether(std::int64_t bytes,
                                                      const CallOptions& options) {
  GroupCore& core = *impl_->core();
  Result<std::shared_ptr<Reachable>> mine = MakeReachable(core, bytes);
  const RegionKey key = mine.ok() ? (*mine)->region().key : RegionKey();
  std::vector<std::int64_t> all;
  const Status status =
      Exchange(core, Agreement::kAllocate,
               {key.owner, static_cast<std::int64_t>(key.address), key.bytes}, all, options, false);
  CHORUS_RETURN_IF_ERROR(mine.status());
  CHORUS_RETURN_IF_ERROR(status);
  for (int r = 0; r < core.size(); ++r) {
    const auto at = static_cast<std::size_t>(3 * r);
    const RegionKey theirs{static_cast<std::int32_t>(all[at]),
                           static_cast<std::uint64_t>(all[at + 1]), all[at + 2]};
    if (theirs.owner < 0) {
      return ResourceExhausted(
          fmt::format("allocate: rank {} could not get its memory; its own error says why", r));
    }
    core.endpoint().transport().Prefault(theirs);
  }
  return MemoryOf(std::move(*mine));
}

}  // namespace chorus
