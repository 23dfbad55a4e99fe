#include "chorus/collective/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "chorus/collective/member_name.h"

namespace chorus {
namespace {

// Words of a note before its set.
constexpr std::size_t kHead = 8;

}  // namespace

Shrinking::Shrinking(GroupCore* core, std::unique_lock<std::mutex>* lock,
                     std::chrono::milliseconds timeout)
    : core_(*core),
      links_(core->links()),
      lock_(*lock),
      timeout_(timeout),
      late_(static_cast<std::size_t>(core->size()), false) {
  mine_.set = late_;
}

void Shrinking::Show(Stage stage) {
  mine_.stage = stage;
  std::vector<std::uint64_t> words(static_cast<std::size_t>(links_.board_words()), 0);
  words[0] = mine_.round;
  words[1] = static_cast<std::uint64_t>(stage);
  words[2] = static_cast<std::uint64_t>(mine_.inbox.owner);
  words[3] = mine_.inbox.address;
  words[4] = static_cast<std::uint64_t>(mine_.inbox.bytes);
  for (std::size_t r = 0; r < mine_.set.size(); ++r) {
    if (mine_.set[r]) words[kHead + r / 64] |= std::uint64_t{1} << r % 64;
  }
  links_.Note(words);
}

bool Shrinking::Read(int member, Note& note) const {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(links_.board_words()));
  if (!links_.ReadNote(member, words)) return false;
  note.round = words[0];
  note.stage = static_cast<Stage>(words[1]);
  note.inbox = {static_cast<std::int32_t>(words[2]), words[3], static_cast<std::int64_t>(words[4])};
  note.set.assign(late_.size(), false);
  for (std::size_t r = 0; r < note.set.size(); ++r) {
    note.set[r] = (words[kHead + r / 64] >> r % 64 & 1) != 0;
  }
  return true;
}

// A rank in a later round has been in this one.
bool Shrinking::Arrived(int member) const {
  Note note;
  return Read(member, note) && note.round >= mine_.round && note.stage != Stage::kWithdrawn;
}

bool Shrinking::IsReady(int member) const {
  Note note;
  return Read(member, note) && note.round == mine_.round && note.stage == Stage::kReady;
}

bool Shrinking::IsGone(int member) const {
  if (member == links_.rank()) return false;
  if (core_.endpoint().transport().peer_state(links_.world_rank(member)) != PeerState::kPresent) {
    return true;
  }
  Note note;
  return links_.Departed(member) || (Read(member, note) && note.stage == Stage::kWithdrawn);
}

bool Shrinking::All(const std::function<bool(int)>& holds) const {
  for (int member = 0; member < links_.size(); ++member) {
    if (!holds(member)) return false;
  }
  return true;
}

void Shrinking::Await(const std::function<bool()>& ready) {
  core_.endpoint().WaitUntil(ready, Endpoint::Clock::now() + timeout_, lock_);
}

Result<Shrinking::Agreed> Shrinking::Agree() {
  Agreed agreed;
  for (mine_.round = 0; OutcomeCell() < links_.cells(); ++mine_.round) {
    CHORUS_ASSIGN_OR_RETURN(const Outcome outcome, Round(agreed));
    if (outcome == kCommit) return agreed;
  }
  return Status(StatusCode::kDeadlineExceeded,
                fmt::format("shrink of group {}: its ranks did not agree in {} rounds, each ended "
                            "by a rank that came and went within {} ms",
                            core_.settings().name, mine_.round, timeout_.count()));
}

Result<Shrinking::Outcome> Shrinking::Round(Agreed& agreed) {
  // 1. Everyone who will come is there.
  Show(Stage::kArrived);
  Await([this] {
    return links_.Settled(ProposalCell()) != 0 || All([this](int member) {
             return Arrived(member) || IsGone(member) || late_[static_cast<std::size_t>(member)];
           });
  });
  // 2. The first proposal is everyone's.
  std::uint64_t leader = links_.Settled(ProposalCell());
  if (leader == 0) {
    for (int member = 0; member < links_.size(); ++member) {
      mine_.set[static_cast<std::size_t>(member)] = Arrived(member) && !IsGone(member);
    }
    Show(Stage::kProposes);
    leader = links_.Settle(ProposalCell(), static_cast<std::uint64_t>(links_.rank()) + 1);
  }
  const std::vector<bool> set = FollowedSet(static_cast<int>(leader) - 1);
  if (set.empty()) return SettleOn(kAgain);
  if (!set[static_cast<std::size_t>(links_.rank())]) {
    if (AwaitOutcomeOutside() == kAgain) return kAgain;
    return LeftOut(set);
  }
  return Prepare(set, agreed);
}

