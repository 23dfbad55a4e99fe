// Thousands of random operations of all kinds on overlapping groups, between processes: collectives
// with any algorithm, dtype, reduction and memory, sync or several in flight and crossed, lists of
// calls, prepared ones too, sends and receives, puts, and ever new groups by Split and by lists of
// ranks. Every result is checked.
//
//   CHORUS_SEED=20423    the operations of that day
//   CHORUS_MIX=100000    so many of them
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/collective/call_case_test.h"
#include "chorus/collective/call_list.h"
#include "chorus/collective/group.h"
#include "chorus/collective/persistent_calls.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/collective/seed_test.h"
#include "chorus/collective/window.h"

namespace chorus {
namespace {

constexpr int kMixRanks = 5;
constexpr std::size_t kMostGroups = 8;
constexpr int kSlots = 16;  // of a window, each for one put
constexpr std::int64_t kSlotElements = 40;

// A group as every rank knows it, members of it or not. World ranks in the order of the group.
struct PlannedGroup {
  int id = 0;
  std::vector<int> members;
  int puts = 0;

  int size() const { return static_cast<int>(members.size()); }
  std::optional<int> RankOf(int world_rank) const {
    const auto found = std::find(members.begin(), members.end(), world_rank);
    if (found == members.end()) return std::nullopt;
    return static_cast<int>(found - members.begin());
  }
};

// One operation as every rank knows it.
struct Planned {
  enum class Kind { kCall, kList, kMessages, kPuts };
  Kind kind = Kind::kCall;
  int group = 0;                // its id
  std::vector<CallCase> calls;  // kCall: one
  bool is_prepared = false;     // kList, if it is a batch by itself
  // kList, kMessages, kPuts: rank r sends so many elements to r + shift.
  int shift = 0;
  std::int64_t count = 0;
  int tag = 0;
  int slot = 0;
  std::uint64_t salt = 0;
};

// Draws the same plan on every rank.
class Planner {
 public:
  explicit Planner(std::uint64_t seed) : random_(seed) {
    PlannedGroup world;
    world.members.resize(kMixRanks);
    std::iota(world.members.begin(), world.members.end(), 0);
    groups_.push_back(world);
  }

  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  const std::vector<PlannedGroup>& groups() const { return groups_; }
  PlannedGroup& AnyGroup() { return groups_[Below(groups_.size())]; }

  Planned Draw() {
    PlannedGroup& group = AnyGroup();
    Planned planned;
    planned.group = group.id;
    planned.salt = random_();
    planned.shift = static_cast<int>(Below(static_cast<std::uint64_t>(group.size())));
    planned.tag = static_cast<int>(Below(3));
    const std::uint64_t kind = Below(10);
    if (kind < 6) {
      planned.calls.push_back(DrawCall(group.size()));
    } else if (kind < 7) {
      planned.kind = Planned::Kind::kList;
      planned.is_prepared = Below(4) == 0;
      planned.count = DrawCount();
      DrawList(group.size(), planned.calls);
    } else if (kind < 9) {
      planned.kind = Planned::Kind::kMessages;
      planned.count = DrawCount();
    } else {
      planned.kind = Planned::Kind::kPuts;
      planned.count = static_cast<std::int64_t>(Below(kSlotElements + 1));
      planned.slot = group.puts++ % kSlots;
    }
    return planned;
  }

