#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "chorus/collective/group.h"
#include "chorus/collective/group_core.h"
#include "chorus/collective/join.h"
#include "chorus/transport/thread/thread_transport.h"

namespace chorus {

Result<std::vector<Group>> JoinThreads(int n, const JoinOptions& options) {
  if (n < 1) return InvalidArgument(fmt::format("JoinThreads: {} ranks; at least 1 is needed", n));
  CHORUS_ASSIGN_OR_RETURN(const GroupSettings settings, WorldSettings(options));
  std::vector<std::unique_ptr<Transport>> transports = MakeThreadTransports(n);
  std::vector<std::shared_ptr<TraceRecorder>> traces;
  for (int rank = 0; rank < n; ++rank) {
    traces.push_back(TraceRecorder::FromEnvironment(rank));
    auto& transport = transports[static_cast<std::size_t>(rank)];
    transport = Wrapped(std::move(transport), traces.back().get(), options);
  }
  std::vector<Region> inboxes;
  std::vector<RegionKey> keys;
  for (const auto& transport : transports) {
    CHORUS_ASSIGN_OR_RETURN(Region inbox, transport->AllocateInbox(n, settings.channel_bytes));
    inboxes.push_back(inbox);
    keys.push_back(inbox.key);
  }
  std::vector<int> members(static_cast<std::size_t>(n));
  std::iota(members.begin(), members.end(), 0);
  std::vector<Group> groups;
  for (int rank = 0; rank < n; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    CHORUS_ASSIGN_OR_RETURN(
        std::unique_ptr<Links> links,
        transports[r]->Connect(members, rank, inboxes[r], keys, settings.channel_bytes));
    groups.push_back(
        MakeGroup(std::make_shared<Endpoint>(std::move(transports[r]), std::move(traces[r])),
                  std::move(links), settings));
  }
  return groups;
}

}  // namespace chorus
