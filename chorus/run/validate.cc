#include "chorus/run/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace chorus {
namespace {

using Index = std::int64_t;

class PlanCheck {
 public:
  PlanCheck(const LoweredPlan& plan, const std::vector<Step>& steps)
      : plan_(plan), steps_(steps), owner_(steps.size(), -1) {}

  Status Run() {
    CHORUS_RETURN_IF_ERROR(CheckCover());
    for (Index i = 0; i < std::ssize(plan_.instructions); ++i) {
      CHORUS_RETURN_IF_ERROR(CheckMeaning(i));
      CHORUS_RETURN_IF_ERROR(CheckDependencies(i));
    }
    CHORUS_RETURN_IF_ERROR(CheckMergedAreUnread());
    return CheckMessageOrder();
  }

 private:
  const Instruction& instruction(Index i) const { return plan_.instructions[i]; }

  Status Wrong(Index i, const std::string& why) const {
    return Internal(fmt::format("plan of {} {} rank {}: instruction {} ({}): {}", plan_.algorithm,
                                Name(plan_.op), plan_.rank, i, instruction(i).ToString(), why));
  }

  Status CheckCover() {
    for (Index i = 0; i < std::ssize(plan_.instructions); ++i) {
      const auto& covered = instruction(i).steps;
      if (covered.empty()) return Wrong(i, "does no step");
      if (!std::is_sorted(covered.begin(), covered.end())) return Wrong(i, "steps not ascending");
      for (const Index s : covered) {
        if (s < 0 || s >= std::ssize(steps_)) return Wrong(i, fmt::format("step {} is none", s));
        if (owner_[s] >= 0) {
          return Wrong(i, fmt::format("step {} is done by instruction {} too", s, owner_[s]));
        }
        owner_[s] = i;
      }
    }
    const auto missing = std::find(owner_.begin(), owner_.end(), -1);
    if (missing == owner_.end()) return OkStatus();
    return Internal(fmt::format("plan of {} {} rank {}: no instruction does step {}",
                                plan_.algorithm, Name(plan_.op), plan_.rank,
                                steps_[missing - owner_.begin()].ToString()));
  }

  // Rule 1.
  Status CheckMeaning(Index i) const {
    const Instruction& x = instruction(i);
    const Step& last = steps_[x.steps.back()];
    if (x.kind != Instruction::Kind::kReduce) {
      const bool sends = x.kind == Instruction::Kind::kSend;
      const bool same = x.steps.size() == 1 && last.verb == (sends ? Verb::kSend : Verb::kRecv) &&
                        last.chunks == x.chunks && last.peer == x.peer &&
                        last.message == x.message && x.operands.empty();
      return same ? OkStatus() : Wrong(i, "is not step " + last.ToString());
    }
    std::map<std::pair<BufferKind, Index>, std::vector<Operand>> scratch;
    for (const Index s : x.steps) {
      const Step& step = steps_[s];
      if (step.verb == Verb::kSend) return Wrong(i, "hides step " + step.ToString());
      std::vector<Operand> value;
      if (step.verb == Verb::kRecv) {
        if (step.chunks.size() != 1) return Wrong(i, "takes several chunks: " + step.ToString());
        value = {{true, step.dst(), step.peer, step.message}};
      } else {
        value = Expand(scratch, step.a());
        if (step.verb == Verb::kReduce) {
          const std::vector<Operand> right = Expand(scratch, step.b());
          if (right.size() != 1) return Wrong(i, "changes parentheses of " + step.ToString());
          value.push_back(right[0]);
        }
      }
      if (s == x.steps.back()) {
        const bool same = value == x.operands && step.dst() == x.dst() && step.finish == x.finish;
        return same ? OkStatus() : Wrong(i, "does not give " + step.ToString());
      }
      if (step.finish) return Wrong(i, "skips the rounding of " + step.ToString());
      if (!IsScratch(step.dst().buffer)) return Wrong(i, "hides " + step.ToString());
      if (step.verb == Verb::kReduce && !HoldsAccumulators(step.dst().buffer)) {
        return Wrong(i, "skips the rounding of " + step.ToString());
      }
      scratch[{step.dst().buffer, step.dst().slot}] = value;
    }
    return OkStatus();
  }

  static std::vector<Operand> Expand(
      const std::map<std::pair<BufferKind, Index>, std::vector<Operand>>& scratch,
      const Chunk& chunk) {
    const auto found = scratch.find({chunk.buffer, chunk.slot});
    if (!IsScratch(chunk.buffer) || found == scratch.end()) return {{false, chunk, -1, -1}};
    std::vector<Operand> value = found->second;
    if (value.size() == 1 && value[0].is_message) value[0].chunk.scaled = chunk.scaled;
    return value;
  }