  // Some ranks of a group, in any order, that make one of their own.
  struct List {
    int parent = 0;
    std::vector<int> ranks;  // of the parent
    PlannedGroup group;
    std::vector<int> dropped;  // groups that are given up for it
  };
  List DrawNewGroup() {
    const PlannedGroup parent = AnyGroup();
    List list;
    list.parent = parent.id;
    std::vector<int> ranks(static_cast<std::size_t>(parent.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::uint64_t size = 1 + Below(ranks.size());
    list.group.id = ++last_id_;
    while (list.ranks.size() < size) {
      const auto at = ranks.begin() + static_cast<std::ptrdiff_t>(Below(ranks.size()));
      list.ranks.push_back(*at);
      list.group.members.push_back(parent.members[static_cast<std::size_t>(*at)]);
      ranks.erase(at);
    }
    list.dropped = Keep({list.group});
    return list;
  }

  // The groups into which one is split, by color; the first of them has `id`.
  struct Split {
    int parent = 0;
    std::vector<int> colors, keys;  // by rank of the parent
    std::vector<PlannedGroup> parts;
    std::vector<int> dropped;  // groups that are given up for them
  };
  Split DrawSplit() {
    const PlannedGroup parent = AnyGroup();
    Split split;
    split.parent = parent.id;
    std::map<int, std::vector<std::pair<int, int>>> by_color;  // (key, rank)
    for (int rank = 0; rank < parent.size(); ++rank) {
      split.colors.push_back(static_cast<int>(Below(3)) == 0 ? 1 : 0);
      split.keys.push_back(static_cast<int>(Below(4)));
      by_color[split.colors.back()].emplace_back(split.keys.back(), rank);
    }
    for (auto& [color, order] : by_color) {
      std::sort(order.begin(), order.end());
      PlannedGroup part;
      part.id = ++last_id_;
      for (const auto& [key, rank] : order) {
        part.members.push_back(parent.members[static_cast<std::size_t>(rank)]);
      }
      split.parts.push_back(part);
    }
    split.dropped = Keep(split.parts);
    return split;
  }

 private:
  // Returns which groups are given up for the new ones.
  std::vector<int> Keep(const std::vector<PlannedGroup>& added) {
    std::vector<int> dropped;
    while (groups_.size() + added.size() > kMostGroups) {
      const std::size_t victim = 1 + Below(groups_.size() - 1);  // never the world
      dropped.push_back(groups_[victim].id);
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    groups_.insert(groups_.end(), added.begin(), added.end());
    return dropped;
  }

  // Mostly small, now and then beyond a channel.
  std::int64_t DrawCount() {
    const std::uint64_t most = std::uint64_t{1} << Below(Below(8) == 0 ? 17 : 11);
    return static_cast<std::int64_t>(Below(most + 1));
  }

  CallCase DrawCall(int n) {
    CallCase c;
    c.op = kAllOpKinds[Below(kOpKinds)];
    c.n = n;
    c.salt = random_();
    c.dtype = kAllDTypes[Below(std::size(kAllDTypes))];
    c.in_place = c.op != OpKind::kBarrier && Below(2) == 0;
    c.at_beginning = Below(2) == 0;
    if (HasRoot(c.op)) c.root = static_cast<int>(Below(static_cast<std::uint64_t>(n)));
    if (Reduces(c.op)) {
      const std::vector<Reduction> reductions = ReductionsToDraw(c.dtype);
      do {
        c.reduce = reductions[Below(reductions.size())];
      } while (IsScan(c.op) && c.reduce.op() == ReduceOp::kAvg);
    }
    c.by_counts = (HasOwners(c.op) || c.op == OpKind::kAllToAll) && Below(2) == 0;
    const std::vector<const Algorithm*> algorithms = AlgorithmsFor(c.op);
    const Algorithm& algorithm = *algorithms[Below(algorithms.size())];
    const bool is_private =
        c.by_counts && c.op != OpKind::kAllGather && c.op != OpKind::kReduceScatter;
    if (Below(2) == 0 && algorithm.Fits(n).ok() && !is_private &&
        (c.reduce.commutes() || algorithm.Build().order() == ReduceOrder::kRank)) {
      c.algorithm = std::string(algorithm.name);
    }
    const std::int64_t total = DrawCount();
    c.counts = c.by_counts ? RandomCounts(c.op, n, total, c.salt) : EvenCounts(c.op, n, total);
    return c;
  }

  // Calls of any kind, or small all_reduces that go as one.
  void DrawList(int n, std::vector<CallCase>& calls) {
    const std::uint64_t size = 2 + Below(4);
    const bool alike = Below(2) == 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      calls.push_back(i > 0 && alike ? calls[0] : DrawCall(n));
      if (!alike) continue;
      CallCase& c = calls.back();
      if (!Reduces(c.op)) c.reduce = ReductionsToDraw(c.dtype)[0];
      c.op = OpKind::kAllReduce;
      c.root = 0;
      c.by_counts = false;
      c.algorithm.clear();
      c.salt = random_();
      c.in_place = Below(2) == 0;
      c.counts = {static_cast<std::int64_t>(Below(200))};
    }
  }

  std::mt19937_64 random_;
  std::vector<PlannedGroup> groups_;
  int last_id_ = 0;
};

// Element i of what rank `from` sends.
std::int32_t ElementOf(const Planned& planned, int from, std::int64_t i) {
  return static_cast<std::int32_t>(planned.salt + 977 * static_cast<std::uint64_t>(from) +
                                   static_cast<std::uint64_t>(i));
}

std::vector<std::int32_t> ElementsOf(const Planned& planned, int from) {
  std::vector<std::int32_t> elements;
  for (std::int64_t i = 0; i < planned.count; ++i) {
    elements.push_back(ElementOf(planned, from, i));
  }
  return elements;
}

class MemoryOfEitherKind final : public TestMemory {
 public:
  MemoryOfEitherKind(Group& group, std::mt19937_64& random) : group_(group), random_(random) {}
  std::shared_ptr<std::byte[]> Take(std::int64_t bytes) override {
    if (random_() % 2 == 0) {
      return std::shared_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(bytes)]);
    }
    std::shared_ptr<void> memory = group_.AllocateReachable(bytes).value();
    auto* const data = static_cast<std::byte*>(memory.get());
    return {std::move(memory), data};
  }

