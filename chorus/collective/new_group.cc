// NewGroup: a group out of a list of ranks, by messages among those ranks alone; and Grow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "chorus/collective/exchange.h"
#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/join.h"
#include "chorus/collective/p2p.h"
#include "chorus/launch/environment.h"

namespace chorus {
namespace {

// What members send each other: their inbox for the new group, then their list. A refused call
// sends the first number alone.
constexpr std::size_t kKeyWords = 4;
enum : std::int64_t { kRefused, kComes };

constexpr std::size_t kNamed = 8;  // ranks in the name of a group

std::string ListText(const std::vector<std::int64_t>& ranks) {
  const std::size_t shown = std::min(ranks.size(), kNamed);
  std::string text = fmt::format("{}", fmt::join(ranks.begin(), ranks.begin() + shown, " "));
  if (shown < ranks.size()) text += fmt::format(" ... {} in all", ranks.size());
  return "{" + text + "}";
}

// Everything that one rank can know to be wrong by itself.
Status CheckRanks(const std::vector<int>& ranks, int tag, int rank, int size) {
  if (tag < 0)
    return InvalidArgument(fmt::format("new_group: the tag is {}; a tag is 0 or more", tag));
  std::vector<int> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() && (sorted.front() < 0 || sorted.back() >= size)) {
    return InvalidArgument(fmt::format("new_group: {} is not a rank of a group of {}",
                                       sorted.front() < 0 ? sorted.front() : sorted.back(), size));
  }
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return InvalidArgument(fmt::format("new_group: rank {} is in the list twice", *twice));
  }
  if (!std::binary_search(sorted.begin(), sorted.end(), rank)) {
    return InvalidArgument(fmt::format("new_group: rank {} calls it but is not in the list {}",
                                       rank, ListText({ranks.begin(), ranks.end()})));
  }
  return OkStatus();
}

// Tells those whom a refused call would have met; they wait for it.
void TellRefused(GroupCore& core, const std::vector<int>& ranks, int tag) {
  if (tag < 0) return;
  std::vector<int> told;
  for (const int each : ranks) {
    const bool is_other = each >= 0 && each < core.size() && each != core.rank();
    if (is_other && std::find(told.begin(), told.end(), each) == told.end()) told.push_back(each);
  }
  core.SendToAll(told, TagOfNewGroup(tag), kRefused);
}

}  // namespace

