// Expansion: the steps of one rank, from the family. Lazy per rank; nothing of other ranks is
// built.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

// More blocks, slots or message numbers than this is a mistake in a formula, not a schedule: a ring
// of a million ranks needs as many blocks.
constexpr std::int64_t kMost = std::int64_t{1} << 22;

// The same of steps and chunks, and of turns that list nothing: what a rank does grows with the
// ranks (or, of trees, with their logarithm), so that more than this a rank is a slip of the pen.
std::int64_t MostSteps(std::int64_t group_size) {
  return (std::int64_t{1} << 17) + 256 * std::min(group_size, kMost);
}

Result<Bindings> Bind(std::int64_t group_size, std::int64_t rank, std::int64_t root) {
  if (group_size < 1) {
    return InvalidArgument(fmt::format("a group has at least 1 rank, not {}", group_size));
  }
  if (rank < 0 || rank >= group_size) {
    return InvalidArgument(
        fmt::format("rank {} is not in a group of {} (0 to {})", rank, group_size, group_size - 1));
  }
  if (root < 0 || root >= group_size) {
    return InvalidArgument(
        fmt::format("root {} is not in a group of {} (0 to {})", root, group_size, group_size - 1));
  }
  Bindings bindings;
  bindings.Push("N", group_size);
  bindings.Push("r", rank);
  bindings.Push("root", root);
  return bindings;
}

Status CheckRange(std::string_view what, std::int64_t value, std::int64_t end) {
  if (value >= 0 && value < end) return OkStatus();
  if (end <= 0) return InvalidArgument(fmt::format("{} is {}, but there is none", what, value));
  return InvalidArgument(fmt::format("{} is {}; it must be in 0 .. {}", what, value, end - 1));
}

// Walks the body with the values of its variables and lists the steps that exist.
class Expander {
 public:
  Expander(const Frame& frame, Bindings bindings, std::int64_t group_size, std::int64_t rank,
           std::int64_t most)
      : frame_(frame),
        bindings_(std::move(bindings)),
        group_size_(group_size),
        rank_(rank),
        most_(most) {}

  Status Run(const Body& body) {
    std::size_t defined = 0;
    for (const BodyNode& node : body) {
      if (const auto* family = std::get_if<StepFamily>(&node.value)) {
        CHORUS_RETURN_IF_ERROR(AddStep(*family));
      } else if (const auto* let = std::get_if<Let>(&node.value)) {
        CHORUS_ASSIGN_OR_RETURN(const std::int64_t value, let->value.Evaluate(bindings_));
        bindings_.Push(let->name, value);
        ++defined;
      } else {
        CHORUS_RETURN_IF_ERROR(RunLoop(std::get<Loop>(node.value)));
      }
    }
    bindings_.Pop(defined);
    return OkStatus();
  }

  // A dependency on a step that is not listed is left out only if the rank has no such step at all.
  Result<std::vector<Step>> Take() && {
    for (const auto& [step, label] : missing_) {
      if (const auto found = index_.find(label); found != index_.end()) {
        return InvalidArgument(fmt::format(
            "step {} comes after {}, which is listed later; list steps in an order in which they "
            "can be done",
            steps_[step].label, label));
      }
    }
    return std::move(steps_);
  }

 private:
  Status RunLoop(const Loop& loop) {
    return ForEach(loop, [&] { return Run(loop.body); });
  }