 private:
  Group& group_;
  std::mt19937_64& random_;
};

// What one rank does of the plan.
class Member {
 public:
  Member(Group& world, std::uint64_t seed)
      : rank_(world.rank()),
        plan_(seed),
        own_random_(seed + static_cast<std::uint64_t>(1 + world.rank())),
        memory_(world, own_random_) {
    groups_.emplace(0, Side{world, {}, {}, {}});
  }

  Status Run(std::int64_t operations) {
    CHORUS_RETURN_IF_ERROR(OpenWindow(plan_.groups()[0]));
    std::int64_t done = 0;
    while (done < operations) {
      if (plan_.Below(40) == 0) {
        CHORUS_RETURN_IF_ERROR(plan_.Below(2) == 0 ? SplitOne() : NewOne());
        ++done;
        continue;
      }
      std::vector<Planned> batch;
      const std::uint64_t size = 1 + plan_.Below(4);
      for (std::uint64_t i = 0; i < size; ++i) batch.push_back(plan_.Draw());
      if (const Status status = RunBatch(batch); !status.ok()) {
        return status.WithContext(fmt::format("operation {} and on", done));
      }
      done += std::ssize(batch);
    }
    return OkStatus();
  }

 private:
  // A group of which this rank is a member.
  struct Side {
    Group group;
    SymmetricArray<std::int32_t> array;
    std::optional<Window> window;
    std::map<int, std::uint64_t> expected_puts;  // by rank they come from
  };
  // An operation under way.
  struct Running {
    const Planned* planned = nullptr;
    Side* side = nullptr;
    std::vector<std::unique_ptr<CallRun>> calls;
    std::optional<PersistentCalls> prepared;
    std::vector<std::int32_t> sent, got;
    Received received;
    Work send, recv;
  };

  const PlannedGroup* Find(int id) const {
    for (const PlannedGroup& group : plan_.groups()) {
      if (group.id == id) return &group;
    }
    return nullptr;
  }

  Status OpenWindow(const PlannedGroup& planned) {
    Side& side = groups_.at(planned.id);
    CHORUS_ASSIGN_OR_RETURN(side.array, side.group.Allocate<std::int32_t>(kSlots * kSlotElements));
    CHORUS_ASSIGN_OR_RETURN(side.window, side.group.OpenWindow(side.array));
    return OkStatus();
  }