std::vector<bool> Shrinking::FollowedSet(int leader) {
  Note note;
  const auto can_be_read = [&] { return Read(leader, note) && note.round >= mine_.round; };
  Await([&] { return can_be_read() || IsGone(leader) || links_.Settled(OutcomeCell()) != kOpen; });
  // What it shows is what it proposed, unless it has gone on: then this round has come to nothing.
  const bool holds = can_be_read() && note.round == mine_.round && note.stage >= Stage::kProposes;
  return holds ? note.set : std::vector<bool>();
}

Shrinking::Outcome Shrinking::AwaitOutcomeOutside() {
  Await([this] { return links_.Settled(OutcomeCell()) != kOpen; });
  return SettleOn(kAgain);
}

Result<Shrinking::Outcome> Shrinking::Prepare(const std::vector<bool>& set, Agreed& agreed) {
  Transport& transport = core_.endpoint().transport();
  const auto in_set = [&set](int member) { return set[static_cast<std::size_t>(member)]; };
  // 3. Fresh memory: what the old group used, a rank that is left out may still write to.
  agreed = Agreed();
  for (int member = 0; member < links_.size(); ++member) {
    if (!in_set(member)) continue;
    if (member == links_.rank()) agreed.rank = static_cast<int>(agreed.members.size());
    agreed.members.push_back(member);
  }
  const Result<Region> inbox = transport.AllocateInbox(static_cast<int>(agreed.members.size()),
                                                       core_.settings().channel_bytes);
  if (!inbox.ok()) {
    Show(Stage::kWithdrawn);
    SettleOn(kAgain);
    return inbox.status().WithContext(fmt::format("shrink of group {}", core_.settings().name));
  }
  agreed.inbox = *inbox;
  mine_.inbox = inbox->key;
  Show(Stage::kReady);
  // 4. All of them, or none.
  const auto all_ready = [&] {
    return All([&](int member) { return !in_set(member) || IsReady(member); });
  };
  const auto one_is_gone = [&] {
    return !All([&](int member) { return !in_set(member) || !IsGone(member); });
  };
  Await([&] { return links_.Settled(OutcomeCell()) != kOpen || all_ready() || one_is_gone(); });
  const bool commits = all_ready() && !one_is_gone();
  for (int member = 0; !commits && member < links_.size(); ++member) {
    if (in_set(member) && !IsReady(member)) late_[static_cast<std::size_t>(member)] = true;
  }
  if (SettleOn(commits ? kCommit : kAgain) == kAgain) {
    transport.Release(agreed.inbox);  // nobody has been told to write to it
    return kAgain;
  }
  for (const int member : agreed.members) {
    Note note;
    if (!Read(member, note)) {
      return Internal(fmt::format("shrink of group {}: the note of {} cannot be read",
                                  core_.settings().name, MemberName(links_, member)));
    }
    agreed.inboxes.push_back(note.inbox);
  }
  return kCommit;
}

Status Shrinking::LeftOut(const std::vector<bool>& set) const {
  std::vector<int> others;
  for (int member = 0; member < links_.size(); ++member) {
    if (set[static_cast<std::size_t>(member)]) others.push_back(member);
  }
  return Status(
      StatusCode::kDeadlineExceeded,
      fmt::format("shrink of group {}: {} came too late; {} have gone on without it",
                  core_.settings().name, MemberName(links_, links_.rank()), NameMembers(others)));
}

Result<Group> Group::Shrink(std::chrono::milliseconds timeout, std::vector<int>* survivors) {
  GroupCore& core = *impl_->core();
  CHORUS_RETURN_IF_ERROR(core.CheckProcess("shrink"));
  if (timeout.count() <= 0) timeout = core.settings().timeout;
  std::unique_lock<std::mutex> lock(core.endpoint().mutex());
  CHORUS_RETURN_IF_ERROR(core.EndForShrink());
  Shrinking shrinking(&core, &lock, std::min(timeout, kLongestTimeout));
  CHORUS_ASSIGN_OR_RETURN(const Shrinking::Agreed agreed, shrinking.Agree());
  std::vector<int> world_ranks;
  for (const int member : agreed.members) world_ranks.push_back(core.WorldRank(member));
  GroupSettings settings = core.settings();
  settings.name += "/shrunk";
  CHORUS_ASSIGN_OR_RETURN(
      std::unique_ptr<Links> links,
      core.endpoint().transport().Connect(world_ranks, agreed.rank, agreed.inbox, agreed.inboxes,
                                          settings.channel_bytes));
  lock.unlock();
  core.endpoint().RunCallbacks();
  if (survivors != nullptr) *survivors = agreed.members;
  return MakeGroup(core.shared_endpoint(), std::move(links), std::move(settings));
}

}  // namespace chorus