  // Calls `turn` with the variable of a loop or range bound to each of its values.
  template <typename Repetition, typename Turn>
  Status ForEach(const Repetition& loop, const Turn& turn) {
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t first, loop.first.Evaluate(bindings_));
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t last, loop.last.Evaluate(bindings_));
    for (std::int64_t i = first; i <= last; ++i) {
      CHORUS_RETURN_IF_ERROR(
          Count().WithContext(fmt::format("for {} in {} .. {}", loop.variable, first, last)));
      bindings_.Push(loop.variable, i);
      CHORUS_RETURN_IF_ERROR(turn());
      bindings_.Pop(1);
    }
    return OkStatus();
  }

  // One more line of the body, chunk or turn is looked at.
  Status Count() {
    const std::int64_t most = MostSteps(group_size_);
    if (++looked_at_ <= most) return OkStatus();
    return InvalidArgument(
        fmt::format("rank {} of {} looks at more than {} lines, turns and chunks for {} steps; is "
                    "the end of a loop right?",
                    rank_, group_size_, most, steps_.size()));
  }

  // Adds the chunks of `expr`: several if it is a range.
  Status AddChunks(const ChunkExpr& expr, std::vector<Chunk>& chunks) {
    if (expr.choice != nullptr) {
      CHORUS_ASSIGN_OR_RETURN(const std::int64_t c, expr.choice->condition.Evaluate(bindings_));
      return AddChunks(c != 0 ? expr.choice->then : expr.choice->otherwise, chunks);
    }
    if (expr.range != nullptr) {
      const ChunkExpr::Range& range = *expr.range;
      return ForEach(range, [&]() -> Status {
        CHORUS_ASSIGN_OR_RETURN(const std::int64_t c, range.condition.Evaluate(bindings_));
        return c != 0 ? AddChunks(range.chunk, chunks) : OkStatus();
      });
    }
    CHORUS_ASSIGN_OR_RETURN(const Chunk chunk, expr.Evaluate(bindings_));
    CHORUS_RETURN_IF_ERROR(CheckRange("the block", chunk.block, frame_.blocks));
    if (IsScratch(chunk.buffer)) {
      const bool tmp = chunk.buffer == BufferKind::kTmp;
      CHORUS_RETURN_IF_ERROR(CheckRange(tmp ? "the tmp slot" : "the acc slot", chunk.slot,
                                        tmp ? frame_.tmp_slots : frame_.acc_slots));
    }
    chunks.push_back(chunk);
    return OkStatus();
  }

  Status AddStep(const StepFamily& family) {
    CHORUS_RETURN_IF_ERROR(Count());
    if (family.guard.has_value()) {
      CHORUS_ASSIGN_OR_RETURN(const std::int64_t exists, family.guard->Evaluate(bindings_));
      if (exists == 0) return OkStatus();
    }
    CHORUS_ASSIGN_OR_RETURN(std::string label, family.label.Evaluate(bindings_));
    const auto index = static_cast<std::int64_t>(steps_.size());
    if (!index_.emplace(label, index).second) {
      return InvalidArgument(
          fmt::format("step {} of rank {}: there are two steps of this name", label, rank_));
    }
    Step step;
    step.verb = family.verb;
    step.label = std::move(label);
    step.finish = family.finish;
    if (const Status filled = Fill(family, index, step); !filled.ok()) {
      return filled.WithContext(fmt::format("step {} of rank {}", step.label, rank_));
    }
    held_ += 1 + std::ssize(step.chunks) + std::ssize(step.after);
    if (held_ > most_) {
      return ResourceExhausted(
          fmt::format("rank {} of {} has more than {} steps, chunks and dependencies", rank_,
                      group_size_, most_));
    }
    steps_.push_back(std::move(step));
    by_name_[family.label.name].push_back(index);
    return OkStatus();
  }

  // Works out everything of a step but its name.
  Status Fill(const StepFamily& family, std::int64_t index, Step& step) {
    for (const ChunkExpr& expr : family.chunks) {
      CHORUS_RETURN_IF_ERROR(AddChunks(expr, step.chunks));
    }
    if (step.IsMessage()) {
      CHORUS_ASSIGN_OR_RETURN(step.peer, family.peer.Evaluate(bindings_));
      CHORUS_ASSIGN_OR_RETURN(step.message, family.message.Evaluate(bindings_));
      CHORUS_RETURN_IF_ERROR(CheckRange("the peer", step.peer, group_size_));
      CHORUS_RETURN_IF_ERROR(CheckRange("the message number", step.message, kMost));
      if (step.peer == rank_) return InvalidArgument("the peer is the rank itself");
    }
    for (const LabelExpr& reference : family.after) {
      if (reference.every) {
        const std::vector<std::int64_t>& earlier = by_name_[reference.name];
        step.after.insert(step.after.end(), earlier.begin(), earlier.end());
        continue;
      }
      CHORUS_ASSIGN_OR_RETURN(std::string label, reference.Evaluate(bindings_));
      const auto found = index_.find(label);
      if (found == index_.end()) {
        missing_.emplace_back(index, std::move(label));
      } else if (found->second == index) {
        return InvalidArgument("it comes after itself");
      } else {
        step.after.push_back(found->second);
      }
    }
    std::sort(step.after.begin(), step.after.end());
    step.after.erase(std::unique(step.after.begin(), step.after.end()), step.after.end());
    return OkStatus();
  }

  Frame frame_;
  Bindings bindings_;
  std::int64_t group_size_;
  std::int64_t rank_;
  std::int64_t most_;
  std::int64_t held_ = 0;  // steps, their chunks and dependencies
  std::int64_t looked_at_ = 0;
  std::vector<Step> steps_;
  std::unordered_map<std::string, std::int64_t> index_;  // by label
  std::unordered_map<std::string, std::vector<std::int64_t>> by_name_;
  std::vector<std::pair<std::int64_t, std::string>> missing_;  // references that found no step
};

}  // namespace