  Status SplitOne() {
    const Planner::Split split = plan_.DrawSplit();
    if (const auto parent = groups_.find(split.parent); parent != groups_.end()) {
      Group& group = parent->second.group;
      const auto own = static_cast<std::size_t>(group.rank());
      CHORUS_ASSIGN_OR_RETURN(Group part, group.Split(split.colors[own], split.keys[own]));
      for (const PlannedGroup& planned : split.parts) {
        const std::optional<int> rank = planned.RankOf(rank_);
        if (!rank.has_value()) continue;
        if (part.rank() != *rank || part.size() != planned.size()) {
          return Internal(fmt::format("split: rank {} of {}, not {} of {}", part.rank(),
                                      part.size(), *rank, planned.size()));
        }
        groups_.emplace(planned.id, Side{std::move(part), {}, {}, {}});
        CHORUS_RETURN_IF_ERROR(OpenWindow(planned));
        break;
      }
    }
    for (const int id : split.dropped) groups_.erase(id);
    return OkStatus();
  }

  Status NewOne() {
    const Planner::List list = plan_.DrawNewGroup();
    if (const std::optional<int> rank = list.group.RankOf(rank_)) {
      CHORUS_ASSIGN_OR_RETURN(Group group, groups_.at(list.parent).group.NewGroup(list.ranks));
      if (group.rank() != *rank || group.size() != list.group.size()) {
        return Internal(fmt::format("new group: rank {} of {}, not {} of {}", group.rank(),
                                    group.size(), *rank, list.group.size()));
      }
      groups_.emplace(list.group.id, Side{std::move(group), {}, {}, {}});
      CHORUS_RETURN_IF_ERROR(OpenWindow(list.group));
    }
    for (const int id : list.dropped) groups_.erase(id);
    return OkStatus();
  }

  Status RunBatch(const std::vector<Planned>& batch) {
    // Of each group its operations in order, but which group comes first is each rank's own choice.
    std::vector<const Planned*> order;
    for (const Planned& planned : batch) {
      if (groups_.count(planned.group) > 0) order.push_back(&planned);
    }
    const bool is_sync = order.size() == 1 && batch.size() == 1;
    std::map<int, std::uint64_t> turn;
    for (const Planned* planned : order) turn.try_emplace(planned->group, own_random_());
    std::stable_sort(order.begin(), order.end(), [&](const Planned* a, const Planned* b) {
      return turn[a->group] < turn[b->group];
    });
    std::vector<std::unique_ptr<Running>> running;
    for (const Planned* planned : order) {
      running.push_back(std::make_unique<Running>());
      CHORUS_RETURN_IF_ERROR(Begin(*planned, is_sync, *running.back()));
    }
    std::shuffle(running.begin(), running.end(), own_random_);
    for (const auto& each : running) CHORUS_RETURN_IF_ERROR(End(*each));
    // Everyone has looked into a slot before it is used again, more than a batch later.
    for (const Planned& planned : batch) {
      const bool is_due =
          planned.kind == Planned::Kind::kPuts && planned.slot % (kSlots / 2) == kSlots / 2 - 1;
      const auto side = groups_.find(planned.group);
      if (is_due && side != groups_.end()) CHORUS_RETURN_IF_ERROR(side->second.group.Barrier());
    }
    return OkStatus();
  }

