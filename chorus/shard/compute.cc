#include "chorus/shard/compute.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "chorus/program/program.h"
#include "chorus/shard/roles.h"

namespace chorus {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of an operation with these roles: the axes that split each index, in the order of OpRule::loop.
using IndexSplits = std::vector<AxisNames>;

// Tries the roles of all mesh axes, likely ones first, and prices what each assignment asks for.
class Enumeration {
 public:
  Enumeration(const ComputeRequest& request, OpRule rule, ReshardPlanner& planner)
      : request_(request),
        rule_(std::move(rule)),
        planner_(planner),
        mesh_(planner.mesh()),
        sizes_(planner.sizes()),
        tariff_(planner.tariff()),
        choices_(request_, rule_, planner_),
        most_price_(request.most_price) {}

  // Nothing if there is no way at all.
  std::optional<std::vector<ComputePlan>> Run() {
    for (const RoleChoices::Candidate& candidate : choices_.Within(most_price_, left_out_)) {
      if (candidate.at_least > most_price_) {
        left_out_ = true;
        break;
      }
      TryAll(candidate.number);
    }
    if (found_.empty() && !left_out_) return std::nullopt;
    std::sort(found_.begin(), found_.end(), [](const Found& a, const Found& b) {
      return std::tie(a.price, a.moves, a.plan.rule, a.roles, a.order) <
             std::tie(b.price, b.moves, b.plan.rule, b.roles, b.order);
    });
    if (found_.size() > request_.most_ways) found_.resize(request_.most_ways);
    std::vector<ComputePlan> plans;
    plans.reserve(found_.size());
    for (Found& found : found_) plans.push_back(std::move(found.plan));
    return plans;
  }

 private:
  struct Found {
    ComputePlan plan;
    double price;
    std::size_t moves;
    std::uint64_t roles;  // their number
    std::size_t order;    // of the axes, among those that were tried
  };

  // Tries these roles with every order of the axes on one index.
  void TryAll(std::uint64_t number) {
    number_ = number;
    order_ = 0;
    roles_ = choices_.At(number);
    IndexSplits splits(rule_.loop.size());
    for (std::size_t a = 0; a < roles_.size(); ++a) {
      if (roles_[a].Splits()) splits[roles_[a].which].push_back(mesh_.axes()[a].name);
    }
    for (AxisNames& axes : splits) std::sort(axes.begin(), axes.end());
    Order(splits, 0);
  }

  void Order(IndexSplits& splits, std::size_t index) {
    if (index == splits.size()) {
      Try(splits);
      ++order_;
      return;
    }
    do {
      Order(splits, index + 1);
    } while (std::next_permutation(splits[index].begin(), splits[index].end()));
  }

  // How an array of indices `like` lies under these splits, `partial` aside.
  Spec Lie(const Spec& like, const IndexSplits& splits, AxisNames partial) const {
    std::vector<SpecDim> dims = like.dims();
    for (SpecDim& dim : dims) {
      const auto at = std::find(rule_.loop.begin(), rule_.loop.end(), dim.name);
      dim.axes = splits[static_cast<std::size_t>(at - rule_.loop.begin())];
    }
    return *Spec::Create(like.name(), std::move(dims), std::move(partial));
  }

  void Try(const IndexSplits& splits) {
    ComputePlan plan;
    AxisNames partial;  // of the result
    std::vector<AxisNames> passing(request_.operands.size());
    for (std::size_t a = 0; a < roles_.size(); ++a) {
      const MeshAxis& axis = mesh_.axes()[a];
      const AxisRole& role = roles_[a];
      const bool sums = role.Splits() && Has(rule_.summed, rule_.loop[role.which]);
      if (sums || role.Passes()) partial.push_back(axis.name);
      if (role.Repeats() && axis.size > 1) plan.repeated.push_back(axis.name);
      for (std::size_t k = 0; k < passing.size(); ++k) {
        const bool passes = role.PassesIn(k) && request_.operands[k].IsPartial(axis.name);
        if (passes) passing[k].push_back(axis.name);
      }
    }
    for (std::size_t k = 0; k < request_.operands.size(); ++k) {
      plan.operands.push_back(Lie(request_.operands[k], splits, std::move(passing[k])));
    }
    plan.result = Lie(request_.result, splits, std::move(partial));
    // All roles suit a product.
    const bool is_product = request_.op == GraphOp::kContract;
    if (!is_product && !CheckCompute(request_.op, plan.operands, plan.result).ok()) return;
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
    const double price = Price(request_.before + plan.cost, tariff_);
    prices_.push(price);
    if (prices_.size() > request_.most_ways) prices_.pop();
    if (prices_.size() == request_.most_ways) most_price_ = std::min(most_price_, prices_.top());
    const std::size_t moves = plan.CountMoves();
    found_.push_back({std::move(plan), price, moves, number_, order_});
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
    if (!request_.wanted && request_.charges_sums) {
      const std::int64_t elements = LocalShape(plan.result, mesh_, sizes_, 0).elements();
      for (const std::string& axis : plan.result.partial()) {
        plan.cost.bytes_sent += LeastBytesSent(ProgramOpKind::kReduceScatter, mesh_.AxisSize(axis),
                                               elements, planner_.dtype());
      }
    }
    if (!request_.wanted) return true;
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
      const AxisRole& role = roles_[a];
      if (role.Repeats()) {
        roles += " repeats";
      } else if (role.Splits()) {
        roles += " splits " + rule_.loop[role.which];
      } else if (role.which == AxisRole::kOfAll) {
        roles += " passes a sum on";
      } else {
        roles += " passes the sum of " + request_.operands[role.which].name() + " on";
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
  const RoleChoices choices_;
  double most_price_;                      // ways that cost more are not wanted any more
  std::priority_queue<double> prices_;     // of the request's most_ways cheapest so far
  bool left_out_ = false;                  // a way that was too dear
  AxisRoles roles_;                        // that are tried, by axis of the mesh
  std::uint64_t number_ = 0;               // of these roles
  std::size_t order_ = 0;                  // of the axes on one index that is tried
  std::vector<const ReshardPlan*> moves_;  // of the operands, of the way that is tried
  std::vector<Found> found_;
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
