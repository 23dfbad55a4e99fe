#include "chorus/schedule/schedule.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "chorus/schedule/lexer.h"

namespace chorus {
namespace {

// What the parser would read back as a name.
bool IsName(std::string_view text) {
  Lexer lexer(text);
  const bool name = lexer.ExpectName("it").ok();
  return name && lexer.AtEnd();
}

// Walks a body and checks every formula against the variables in scope.
class Checker {
 public:
  explicit Checker(bool has_root) {
    scope_ = {"r", "N"};
    if (has_root) scope_.emplace_back("root");
  }

  Status CheckFormula(const Expr& e) const {
    if (e.kind() == Expr::Kind::kVariable) {
      for (const std::string& name : scope_) {
        if (name == e.variable()) return OkStatus();
      }
      return InvalidArgument(fmt::format("'{}' has no value here; defined are {}", e.variable(),
                                         fmt::join(scope_, ", ")));
    }
    for (const Expr& operand : e.operands()) CHORUS_RETURN_IF_ERROR(CheckFormula(operand));
    return OkStatus();
  }

  // Before CheckBody: what the steps are called.
  void CollectLabels(const Body& body) {
    for (const BodyNode& node : body) {
      if (const auto* step = std::get_if<StepFamily>(&node.value)) {
        indices_[step->label.name].insert(step->label.index.size());
      } else if (const auto* loop = std::get_if<Loop>(&node.value)) {
        CollectLabels(loop->body);
      }
    }
  }

  Status CheckBody(const Body& body) {
    const std::size_t depth = scope_.size();
    for (const BodyNode& node : body) {
      if (const auto* step = std::get_if<StepFamily>(&node.value)) {
        const Status status = CheckStep(*step);
        if (!status.ok()) return status.WithContext("step " + step->label.ToString());
      } else if (const auto* let = std::get_if<Let>(&node.value)) {
        CHORUS_RETURN_IF_ERROR(CheckFormula(let->value).WithContext("let " + let->name));
        CHORUS_RETURN_IF_ERROR(Define(let->name));
      } else {
        const auto& loop = std::get<Loop>(node.value);
        const std::string context = "for " + loop.variable;
        CHORUS_RETURN_IF_ERROR(CheckFormula(loop.first).WithContext(context));
        CHORUS_RETURN_IF_ERROR(CheckFormula(loop.last).WithContext(context));
        CHORUS_RETURN_IF_ERROR(Define(loop.variable));
        CHORUS_RETURN_IF_ERROR(CheckBody(loop.body));
        scope_.pop_back();
      }
    }
    scope_.resize(depth);
    return OkStatus();
  }

 private:
  Status Define(const std::string& name) {
    if (!IsName(name)) return InvalidArgument(fmt::format("'{}' cannot name a variable", name));
    for (const std::string& taken : scope_) {
      if (taken == name) return InvalidArgument(fmt::format("'{}' is defined twice", name));
    }
    scope_.push_back(name);
    return OkStatus();
  }

  enum class Place : std::uint8_t { kMessage, kDestination, kOperand };

  Status CheckChunk(const ChunkExpr& chunk, Place place) {
    if (chunk.choice != nullptr) {
      CHORUS_RETURN_IF_ERROR(CheckFormula(chunk.choice->condition));
      CHORUS_RETURN_IF_ERROR(CheckChunk(chunk.choice->then, place));
      return CheckChunk(chunk.choice->otherwise, place);
    }
    if (chunk.range != nullptr) {
      if (place != Place::kMessage) {
        return InvalidArgument("a range of chunks can only be sent or received");
      }
      const ChunkExpr::Range& range = *chunk.range;
      CHORUS_RETURN_IF_ERROR(CheckFormula(range.first));
      CHORUS_RETURN_IF_ERROR(CheckFormula(range.last));
      CHORUS_RETURN_IF_ERROR(Define(range.variable));
      CHORUS_RETURN_IF_ERROR(CheckFormula(range.condition));
      CHORUS_RETURN_IF_ERROR(CheckChunk(range.chunk, place));
      scope_.pop_back();
      return OkStatus();
    }
    if (chunk.scaled && place != Place::kOperand) {
      return InvalidArgument("only an operand of reduce or copy can be scaled");
    }
    CHORUS_RETURN_IF_ERROR(CheckFormula(chunk.slot));
    return CheckFormula(chunk.block);
  }

  Status CheckLabel(const LabelExpr& label) const {
    if (!IsName(label.name)) {
      return InvalidArgument(fmt::format("'{}' cannot name a step", label.name));
    }
    for (const Expr& index : label.index) CHORUS_RETURN_IF_ERROR(CheckFormula(index));
    return OkStatus();
  }

