#include "chorus/collective/tuning.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "chorus/probe/cores.h"
#include "chorus/probe/read_file.h"

namespace chorus {
namespace {

using Clock = Transport::Clock;

constexpr double kFarNs = 150;
constexpr int kBatches = 20;
constexpr int kUndisturbed = 3;  // other processes may have had the core in the slower ones
constexpr int kTrips = 100;      // in one batch; 40 us if far
constexpr std::uint64_t kPasses = std::uint64_t{2} * kBatches * kTrips;
constexpr int kLooks = 200;  // in vain before the core is given away
constexpr std::uint32_t kTuningMessage = 0xffffffff;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? "" : value;
}

// Waits for something that a peer does, without using what the group will use.
class Patience {
 public:
  Patience(const Transport& transport, int peer, Clock::time_point deadline)
      : transport_(transport), peer_(peer), deadline_(deadline) {}

  // Ok if `come()` came true.
  template <typename Come>
  Status Until(const Come& come) {
    int looks = 0;
    while (!come()) {
      if (++looks % kLooks != 0) continue;
      if (transport_.peer_state(peer_) != PeerState::kPresent && !come()) {
        return Status(StatusCode::kPeerLost,
                      fmt::format("rank {} ended while rank {} joined", peer_, transport_.rank()));
      }
      if (Clock::now() > deadline_) {
        return Status(StatusCode::kDeadlineExceeded,
                      fmt::format("rank {} waited in vain for rank {} while joining",
                                  transport_.rank(), peer_));
      }
      sched_yield();
    }
    return OkStatus();
  }

 private:
  const Transport& transport_;
  int peer_;
  Clock::time_point deadline_;
};

// A short text to one peer, as a message of number 0: before the first operation.
Status SendText(Transport& transport, Links& links, int peer, const std::string& text,
                Clock::time_point deadline) {
  Patience patience(transport, links.world_rank(peer), deadline);
  MessageSender& sender = links.sender(peer);
  const MessageHeader header{0, 0, static_cast<std::int64_t>(text.size()), kTuningMessage};
  CHORUS_RETURN_IF_ERROR(patience.Until([&] { return sender.Begin(header); }));
  std::size_t sent = 0;
  while (sent < text.size()) {
    CHORUS_RETURN_IF_ERROR(patience.Until([&] { return !sender.Writable().empty(); }));
    const std::span<std::byte> room = sender.Writable();
    const std::size_t now = std::min(room.size(), text.size() - sent);
    std::memcpy(room.data(), text.data() + sent, now);
    sender.Commit(static_cast<std::int64_t>(now));
    sent += now;
  }
  return OkStatus();
}

Result<std::string> ReceiveText(Transport& transport, Links& links, int peer,
                                Clock::time_point deadline) {
  Patience patience(transport, links.world_rank(peer), deadline);
  MessageReceiver& receiver = links.receiver(peer);
  const MessageHeader* front = nullptr;
  CHORUS_RETURN_IF_ERROR(patience.Until([&] { return (front = receiver.Front()) != nullptr; }));
  std::string text;
  const auto size = static_cast<std::size_t>(front->bytes);
  if (size == 0) receiver.Consume(0);
  while (text.size() < size) {
    CHORUS_RETURN_IF_ERROR(patience.Until([&] { return !receiver.Readable().empty(); }));
    const std::span<const std::byte> piece = receiver.Readable();
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    receiver.Consume(static_cast<std::int64_t>(piece.size()));
  }
  return text;
}

// The ball of the ping-pong, in a region of rank 0.
struct alignas(128) Ball {
  std::atomic<std::uint64_t> count{0};
};

// Rank 0's side: the time of one way in a batch that nothing disturbed, the fourth fastest.
Result<double> Serve(Ball& ball, Patience& patience) {
  std::vector<double> times;
  std::uint64_t count = 0;
  for (int batch = 0; batch < kBatches; ++batch) {
    const Clock::time_point begin = Clock::now();
    for (int trip = 0; trip < kTrips; ++trip) {
      ball.count.store(++count, std::memory_order_release);
      ++count;
      CHORUS_RETURN_IF_ERROR(
          patience.Until([&] { return ball.count.load(std::memory_order_acquire) == count; }));
    }
    const std::chrono::duration<double, std::nano> spent = Clock::now() - begin;
    times.push_back(spent.count() / (2 * kTrips));
  }
  std::nth_element(times.begin(), times.begin() + kUndisturbed, times.end());
  return times[kUndisturbed];
}

Status Return(Ball& ball, Patience& patience) {
  for (std::uint64_t count = 1; count < kPasses; count += 2) {
    CHORUS_RETURN_IF_ERROR(
        patience.Until([&] { return ball.count.load(std::memory_order_acquire) == count; }));
    ball.count.store(count + 1, std::memory_order_release);
  }
  return OkStatus();
}

// What rank 0 tells rank 1: where the ball is.
std::string AsText(const RegionKey& key) {
  return fmt::format("{} {} {}", key.owner, key.address, key.bytes);
}

Result<double> ServeCrossing(Transport& transport, Links& links, Clock::time_point deadline) {
  CHORUS_ASSIGN_OR_RETURN(const Region region, transport.Allocate(sizeof(Ball)));
  auto* ball = new (region.data) Ball;
  CHORUS_RETURN_IF_ERROR(SendText(transport, links, 1, AsText(region.key), deadline));
  Patience patience(transport, links.world_rank(1), deadline);
  Result<double> time = Serve(*ball, patience);
  transport.Release(region);  // rank 1 has given its last ball back
  return time;
}

Status ReturnCrossing(Transport& transport, const std::string& where, Clock::time_point deadline) {
  RegionKey key;
  unsigned long long address = 0;
  long long bytes = 0;
  if (std::sscanf(where.c_str(), "%d %llu %lld", &key.owner, &address, &bytes) != 3) {
    return Internal("the place of a ping-pong cannot be read: " + where);
  }
  key.address = address;
  key.bytes = bytes;
  CHORUS_ASSIGN_OR_RETURN(std::byte* const data, transport.Map(key));
  Patience patience(transport, 0, deadline);
  return Return(*std::launder(reinterpret_cast<Ball*>(data)), patience);
}

struct Texts {
  std::array<std::string, 2> by_placement;  // near, far; empty: there is no file
  std::array<std::string, 2> files;

