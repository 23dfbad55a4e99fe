#include "chorus/shard/compute.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "chorus/program/program.h"

namespace chorus {
namespace {

constexpr std::string_view kRepeats = "-";  // a role: no index
// A role: a sum over the axis passes through, of every operand that is one; or, "+1", of that
// operand alone, the others being summed first.
constexpr std::string_view kPasses = "+";

bool Passes(std::string_view role) { return role.substr(0, 1) == kPasses; }
bool PassesIn(std::string_view role, std::size_t operand) {
  return role == kPasses || (Passes(role) && role.substr(1) == std::to_string(operand));
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Enumerates the roles of all mesh axes and prices what each assignment asks for.
class Enumeration {
 public:
  Enumeration(const ComputeRequest& request, OpRule rule, ReshardPlanner& planner)
      : request_(request),
        rule_(std::move(rule)),
        planner_(planner),
        mesh_(planner.mesh()),
        sizes_(planner.sizes()),
        tariff_(planner.tariff()),
        most_price_(request.most_price),
        roles_(mesh_.axes().size()) {}

  // Nothing if there is no way at all.
  std::optional<std::vector<ComputePlan>> Run() {
    Assign(0);
    if (plans_.empty() && !left_out_) return std::nullopt;
    std::sort(plans_.begin(), plans_.end(),
              [this](const ComputePlan& a, const ComputePlan& b) { return Key(a) < Key(b); });
    if (plans_.size() > request_.most_ways) plans_.resize(request_.most_ways);
    return std::move(plans_);
  }

 private:
  std::tuple<double, std::size_t, std::string> Key(const ComputePlan& plan) const {
    return {Price(plan.cost, tariff_), plan.CountMoves(), plan.rule};
  }

  std::vector<std::string> RolesOf(const std::string& axis) const {
    std::vector<std::string> roles{std::string(kRepeats)};
    std::vector<std::string> passing;
    for (std::size_t k = 0; k < request_.operands.size(); ++k) {
      if (request_.operands[k].IsPartial(axis)) passing.push_back(fmt::format("{}{}", kPasses, k));
    }
    // Sums of addends pass through together, of factors only one.
    if (passing.size() == 1 || (!passing.empty() && request_.op != GraphOp::kContract)) {
      passing.assign(1, std::string(kPasses));
    }
    roles.insert(roles.end(), passing.begin(), passing.end());
    for (const std::string& index : rule_.loop) {
      if (Has(rule_.whole, index)) continue;
      if (!request_.strict || IsSplitBy(axis, index)) roles.push_back(index);
    }
    // What the axis does already is likely to be cheap: then what is dearer is found out sooner.
    std::stable_partition(roles.begin(), roles.end(),
                          [&](const std::string& role) { return IsSplitBy(axis, role); });
    return roles;
  }

  bool IsSplitBy(const std::string& axis, const std::string& index) const {
    for (const Spec& operand : request_.operands) {
      if (Has(operand.AxesOf(index), axis)) return true;
    }
    return request_.wanted && Has(request_.wanted->AxesOf(index), axis);
  }

  // Gives axis number `i` each of its roles; with all given, tries the orders of axes on one index.
  void Assign(std::size_t i) {
    if (i < roles_.size()) {
      for (std::string& role : RolesOf(mesh_.axes()[i].name)) {
        roles_[i] = std::move(role);
        Assign(i + 1);
      }
      return;
    }
    std::map<std::string, AxisNames> splits;
    for (std::size_t a = 0; a < roles_.size(); ++a) {
      if (roles_[a] != kRepeats && !Passes(roles_[a])) {
        splits[roles_[a]].push_back(mesh_.axes()[a].name);
      }
    }
    for (auto& [index, axes] : splits) std::sort(axes.begin(), axes.end());
    Order(splits, splits.begin());
  }

  void Order(std::map<std::string, AxisNames>& splits,
             std::map<std::string, AxisNames>::iterator next) {
    if (next == splits.end()) return Try(splits);
    const auto after = std::next(next);
    do {
      Order(splits, after);
    } while (std::next_permutation(next->second.begin(), next->second.end()));
  }

  // How an array of indices `like` lies under these splits, `partial` aside. Empty if it may not.
  static std::optional<Spec> Lie(const Spec& like, const std::map<std::string, AxisNames>& splits,
                                 AxisNames partial) {
    std::vector<SpecDim> dims = like.dims();
    for (SpecDim& dim : dims) {
      const auto split = splits.find(dim.name);
      dim.axes = split == splits.end() ? AxisNames() : split->second;
    }
    Result<Spec> spec = Spec::Create(like.name(), std::move(dims), std::move(partial));
    if (!spec.ok()) return std::nullopt;
    return std::move(spec).value();
  }

  void Try(const std::map<std::string, AxisNames>& splits) {
    ComputePlan plan;
    AxisNames partial;  // of the result
    for (std::size_t a = 0; a < roles_.size(); ++a) {
      const MeshAxis& axis = mesh_.axes()[a];
      if (Has(rule_.summed, roles_[a]) || Passes(roles_[a])) partial.push_back(axis.name);
      if (roles_[a] == kRepeats && axis.size > 1) plan.repeated.push_back(axis.name);
    }
    for (std::size_t k = 0; k < request_.operands.size(); ++k) {
      const Spec& operand = request_.operands[k];
      AxisNames passing;
      for (const std::string& axis : operand.partial()) {
        if (PassesIn(RoleOf(axis), k)) passing.push_back(axis);
      }
      std::optional<Spec> lies = Lie(operand, splits, std::move(passing));
      if (!lies) return;
      plan.operands.push_back(*std::move(lies));
    }
    const std::optional<Spec> result = Lie(request_.result, splits, std::move(partial));
    if (!result || !CheckCompute(request_.op, plan.operands, *result).ok()) return;
    plan.result = *result;
    plan.cost.flops =
        LocalFlops(request_.op, plan.operands, plan.result, mesh_, sizes_, /*rank=*/0);
    if (IsTooDear(plan)) return;
    moves_.clear();
    for (std::size_t k = 0; k < plan.operands.size(); ++k) {
      if (!AddMoves(request_.operands[k], plan.operands[k], plan)) return;
      if (IsTooDear(plan)) return;
    }
    if (!Finish(plan)) return;
    for (const ReshardPlan* const reshard : moves_) plan.operand_moves.push_back(*reshard);
    plan.rule = Describe(plan);
    prices_.push(Price(request_.before + plan.cost, tariff_));
    if (prices_.size() > request_.most_ways) prices_.pop();
    if (prices_.size() == request_.most_ways) most_price_ = std::min(most_price_, prices_.top());
    plans_.push_back(std::move(plan));
  }

  const std::string& RoleOf(const std::string& axis) const {
    std::size_t a = 0;
    while (mesh_.axes()[a].name != axis) ++a;
    return roles_[a];
  }

  // Charges `plan` for the moves of its next operand; they are copied when all ends well.
  bool AddMoves(const Spec& from, const Spec& to, ComputePlan& plan) {
    const ReshardPlan* const moves = MovesTo(from, to, plan);
    if (moves == nullptr) return false;
    const bool gathers =
        std::any_of(moves->moves.begin(), moves->moves.end(), [](const Move& move) {
          return move.kind == ProgramOpKind::kAllGather || ExchangesPieces(move.kind);
        });
    if (gathers && request_.strict) return false;
    plan.cost = plan.cost + moves->cost;
    moves_.push_back(moves);
    return true;
  }

  // Null if there is no way, or none for what is left to pay after `plan` so far.
  const ReshardPlan* MovesTo(const Spec& from, const Spec& to, const ComputePlan& plan) {
    const double paid = Price(request_.before + plan.cost, tariff_);
    const double left = most_price_ - paid + 1e-9 * paid;  // a sum of prices may round
    const IdleAxes idle = request_.strict ? IdleAxes::kLeave : request_.idle;
    const Result<ReshardPlan>* const moves = planner_.Plan(from, to, left, idle);
    left_out_ = left_out_ || moves == nullptr;
    return moves != nullptr && moves->ok() ? &**moves : nullptr;
  }

  bool IsTooDear(const ComputePlan& plan) {
    const bool is = Price(request_.before + plan.cost, tariff_) > most_price_;
    left_out_ = left_out_ || is;
    return is;
  }

  // Adds what happens to the result.
  bool Finish(ComputePlan& plan) {
    if (!request_.wanted) {
      const std::int64_t elements = LocalShape(plan.result, mesh_, sizes_, 0).elements();
      for (const std::string& axis : plan.result.partial()) {
        plan.cost.bytes_sent += LeastBytesSent(ProgramOpKind::kReduceScatter, mesh_.AxisSize(axis),
                                               elements, planner_.dtype());
      }
      return true;
    }
    const ReshardPlan* const moves = MovesTo(plan.result, *request_.wanted, plan);
    if (moves == nullptr) return false;
    plan.cost = plan.cost + moves->cost;
    plan.result_moves = *moves;
    return true;
  }

  std::string Describe(const ComputePlan& plan) const {
    std::string roles;
    for (std::size_t a = 0; a < roles_.size(); ++a) {
      roles += roles.empty() ? "" : ", ";
      roles += mesh_.axes()[a].name;
      if (roles_[a] == kRepeats) {
        roles += " repeats";
      } else if (roles_[a] == kPasses) {
        roles += " passes a sum on";
      } else if (Passes(roles_[a])) {
        const auto operand = static_cast<std::size_t>(std::stoul(roles_[a].substr(1)));
        roles += fmt::format(" passes the sum of {} on", request_.operands[operand].name());
      } else {
        roles += " splits " + roles_[a];
      }
    }
    std::string moves;
    const auto add = [&moves](const std::string& name, const ReshardPlan& reshard) {
      for (const Move& move : reshard.moves) {
        moves += fmt::format("{}{} of {}", moves.empty() ? "" : ", ", ToString(move),
                             name.empty() ? "an operand" : name);
      }
    };
    for (std::size_t k = 0; k < plan.operands.size(); ++k) {
      add(request_.operands[k].name(), plan.operand_moves[k]);
    }
    add(request_.result.name().empty() ? "the result" : request_.result.name(), plan.result_moves);
    if (roles.empty()) roles = "one rank";
    return moves.empty() ? roles : roles + ": " + moves;
  }

  const ComputeRequest& request_;
  OpRule rule_;
  ReshardPlanner& planner_;
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const Tariff& tariff_;
  double most_price_;                      // ways that cost more are not wanted any more
  std::priority_queue<double> prices_;     // of the request's most_ways cheapest so far
  bool left_out_ = false;                  // a way that was too dear
  std::vector<std::string> roles_;         // by axis of the mesh: an index, kRepeats or kPasses
  std::vector<const ReshardPlan*> moves_;  // of the operands, of the way that is tried
  std::vector<ComputePlan> plans_;
};

}  // namespace

std::size_t ComputePlan::CountMoves() const {
  std::size_t moves = result_moves.moves.size();
  for (const ReshardPlan& reshard : operand_moves) moves += reshard.moves.size();
  return moves;
}

Flops LocalFlops(GraphOp op, const std::vector<Spec>& operands, const Spec& result,
                 const Mesh& mesh, const DimSizes& sizes, std::int64_t rank) {
  if (op != GraphOp::kContract) {
    std::int64_t elements = LocalShape(result, mesh, sizes, rank).elements();
    for (const Spec& operand : operands) {
      elements += LocalShape(operand, mesh, sizes, rank).elements();
    }
    return Flops(elements);
  }
  std::map<std::string, std::int64_t> loop;
  for (const Spec& operand : operands) {
    const Shape shape = LocalShape(operand, mesh, sizes, rank);
    for (int d = 0; d < shape.rank(); ++d) {
      loop[operand.dims()[static_cast<std::size_t>(d)].name] = shape[d];
    }
  }
  std::int64_t flops = 2;
  for (const auto& [index, size] : loop) flops *= size;
  return Flops(flops);
}

namespace {

// Error if the operations of one rank that does all would not be counted in 64 bits.
Status CheckFlops(const OpRule& rule, const DimSizes& sizes) {
  std::int64_t flops = 2;
  for (const std::string& index : rule.loop) {
    const std::int64_t size = sizes.find(index)->second;
    if (size > 0 && flops > std::numeric_limits<std::int64_t>::max() / size) {
      return InvalidArgument(
          fmt::format("a loop over {} with {} is more than 2^63 operations; give "
                      "smaller sizes",
                      JoinDims(rule.loop), ToString(sizes)));
    }
    flops *= size;
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<ComputePlan>> PlanCompute(const ComputeRequest& request, const Mesh& mesh,
                                             const DimSizes& sizes, const Tariff& tariff) {
  ReshardPlanner planner(request.dtype, mesh, sizes, tariff);
  return PlanCompute(request, planner);
}

Result<std::vector<ComputePlan>> PlanCompute(const ComputeRequest& request,
                                             ReshardPlanner& planner) {
  const Mesh& mesh = planner.mesh();
  const DimSizes& sizes = planner.sizes();
  std::vector<Dims> dims;
  for (const Spec& operand : request.operands) {
    CHORUS_RETURN_IF_ERROR(operand.Check(mesh));
    CHORUS_RETURN_IF_ERROR(CheckSizes(operand, sizes));
    dims.push_back(operand.DimNames());
  }
  CHORUS_RETURN_IF_ERROR(CheckSizes(request.result, sizes));
  CHORUS_ASSIGN_OR_RETURN(OpRule rule, MakeRule(request.op, dims, request.result.DimNames()));
  if (request.op == GraphOp::kContract) CHORUS_RETURN_IF_ERROR(CheckFlops(rule, sizes));
  if (request.wanted) {
    CHORUS_RETURN_IF_ERROR(request.wanted->Check(mesh));
    if (request.wanted->DimNames() != request.result.DimNames()) {
      return InvalidArgument(fmt::format("the result {} cannot lie as {}: dimensions differ",
                                         request.result.ToString(), request.wanted->ToString()));
    }
  }
  std::optional<std::vector<ComputePlan>> plans =
      Enumeration(request, std::move(rule), planner).Run();
  if (!plans && !request.strict) {
    return InvalidArgument(
        fmt::format("no way leads to {}: a sum over an axis comes out only where the axis splits a "
                    "summed index",
                    request.wanted ? request.wanted->ToString() : request.result.ToString()));
  }
  return std::move(plans).value_or(std::vector<ComputePlan>());
}

}  // namespace chorus
