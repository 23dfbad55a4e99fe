#include "chorus/run/agreement.h"

namespace chorus {
namespace {

constexpr std::uint64_t kKept = 2 * LaneMemory::kAhead;  // records that Links keep

}  // namespace

std::optional<Executor::Trouble> Disagreement(const Links& links, int peer, std::uint64_t sequence,
                                              std::uint64_t mine, std::uint64_t theirs) {
  if (mine == theirs) return std::nullopt;
  const std::uint64_t oldest = sequence < kKept ? 1 : sequence - kKept + 1;
  for (std::uint64_t s = oldest; s <= sequence; ++s) {
    const CallRecord own = links.Record(links.rank(), s);
    const CallRecord other = links.Record(peer, s);
    const bool both =
        own.state == CallRecord::State::kRunning && other.state == CallRecord::State::kRunning;
    if (!both || own.fingerprint == other.fingerprint) continue;
    const auto kind =
        s == sequence ? Executor::Trouble::Kind::kOtherCall : Executor::Trouble::Kind::kLeftOver;
    return Executor::Trouble{kind, peer, {s, other.fingerprint, 0, 0}, 0};
  }
  return std::nullopt;
}

}  // namespace chorus