  // Rule 2.
  Status CheckMergedAreUnread() const {
    std::map<std::pair<BufferKind, Index>, Index> writer;
    for (Index s = 0; s < std::ssize(steps_); ++s) {
      const Step& step = steps_[s];
      const bool takes = step.verb == Verb::kRecv;
      const std::size_t first_read = step.verb == Verb::kSend ? 0 : 1;
      for (std::size_t c = first_read; !takes && c < step.chunks.size(); ++c) {
        const auto found = writer.find({step.chunks[c].buffer, step.chunks[c].slot});
        if (!IsScratch(step.chunks[c].buffer) || found == writer.end()) continue;
        const Index by = owner_[found->second];
        const bool is_merged = instruction(by).steps.back() != found->second;
        if (is_merged && by != owner_[s]) {
          return Wrong(by, fmt::format("keeps to itself what step {} reads", step.ToString()));
        }
      }
      if (step.verb == Verb::kSend) continue;
      const std::size_t writes = takes ? step.chunks.size() : 1;
      for (std::size_t c = 0; c < writes; ++c) {
        writer[{step.chunks[c].buffer, step.chunks[c].slot}] = s;
      }
    }
    return OkStatus();
  }

  // Rule 3.
  Status CheckDependencies(Index i) const {
    const auto& after = instruction(i).after;
    for (const Index d : after) {
      if (d < 0 || d >= i) return Wrong(i, fmt::format("waits for {}, which is not before it", d));
    }
    for (const Index s : instruction(i).steps) {
      for (const Index d : steps_[s].after) {
        if (owner_[d] == i) continue;
        if (std::find(after.begin(), after.end(), owner_[d]) == after.end()) {
          return Wrong(i, fmt::format("does not wait for step {}", steps_[d].ToString()));
        }
      }
    }
    return OkStatus();
  }

  // Rule 4.
  Status CheckMessageOrder() const {
    std::map<std::pair<bool, Index>, std::vector<Index>> wanted;  // (sends, peer) -> messages
    for (const Step& step : steps_) {
      if (step.IsMessage()) wanted[{step.verb == Verb::kSend, step.peer}].push_back(step.message);
    }
    std::map<std::pair<bool, Index>, std::vector<Index>> found;
    for (Index i = 0; i < std::ssize(plan_.instructions); ++i) {
      const Instruction& x = instruction(i);
      std::set<Index> peers;
      if (x.kind != Instruction::Kind::kReduce) {
        found[{x.kind == Instruction::Kind::kSend, x.peer}].push_back(x.message);
      }
      for (const Operand& operand : x.operands) {
        if (!operand.is_message) continue;
        if (!peers.insert(operand.peer).second) {
          return Wrong(i, fmt::format("takes two messages of rank {} at once", operand.peer));
        }
        found[{false, operand.peer}].push_back(operand.message);
      }
    }
    if (found == wanted) return OkStatus();
    return Internal(fmt::format("plan of {} {} rank {}: messages are not in the schedule's order",
                                plan_.algorithm, Name(plan_.op), plan_.rank));
  }

  const LoweredPlan& plan_;
  const std::vector<Step>& steps_;
  std::vector<Index> owner_;  // by step: its instruction
};

// The events of several tiles on all ranks, and what must come before what.
class EventGraph {
 public:
  explicit EventGraph(const std::vector<LoweredPlan>& plans) : plans_(plans) {
    for (const LoweredPlan& plan : plans) tiles_ = std::max(tiles_, plan.frame.tiles + 1);
    for (const LoweredPlan& plan : plans) {
      first_.push_back(count_);
      count_ += tiles_ * std::ssize(plan.instructions);
    }
    event_.resize(count_);
    for (Index i = 0; i < count_; ++i) event_[i] = i;
  }