Result<Chunk> ChunkExpr::Evaluate(const Bindings& bindings) const {
  if (choice != nullptr) {
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t condition, choice->condition.Evaluate(bindings));
    return (condition != 0 ? choice->then : choice->otherwise).Evaluate(bindings);
  }
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t slot_value, slot.Evaluate(bindings));
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t block_value, block.Evaluate(bindings));
  return Chunk{buffer, IsScratch(buffer) ? slot_value : 0, block_value, scaled};
}

Result<std::string> LabelExpr::Evaluate(const Bindings& bindings) const {
  if (index.empty()) return name;
  std::string text = name + "[";
  for (std::size_t i = 0; i < index.size(); ++i) {
    CHORUS_ASSIGN_OR_RETURN(const std::int64_t value, index[i].Evaluate(bindings));
    if (i > 0) text += ", ";
    text += fmt::format("{}", value);
  }
  return text + "]";
}

Result<Frame> Schedule::FrameFor(std::int64_t group_size, std::int64_t rank,
                                 std::int64_t root) const {
  const Definition& d = definition_;
  CHORUS_ASSIGN_OR_RETURN(const Bindings bindings, Bind(group_size, rank, root));
  Frame frame;
  frame.tiles = d.tiles;
  CHORUS_ASSIGN_OR_RETURN(frame.blocks, d.blocks.Evaluate(bindings));
  CHORUS_ASSIGN_OR_RETURN(frame.tmp_slots, d.tmp_slots.Evaluate(bindings));
  CHORUS_ASSIGN_OR_RETURN(frame.acc_slots, d.acc_slots.Evaluate(bindings));
  for (const auto& [count, what] :
       {std::pair(frame.blocks, "blocks"), std::pair(frame.tmp_slots, "tmp slots"),
        std::pair(frame.acc_slots, "acc slots")}) {
    if (count >= 0 && count <= kMost) continue;
    const bool pairs = d.op == OpKind::kAllToAll && count > kMost;
    return InvalidArgument(fmt::format("{} ranks have {} {}{}; a schedule has 0 to {}", group_size,
                                       count, what, pairs ? ", one for each pair of ranks" : "",
                                       kMost));
  }
  if (d.op == OpKind::kAllToAll && frame.blocks != group_size * group_size) {
    return InvalidArgument(fmt::format("{} blocks for {} ranks; all_to_all has N * N, here {}",
                                       frame.blocks, group_size, group_size * group_size));
  }
  if (HasOwners(d.op)) {
    CHORUS_ASSIGN_OR_RETURN(frame.own, d.owns.Evaluate(bindings));
    CHORUS_RETURN_IF_ERROR(CheckRange("the block a rank owns", frame.own, frame.blocks));
  }
  return frame;
}

Result<std::vector<Step>> Schedule::ForRank(std::int64_t group_size, std::int64_t rank,
                                            std::int64_t root, std::int64_t most) const {
  const std::string context = fmt::format("schedule {} {}", name(), chorus::Name(op()));
  Result<Frame> frame = FrameFor(group_size, rank, root);
  if (!frame.ok()) return frame.status().WithContext(context);
  CHORUS_ASSIGN_OR_RETURN(Bindings bindings, Bind(group_size, rank, root));
  Expander expander(*frame, std::move(bindings), group_size, rank, most);
  CHORUS_RETURN_IF_ERROR(expander.Run(definition_.body).WithContext(context));
  Result<std::vector<Step>> steps = std::move(expander).Take();
  if (!steps.ok()) return steps.status().WithContext(context);
  return steps;
}

}  // namespace chorus
