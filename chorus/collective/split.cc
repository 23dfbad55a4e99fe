// Split: new groups out of one, by two exchanges on it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <vector>

#include "chorus/collective/exchange.h"
#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"

namespace chorus {

Result<Group> Group::Split(int color, int key, const CallOptions& options) {
  GroupCore& core = *impl_->core();
  const int number = core.NextSplit();
  // 1. Everyone's color and key; the members are those of this color by (key, rank).
  std::vector<std::int64_t> all;
  Status status = Exchange(core, Agreement::kSplit, {color, key}, all, options, color < 0);
  if (color < 0) return InvalidArgument(fmt::format("split: color {} is negative", color));
  CHORUS_RETURN_IF_ERROR(status);
  std::vector<std::tuple<std::int64_t, int>> order;
  for (int r = 0; r < core.size(); ++r) {
    const auto at = static_cast<std::size_t>(2 * r);
    if (all[at] == color) order.emplace_back(all[at + 1], r);
  }
  std::sort(order.begin(), order.end());

  // 2. An inbox for the new group, and everyone's key to theirs. A rank that got no memory says so.
  Transport& transport = core.endpoint().transport();
  const auto members = static_cast<int>(order.size());
  const std::int64_t channel_bytes = core.settings().channel_bytes;
  const Result<Region> inbox = [&] {
    const std::lock_guard<std::mutex> lock(core.endpoint().mutex());
    return transport.AllocateInbox(members, channel_bytes);
  }();
  const RegionKey own = inbox.ok() ? inbox->key : RegionKey();
  status =
      Exchange(core, Agreement::kSplit,
               {own.owner, static_cast<std::int64_t>(own.address), own.bytes}, all, options, false);
  CHORUS_RETURN_IF_ERROR(inbox.status());
  CHORUS_RETURN_IF_ERROR(status);

  std::vector<int> world_ranks;
  std::vector<RegionKey> keys;
  int rank = 0;
  for (const auto& [unused, r] : order) {
    const auto at = static_cast<std::size_t>(3 * r);
    if (r == core.rank()) rank = static_cast<int>(keys.size());
    world_ranks.push_back(core.WorldRank(r));
    keys.push_back(
        {static_cast<std::int32_t>(all[at]), static_cast<std::uint64_t>(all[at + 1]), all[at + 2]});
    if (keys.back().owner < 0) {
      return ResourceExhausted(fmt::format("split: rank {} had no memory for the new group", r));
    }
  }
  Result<std::unique_ptr<Links>> links = [&] {
    const std::lock_guard<std::mutex> lock(core.endpoint().mutex());
    return transport.Connect(world_ranks, rank, *inbox, keys, channel_bytes);
  }();
  CHORUS_RETURN_IF_ERROR(links.status());
  GroupSettings settings = core.settings();
  settings.name = fmt::format("{}/{}:{}", settings.name, number, color);
  return MakeGroup(core.shared_endpoint(), std::move(links).value(), std::move(settings));
}

}  // namespace chorus