  Status Begin(const Planned& planned, bool is_sync, Running& running) {
    Side& side = groups_.at(planned.group);
    Group& group = side.group;
    running.planned = &planned;
    running.side = &side;
    const int to = (group.rank() + planned.shift) % group.size();
    const int from = (group.rank() + group.size() - planned.shift) % group.size();
    for (const CallCase& call : planned.calls) {
      running.calls.push_back(std::make_unique<CallRun>(call, group.rank(), memory_, memory_));
    }
    if (planned.kind == Planned::Kind::kCall) {
      running.calls[0]->Begin(group, !is_sync);
      return OkStatus();
    }
    running.sent = ElementsOf(planned, group.rank());
    if (planned.kind == Planned::Kind::kList) {
      running.got.resize(running.sent.size());
      CallList list(group);
      for (const auto& call : running.calls) call->AddTo(list);
      list.Recv(running.got, from, planned.tag, &running.received);
      list.Send(running.sent, to, planned.tag);
      // To prepare waits for the others, who may be in another group's call.
      if (planned.is_prepared && is_sync) {
        CHORUS_ASSIGN_OR_RETURN(running.prepared, list.Prepare());
        return running.prepared->Start();
      }
      if (is_sync) return list.Run();
      running.send = list.Start();
      return OkStatus();
    }
    if (planned.kind == Planned::Kind::kMessages) {
      running.got.resize(running.sent.size());
      if (is_sync) {
        CHORUS_ASSIGN_OR_RETURN(running.received, group.SendRecv(running.sent, to, planned.tag,
                                                                 running.got, from, planned.tag));
        return OkStatus();
      }
      running.recv = group.RecvAsync(running.got, from, planned.tag, &running.received);
      running.send = group.SendAsync(running.sent, to, planned.tag);
      return OkStatus();
    }
    CHORUS_RETURN_IF_ERROR(side.window->Put(running.sent, to, planned.slot * kSlotElements));
    running.recv = side.window->WaitSignalsAsync(from, ++side.expected_puts[from]);
    return OkStatus();
  }

  Status End(Running& running) {
    const Planned& planned = *running.planned;
    if (running.prepared.has_value()) CHORUS_RETURN_IF_ERROR(running.prepared->Wait());
    if (planned.kind == Planned::Kind::kList) CHORUS_RETURN_IF_ERROR(running.send.Wait());
    for (const auto& call : running.calls) CHORUS_RETURN_IF_ERROR(call->End());
    if (planned.kind == Planned::Kind::kCall) return OkStatus();
    Group& group = running.side->group;
    const int from = (group.rank() + group.size() - planned.shift) % group.size();
    CHORUS_RETURN_IF_ERROR(running.recv.Wait());
    CHORUS_RETURN_IF_ERROR(running.send.Wait());
    const std::vector<std::int32_t> want = ElementsOf(planned, from);
    if (planned.kind == Planned::Kind::kPuts) {
      const std::int32_t* const slot = &running.side->array[planned.slot * kSlotElements];
      if (std::equal(want.begin(), want.end(), slot)) return OkStatus();
      return Internal(fmt::format("a put of {} elements of rank {} did not arrive in slot {}",
                                  planned.count, from, planned.slot));
    }
    if (running.got != want || running.received.source != from ||
        running.received.count != planned.count) {
      return Internal(
          fmt::format("a message of {} elements of rank {} did not arrive", planned.count, from));
    }
    return OkStatus();
  }

  const int rank_;
  Planner plan_;
  std::mt19937_64 own_random_;
  MemoryOfEitherKind memory_;
  std::map<int, Side> groups_;  // by id
};

TEST(RandomMixTest, EveryResultIsRightOnOverlappingGroupsOfProcesses) {
  const std::uint64_t seed = SeedOfToday();
  const char* const asked = std::getenv("CHORUS_MIX");
  const std::int64_t operations =
      asked != nullptr ? std::strtoll(asked, nullptr, 10) : (kIsSanitized ? 1'000 : 10'000);
  std::printf("seed %llu, %lld operations\n", static_cast<unsigned long long>(seed),
              static_cast<long long>(operations));
  JoinOptions options;
  options.timeout = std::chrono::seconds(60);
  options.channel_bytes = std::int64_t{4} << 10;
  const Status status = RunRanks(
      kMixRanks, RankKind::kProcesses,
      [&](Group& world) { return Member(world, seed).Run(operations); }, options);
  EXPECT_TRUE(status.ok()) << status.message() << "; " << HowToRepeat(seed);
}

}  // namespace
}  // namespace chorus