  bool any() const { return !by_placement[0].empty() || !by_placement[1].empty(); }
};

Texts ReadTexts() {
  Texts texts;
  const std::string folder = TuningFolder();
  if (folder.empty()) return texts;
  for (const Placement placement : {Placement::kNear, Placement::kFar}) {
    const auto i = static_cast<std::size_t>(placement);
    texts.files[i] = TuningFile(folder, placement);
    Result<std::string> text = ReadFile(texts.files[i], "choices", "chorus tune writes them");
    if (text.ok()) texts.by_placement[i] = *std::move(text);
  }
  return texts;
}

// What rank 0 sends at the end: the time, the file, and the text of the choices.
struct Verdict {
  double crossing_ns = 0;
  std::string refusal;  // why there can be no group
  std::string file;
  std::string text;
};

std::string Pack(const Verdict& v) {
  return fmt::format("{}\n{}\n{}\n{}", v.crossing_ns, v.refusal, v.file, v.text);
}

Verdict Unpack(const std::string& packed) {
  Verdict v;
  v.crossing_ns = std::strtod(packed.c_str(), nullptr);
  std::size_t begin = packed.find('\n') + 1;
  for (std::string* line : {&v.refusal, &v.file}) {
    const std::size_t end = packed.find('\n', begin);
    *line = packed.substr(begin, end - begin);
    begin = end + 1;
  }
  v.text = packed.substr(begin);
  return v;
}

Result<Verdict> Decide(Transport& transport, Links& links, bool measure,
                       Clock::time_point deadline) {
  const Texts texts = measure ? Texts() : ReadTexts();
  Verdict verdict;
  const std::string asked = Environment("CHORUS_TUNING");
  if (!measure && !texts.any() && !asked.empty() && asked != "off") {
    verdict.refusal = fmt::format(
        "CHORUS_TUNING={} holds neither near.toml nor far.toml; chorus tune --out {} makes them, "
        "CHORUS_TUNING=off does without",
        asked, asked);
    return verdict;
  }
  if (links.size() < 2 || (!measure && !texts.any())) return verdict;
  // With more ranks than cores a line waits for its turn on a core, wherever that is. This rank may
  // be kept on one core, the others then on others.
  if (measure || links.size() <= HostCores()) {
    CHORUS_ASSIGN_OR_RETURN(verdict.crossing_ns, ServeCrossing(transport, links, deadline));
  }
  auto i = static_cast<std::size_t>(PlacementOf(verdict.crossing_ns));
  if (texts.by_placement[i].empty()) i = 1 - i;  // better the other placement's than none
  verdict.file = texts.files[i];
  verdict.text = texts.by_placement[i];
  return verdict;
}

}  // namespace

std::string_view Name(Placement placement) {
  return placement == Placement::kNear ? "near" : "far";
}

Placement PlacementOf(double one_way_ns) {
  return one_way_ns < kFarNs ? Placement::kNear : Placement::kFar;
}

std::string TuningFolder() {
  const std::string said = Environment("CHORUS_TUNING");
  if (!said.empty()) return said == "off" ? "" : said;
  const std::string config = Environment("XDG_CONFIG_HOME");
  if (!config.empty()) return config + "/chorus";
  const std::string home = Environment("HOME");
  return home.empty() ? "" : home + "/.config/chorus";
}

std::string TuningFile(const std::string& folder, Placement placement) {
  return fmt::format("{}/{}.toml", folder, Name(placement));
}

Result<std::shared_ptr<const Choices>> AgreeOnChoices(Transport& transport, Links& links,
                                                      Clock::time_point deadline,
                                                      double* crossing_ns) {
  Verdict verdict;
  if (links.rank() == 0) {
    CHORUS_ASSIGN_OR_RETURN(verdict, Decide(transport, links, crossing_ns != nullptr, deadline));
    const std::string packed = Pack(verdict);
    for (int peer = 1; peer < links.size(); ++peer) {
      CHORUS_RETURN_IF_ERROR(SendText(transport, links, peer, packed, deadline));
    }
  } else {
    CHORUS_ASSIGN_OR_RETURN(std::string text, ReceiveText(transport, links, 0, deadline));
    if (links.rank() == 1 && text.find('\n') == std::string::npos) {  // the place of the ball
      CHORUS_RETURN_IF_ERROR(ReturnCrossing(transport, text, deadline));
      CHORUS_ASSIGN_OR_RETURN(text, ReceiveText(transport, links, 0, deadline));
    }
    verdict = Unpack(text);
  }
  if (crossing_ns != nullptr) *crossing_ns = verdict.crossing_ns;
  if (!verdict.refusal.empty()) return NotFound(verdict.refusal);
  Result<Choices> choices = Choices::Parse(verdict.text, verdict.file);
  if (!choices.ok()) {
    return choices.status().WithContext(fmt::format(
        "{} (chorus tune makes it anew; CHORUS_TUNING=off does without)", verdict.file));
  }
  return std::make_shared<const Choices>(*std::move(choices));
}

}  // namespace chorus