  // A dependency on a step that exists on no rank, for no index, is a slip of the pen.
  Status CheckDependency(const LabelExpr& label) const {
    CHORUS_RETURN_IF_ERROR(CheckLabel(label));
    const auto known = indices_.find(label.name);
    if (known == indices_.end()) {
      std::string names;
      for (const auto& [name, unused] : indices_) names += (names.empty() ? "" : ", ") + name;
      return InvalidArgument(fmt::format(
          "it comes after {}, but no step has that name; there is {}", label.name, names));
    }
    if (label.every || known->second.contains(label.index.size())) return OkStatus();
    return InvalidArgument(
        fmt::format("it comes after {} with {} indices; where {} is listed it has {}", label.name,
                    label.index.size(), label.name, *known->second.begin()));
  }

  Status CheckStep(const StepFamily& step) {
    CHORUS_RETURN_IF_ERROR(CheckLabel(step.label));
    if (step.label.every) return InvalidArgument("only a dependency can name every step");
    const bool message = step.verb == Verb::kSend || step.verb == Verb::kRecv;
    const std::size_t wanted = step.verb == Verb::kReduce ? 3 : 2;
    if (!message && step.chunks.size() != wanted) {
      return InvalidArgument(fmt::format("{} takes {} chunks, {} are given", Name(step.verb),
                                         wanted, step.chunks.size()));
    }
    if (message && step.finish) {
      return InvalidArgument("only reduce and copy can finish a value");
    }
    for (std::size_t i = 0; i < step.chunks.size(); ++i) {
      const Place local = i > 0 ? Place::kOperand : Place::kDestination;
      CHORUS_RETURN_IF_ERROR(CheckChunk(step.chunks[i], message ? Place::kMessage : local));
    }
    CHORUS_RETURN_IF_ERROR(CheckFormula(step.peer));
    CHORUS_RETURN_IF_ERROR(CheckFormula(step.message));
    for (const LabelExpr& label : step.after) CHORUS_RETURN_IF_ERROR(CheckDependency(label));
    return step.guard.has_value() ? CheckFormula(*step.guard) : OkStatus();
  }

  std::vector<std::string> scope_;
  // By name of a step: the numbers of indices it is listed with.
  std::map<std::string, std::set<std::size_t>> indices_;
};

}  // namespace

Result<Schedule> Schedule::Make(Definition d) {
  if (!IsName(d.name)) {
    return InvalidArgument(
        fmt::format("'{}' cannot name a schedule; use letters, digits and _", d.name));
  }
  const std::string context = fmt::format("schedule {} {}", d.name, chorus::Name(d.op));
  if (Reduces(d.op) == (d.order == ReduceOrder::kNone)) {
    return InvalidArgument(fmt::format("{}: order is {}; {} needs {}", context,
                                       chorus::Name(d.order), chorus::Name(d.op),
                                       Reduces(d.op) ? "'rank' or 'any'" : "'none'"));
  }
  if (d.tiles < 1 || d.tiles > 1024) {
    return InvalidArgument(
        fmt::format("{}: {} tiles in flight; 1 to 1024 are possible", context, d.tiles));
  }
  Checker checker(HasRoot(d.op));
  for (const Expr* e : {&d.blocks, &d.owns, &d.tmp_slots, &d.acc_slots}) {
    CHORUS_RETURN_IF_ERROR(checker.CheckFormula(*e).WithContext(context));
  }
  checker.CollectLabels(d.body);
  CHORUS_RETURN_IF_ERROR(checker.CheckBody(d.body).WithContext(context));
  return Schedule(std::move(d));
}

bool operator==(const ChunkExpr& a, const ChunkExpr& b) {
  if ((a.choice == nullptr) != (b.choice == nullptr)) return false;
  if ((a.range == nullptr) != (b.range == nullptr)) return false;
  if (a.range != nullptr) {
    return a.range->variable == b.range->variable && a.range->first == b.range->first &&
           a.range->last == b.range->last && a.range->condition == b.range->condition &&
           a.range->chunk == b.range->chunk;
  }
  if (a.choice != nullptr) {
    return a.choice->condition == b.choice->condition && a.choice->then == b.choice->then &&
           a.choice->otherwise == b.choice->otherwise;
  }
  return a.buffer == b.buffer && a.slot == b.slot && a.block == b.block && a.scaled == b.scaled;
}

bool operator==(const Loop& a, const Loop& b) {
  return a.variable == b.variable && a.first == b.first && a.last == b.last && a.body == b.body;
}

}  // namespace chorus