Result<Group> Group::NewGroup(const std::vector<int>& ranks, int tag, const CallOptions& options) {
  GroupCore& core = *impl_->core();
  CHORUS_RETURN_IF_ERROR(core.CheckProcess("new_group"));
  if (Status status = CheckRanks(ranks, tag, rank(), size()); !status.ok()) {
    TellRefused(core, ranks, tag);
    return status;
  }
  // 1. An inbox for the new group. A rank that got no memory says so.
  Transport& transport = core.endpoint().transport();
  const auto members = static_cast<int>(ranks.size());
  const std::int64_t channel_bytes = core.settings().channel_bytes;
  const Result<Region> inbox = [&] {
    const std::lock_guard<std::mutex> lock(core.endpoint().mutex());
    return transport.AllocateInbox(members, channel_bytes);
  }();
  const RegionKey own = inbox.ok() ? inbox->key : RegionKey();
  // 2. Each member hears from each other one. Who sends another list than mine sends the same to
  // all members of mine, or nothing: nobody gets a group that another does not.
  std::vector<std::int64_t> mine = {kComes, own.owner, static_cast<std::int64_t>(own.address),
                                    own.bytes};
  mine.insert(mine.end(), ranks.begin(), ranks.end());
  std::vector<int> peers;
  for (const int each : ranks) {
    if (each != rank()) peers.push_back(each);
  }
  std::vector<std::vector<std::int64_t>> theirs;
  const auto most = kKeyWords + static_cast<std::size_t>(size());
  const Status met = core.ExchangeAmong(peers, TagOfNewGroup(tag), mine, most, theirs, options);
  CHORUS_RETURN_IF_ERROR(inbox.status());
  // Not given back: others may have all they need and write to it already.
  CHORUS_RETURN_IF_ERROR(met);
  const auto give_up = [&](Status status) {
    core.endpoint().Release(*inbox);
    return status;
  };
  // 3. Do they agree?
  std::vector<int> world_ranks;
  std::vector<RegionKey> keys;
  int new_rank = 0;
  std::size_t at = 0;
  for (const int each : ranks) {
    world_ranks.push_back(core.WorldRank(each));
    if (each == rank()) {
      new_rank = static_cast<int>(keys.size());
      keys.push_back(own);
      continue;
    }
    const std::vector<std::int64_t>& their = theirs[at++];
    if (their.size() < kKeyWords || their[0] != kComes) {
      return give_up(InvalidArgument(
          fmt::format("new_group: rank {} refused its call; its own error says why", each)));
    }
    if (!std::equal(their.begin() + kKeyWords, their.end(), mine.begin() + kKeyWords, mine.end())) {
      return give_up(Status(StatusCode::kMismatch,
                            fmt::format("new_group: rank {} calls it with {}, rank {} with {}",
                                        rank(), ListText({ranks.begin(), ranks.end()}), each,
                                        ListText({their.begin() + kKeyWords, their.end()}))));
    }
    keys.push_back(
        {static_cast<std::int32_t>(their[1]), static_cast<std::uint64_t>(their[2]), their[3]});
    if (keys.back().owner < 0) {
      return give_up(ResourceExhausted(
          fmt::format("new_group: rank {} had no memory for the new group", each)));
    }
  }
  Result<std::unique_ptr<Links>> links = [&] {
    const std::lock_guard<std::mutex> lock(core.endpoint().mutex());
    return transport.Connect(world_ranks, new_rank, *inbox, keys, channel_bytes);
  }();
  CHORUS_RETURN_IF_ERROR(links.status());
  GroupSettings settings = core.settings();
  settings.name = fmt::format("{}/{}", settings.name, ListText({ranks.begin(), ranks.end()}));
  return MakeGroup(core.shared_endpoint(), std::move(links).value(), std::move(settings));
}

Result<Group> Group::Grow(int new_size, const JoinOptions& options) {
  GroupCore& core = *impl_->core();
  CHORUS_RETURN_IF_ERROR(core.CheckProcess("grow"));
  Status checked;
  if (new_size <= size()) {
    checked = InvalidArgument(fmt::format(
        "grow: the group has {} ranks and is to have {}; it must become larger", size(), new_size));
  }
  Result<JobPlace> place =
      PlaceInJob(rank(), std::max(new_size, 2),
                 options.port < 0 ? std::nullopt : std::optional<int>(options.port));
  if (checked.ok()) checked = place.status().WithContext("grow");
  std::vector<std::int64_t> all;
  const std::int64_t port = place.ok() ? place->port : 0;
  const Status met = Exchange(core, Agreement::kGrow, {new_size, port}, all, {}, !checked.ok());
  CHORUS_RETURN_IF_ERROR(checked);
  CHORUS_RETURN_IF_ERROR(met);
  for (int r = 1; r < size(); ++r) {
    const auto at = static_cast<std::size_t>(2 * r);
    if (all[at] == all[0] && all[at + 1] == all[1]) continue;
    return Status(StatusCode::kMismatch,
                  fmt::format("grow: rank 0 calls it for {} ranks at port {}, rank {} for {} ranks "
                              "at port {}",
                              all[0], all[1], r, all[at], all[at + 1]));
  }
  place->job = "";  // those who come may have been started as another job
  GroupSettings settings = core.settings();
  settings.name += fmt::format("+{}", new_size - size());
  Result<Group> grown = JoinWith(std::move(settings), *place, options, nullptr, nullptr);
  if (!grown.ok()) return grown.status().WithContext(fmt::format("grow to {} ranks", new_size));
  return grown;
}

}  // namespace chorus