  Status Check() {
    JoinMessages();
    std::vector<std::set<Index>> next(count_);
    const auto edge = [&](Index a, Index b) { next[Find(a)].insert(Find(b)); };
    for (Index rank = 0; rank < std::ssize(plans_); ++rank) AddEdges(rank, edge);
    std::vector<Index> waits(count_, 0);
    for (const auto& targets : next) {
      for (const Index t : targets) ++waits[t];
    }
    std::vector<Index> ready;
    Index done = 0;
    for (Index i = 0; i < count_; ++i) {
      if (waits[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const Index i = ready.back();
      ready.pop_back();
      ++done;
      for (const Index t : next[i]) {
        if (--waits[t] == 0) ready.push_back(t);
      }
    }
    if (done == count_) return OkStatus();
    for (Index i = 0; i < count_; ++i) {
      if (waits[i] > 0) {
        return Internal(fmt::format("plans of {} {} on {} ranks can block: {} waits for itself",
                                    plans_[0].algorithm, Name(plans_[0].op), plans_.size(),
                                    Describe(i)));
      }
    }
    return OkStatus();
  }

 private:
  Index Node(Index rank, Index tile, Index i) const {
    return first_[rank] + tile * std::ssize(plans_[rank].instructions) + i;
  }
  Index Find(Index i) const {
    while (event_[i] != i) i = event_[i];
    return i;
  }
  std::string Describe(Index node) const {
    Index rank = std::ssize(plans_) - 1;
    while (first_[rank] > node) --rank;
    const auto size = std::ssize(plans_[rank].instructions);
    const Index within = node - first_[rank];
    return fmt::format("rank {} tile {} '{}'", rank, within / size,
                       plans_[rank].instructions[within % size].ToString());
  }

  template <typename Function>  // function(taking node's instruction index, peer, message)
  static void ForTaken(const LoweredPlan& plan, const Function& function) {
    for (Index i = 0; i < std::ssize(plan.instructions); ++i) {
      const Instruction& x = plan.instructions[i];
      if (x.kind == Instruction::Kind::kRecv) function(i, x.peer, x.message);
      for (const Operand& operand : x.operands) {
        if (operand.is_message) function(i, operand.peer, operand.message);
      }
    }
  }

  void JoinMessages() {
    std::map<std::tuple<Index, Index, Index>, Index> sends;  // from, to, message -> instruction
    for (Index rank = 0; rank < std::ssize(plans_); ++rank) {
      for (Index i = 0; i < std::ssize(plans_[rank].instructions); ++i) {
        const Instruction& x = plans_[rank].instructions[i];
        if (x.kind == Instruction::Kind::kSend) sends[{rank, x.peer, x.message}] = i;
      }
    }
    for (Index rank = 0; rank < std::ssize(plans_); ++rank) {
      ForTaken(plans_[rank], [&](Index i, Index peer, Index message) {
        const auto send = sends.find({peer, rank, message});
        if (send == sends.end()) return;
        for (Index t = 0; t < tiles_; ++t) {
          event_[Find(Node(rank, t, i))] = Find(Node(peer, t, send->second));
        }
      });
    }
  }

  template <typename Edge>
  void AddEdges(Index rank, const Edge& edge) const {
    const LoweredPlan& plan = plans_[rank];
    std::map<std::pair<bool, Index>, Index> last;  // (sends, peer) -> node
    for (Index t = 0; t < tiles_; ++t) {
      const auto in_channel = [&](Index i, bool sends, Index peer) {
        const auto [it, is_new] = last.try_emplace({sends, peer}, Node(rank, t, i));
        if (!is_new) edge(std::exchange(it->second, Node(rank, t, i)), Node(rank, t, i));
      };
      for (Index i = 0; i < std::ssize(plan.instructions); ++i) {
        const Instruction& x = plan.instructions[i];
        for (const Index d : x.after) edge(Node(rank, t, d), Node(rank, t, i));
        if (x.kind == Instruction::Kind::kSend) in_channel(i, true, x.peer);
        if (t < plan.frame.tiles) continue;
        for (Index j = 0; j < std::ssize(plan.instructions); ++j) {
          edge(Node(rank, t - plan.frame.tiles, j), Node(rank, t, i));
        }
      }
      ForTaken(plan, [&](Index i, Index peer, Index /*message*/) { in_channel(i, false, peer); });
    }
  }

  const std::vector<LoweredPlan>& plans_;
  Index tiles_ = 1;
  Index count_ = 0;
  std::vector<Index> first_;  // by rank: its first node
  std::vector<Index> event_;  // union-find: the event of each node
};

}  // namespace

Status CheckPlan(const LoweredPlan& plan, const Schedule& schedule) {
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Step> steps,
                          schedule.ForRank(plan.group_size, plan.rank, plan.root));
  return PlanCheck(plan, steps).Run();
}

Status CheckTogether(const std::vector<LoweredPlan>& plans) { return EventGraph(plans).Check(); }

}  // namespace chorus
