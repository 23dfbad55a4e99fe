#include "chorus/collective/join.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "chorus/collective/operation.h"
#include "chorus/collective/tuning.h"
#include "chorus/launch/environment.h"
#include "chorus/launch/meeting.h"
#include "chorus/transport/shm/shm_transport.h"

namespace chorus {
namespace {

constexpr std::chrono::seconds kDefaultTimeout{300};
constexpr std::int64_t kLeastChannel = 256;

std::optional<int> IfGiven(int value) {
  return value < 0 ? std::nullopt : std::optional<int>(value);
}

}  // namespace

Result<GroupSettings> WorldSettings(const JoinOptions& options) {
  GroupSettings settings;
  settings.name = "world";
  settings.timeout = options.timeout;
  if (settings.timeout.count() == 0) {
    CHORUS_ASSIGN_OR_RETURN(
        const std::optional<int> seconds,
        NumberFromEnvironment("CHORUS_TIMEOUT", 1, std::numeric_limits<int>::max()));
    settings.timeout = seconds.has_value() ? std::chrono::seconds(*seconds) : kDefaultTimeout;
  }
  if (settings.timeout.count() < 0) {
    return InvalidArgument(fmt::format("a timeout of {} ms is negative", settings.timeout.count()));
  }
  settings.channel_bytes = options.channel_bytes;
  if (options.channel_bytes < kLeastChannel || options.channel_bytes % kPieceBytes != 0) {
    return InvalidArgument(
        fmt::format("channel_bytes is {}; it must be a multiple of {}, at least {}",
                    options.channel_bytes, kPieceBytes, kLeastChannel));
  }
  settings.report = options.report;
  const char* const variable =
      std::getenv("CHORUS_FLIGHT_RECORDER");  // NOLINT: read before threads
  if (!settings.report && (variable == nullptr || std::string_view(variable) != "off")) {
    settings.report = [](const std::string& text) { fmt::print(stderr, "{}", text); };
  }
  settings.ways = {options.use_lanes, options.use_mapped, options.use_stages, options.use_reads};
  settings.kernels = options.plain_kernels ? KernelSet::kPlain : KernelSet::kFast;
  return settings;
}

std::unique_ptr<Transport> Wrapped(std::unique_ptr<Transport> transport, TraceRecorder* trace,
                                   const JoinOptions& options) {
  if (trace != nullptr) {
    transport = WatchTransport(std::move(transport),
                               [trace](const TransportPoint& point) { trace->Add(point); });
  }
  return options.wrap ? options.wrap(std::move(transport)) : std::move(transport);
}

namespace {

// Join; `crossing_ns` as of AgreeOnChoices.
Result<Group> JoinProcesses(const JoinOptions& options, double* crossing_ns) {
  CHORUS_ASSIGN_OR_RETURN(GroupSettings settings, WorldSettings(options));
  CHORUS_ASSIGN_OR_RETURN(const JobPlace place, PlaceOf(options));
  return JoinWith(std::move(settings), place, options, crossing_ns, nullptr);
}

}  // namespace

Result<JobPlace> PlaceOf(const JoinOptions& options) {
  return PlaceInJob(IfGiven(options.rank), IfGiven(options.size), IfGiven(options.port));
}

Result<Group> JoinWith(GroupSettings settings, const JobPlace& place, const JoinOptions& options,
                       double* crossing_ns, MeetingProgress* progress) {
  CHORUS_ASSIGN_OR_RETURN(std::unique_ptr<ShmTransport> transport,
                          ShmTransport::Open(place.rank, place.size, settings.channel_bytes));
  CHORUS_ASSIGN_OR_RETURN(const ShmHello hello, transport->Hello());
  const std::chrono::milliseconds join_timeout =
      options.join_timeout.count() > 0 ? options.join_timeout : settings.timeout;
  const std::chrono::milliseconds patience = std::min(join_timeout, kLongestTimeout);
  const Transport::Clock::time_point deadline = Transport::Clock::now() + patience;
  CHORUS_ASSIGN_OR_RETURN(std::vector<ShmHello> hellos, Meet(place, hello, patience, progress));
  CHORUS_RETURN_IF_ERROR(transport->Attach(std::move(hellos)));
  ShmTransport& shm = *transport;
  std::shared_ptr<TraceRecorder> trace = TraceRecorder::FromEnvironment(place.rank);
  std::unique_ptr<Transport> carrier = Wrapped(std::move(transport), trace.get(), options);
  CHORUS_ASSIGN_OR_RETURN(std::unique_ptr<Links> links, shm.ConnectWorld(*carrier));
  CHORUS_ASSIGN_OR_RETURN(settings.choices,
                          AgreeOnChoices(*carrier, *links, deadline, crossing_ns));
  return MakeGroup(std::make_shared<Endpoint>(std::move(carrier), std::move(trace)),
                   std::move(links), std::move(settings));
}

Result<Group> Join(const JoinOptions& options) { return JoinProcesses(options, nullptr); }

Result<Group> JoinMeasured(double& crossing_ns) { return JoinProcesses({}, &crossing_ns); }

const Choices& ChoicesOf(const Group& group) { return *CoreOf(group)->settings().choices; }

}  // namespace chorus
