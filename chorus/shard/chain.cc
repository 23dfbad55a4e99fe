#include "chorus/shard/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

namespace chorus {
namespace {

// A way to have the product of a run of neighbours.
struct Node {
  Spec spec;          // how it lies
  Cost paid;          // by all steps below
  double price = 0;   // of that
  std::string order;  // "(A * B)"
  const Node* left = nullptr;
  const Node* right = nullptr;
  int operand = 0;   // of a leaf
  ComputePlan plan;  // of a product
};
using Nodes = std::vector<std::unique_ptr<Node>>;

// Cheapest first, then fewest moves, then by text, so that the choice never depends on chance.
bool IsBefore(const Node& a, const Node& b) {
  if (a.price != b.price) return a.price < b.price;
  return std::make_tuple(a.plan.CountMoves(), std::string_view(a.order),
                         std::string_view(a.plan.rule)) <
         std::make_tuple(b.plan.CountMoves(), std::string_view(b.order),
                         std::string_view(b.plan.rule));
}

// The first so many of the nodes that were offered, in order.
class Shortlist {
 public:
  // `one_per_layout`: of each layout only the first.
  Shortlist(std::size_t most, bool one_per_layout) : most_(most), one_per_layout_(one_per_layout) {}

  void Offer(std::unique_ptr<Node> node) {
    if (one_per_layout_) {
      const auto same = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& other) {
        return other->spec.SameLayout(node->spec);
      });
      if (same != nodes_.end()) {
        if (!IsBefore(*node, **same)) return;
        nodes_.erase(same);
      }
    }
    const auto before = [](const auto& a, const auto& b) { return IsBefore(*a, *b); };
    nodes_.insert(std::upper_bound(nodes_.begin(), nodes_.end(), node, before), std::move(node));
    if (nodes_.size() > most_) nodes_.pop_back();
  }

  // What costs more than this is not taken any more.
  double MostPrice() const {
    const bool is_full = nodes_.size() == most_;
    return is_full ? nodes_.back()->price : std::numeric_limits<double>::infinity();
  }
  std::size_t most() const { return most_; }
  bool empty() const { return nodes_.empty(); }
  Nodes Take() { return std::move(nodes_); }

 private:
  std::size_t most_;
  bool one_per_layout_;
  Nodes nodes_;
};

class Chain {
 public:
  Chain(const std::vector<Spec>& operands, const Spec& result, const std::optional<Spec>& wanted,
        ReshardPlanner& planner, std::optional<std::size_t> most_ways, IdleAxes idle)
      : operands_(operands),
        result_(result),
        wanted_(wanted),
        tariff_(planner.tariff()),
        most_ways_(most_ways),
        idle_(idle),
        planner_(planner) {}

  Result<std::vector<ChainPlan>> Run() {
    const std::size_t n = operands_.size();
    for (std::size_t i = 0; i < n; ++i) {
      auto leaf = std::make_unique<Node>();
      leaf->spec = operands_[i];
      leaf->order = operands_[i].name();
      leaf->operand = static_cast<int>(i);
      best_[{i, i}].push_back(std::move(leaf));
    }
    for (std::size_t length = 2; length <= n; ++length) {
      for (std::size_t i = 0; i + length <= n; ++i) {
        CHORUS_RETURN_IF_ERROR(Solve(i, i + length - 1));
      }
    }
    std::vector<ChainPlan> plans;
    for (const auto& node : best_[{0, n - 1}]) plans.push_back(Flatten(*node));
    return plans;
  }

 private:
  bool IsAll(std::size_t i, std::size_t j) const { return i == 0 && j + 1 == operands_.size(); }

  // Name and dimensions of the product of operands i..j.
  Spec Target(std::size_t i, std::size_t j) const {
    if (IsAll(i, j)) return result_;
    std::string name;
    std::vector<std::string> dims;
    for (std::size_t k = i; k <= j; ++k) {
      name += operands_[k].name();
      for (const std::string& dim : operands_[k].DimNames()) {
        const bool is_new = std::find(dims.begin(), dims.end(), dim) == dims.end();
        if (is_new && IsNeeded(dim, i, j)) dims.push_back(dim);
      }
    }
    return Spec::Whole(name, dims);
  }

  bool IsNeeded(const std::string& dim, std::size_t i, std::size_t j) const {
    if (result_.FindDim(dim) >= 0) return true;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if ((k < i || k > j) && operands_[k].FindDim(dim) >= 0) return true;
    }
    return false;
  }

  // Ways that are kept of the product of operands i..j.
  std::size_t WaysKept(std::size_t i, std::size_t j) const {
    const std::size_t all = std::numeric_limits<std::size_t>::max();
    const std::size_t kept = operands_.size() > 2 ? kLayoutsKept : all;
    return IsAll(i, j) ? std::min(kept, most_ways_.value_or(all)) : kept;
  }

  // Fills best_[i, j] from all shorter runs.
  Status Solve(std::size_t i, std::size_t j) {
    Shortlist found(WaysKept(i, j), /*one_per_layout=*/!IsAll(i, j));
    std::optional<Status> refused;
    const Spec target = Target(i, j);
    for (std::size_t k = i; k < j; ++k) {
      for (const auto& left : best_[{i, k}]) {
        for (const auto& right : best_[{k + 1, j}]) {
          if (Price(left->paid + right->paid, tariff_) > found.MostPrice()) break;  // nor cheaper
          const Status status = Multiply(*left, *right, target, IsAll(i, j), found);
          if (!status.ok() && !refused) refused = status;
        }
      }
    }
    if (found.empty()) return refused ? *refused : Internal("a run without products");
    best_[{i, j}] = found.Take();
    return OkStatus();
  }

  Status Multiply(const Node& left, const Node& right, const Spec& target, bool is_last,
                  Shortlist& found) {
    ComputeRequest request;
    request.operands = {left.spec, right.spec};
    request.result = target;
    if (is_last) {
      request.wanted = wanted_;
      request.most_ways = found.most();
    }
    request.charges_sums = is_last;
    request.dtype = planner_.dtype();
    request.idle = idle_;
    request.before = left.paid + right.paid;
    request.most_price = found.MostPrice();
    CHORUS_ASSIGN_OR_RETURN(std::vector<ComputePlan> plans, PlanCompute(request, planner_));
    for (ComputePlan& plan : plans) {
      auto node = std::make_unique<Node>();
      node->spec = plan.Final().WithName(target.name());
      node->paid = request.before + plan.cost;
      node->price = Price(node->paid, tariff_);
      node->order =
          is_last ? left.order + " * " + right.order : "(" + left.order + " * " + right.order + ")";
      node->left = &left;
      node->right = &right;
      node->plan = std::move(plan);
      found.Offer(std::move(node));
    }
    return OkStatus();
  }

  ChainPlan Flatten(const Node& root) const {
    ChainPlan plan;
    Visit(root, plan);
    plan.cost = root.paid;
    plan.order = root.order;
    for (const ChainStep& step : plan.steps) {
      for (const std::string& axis : step.plan.repeated) {
        const auto& seen = plan.repeated;
        if (std::find(seen.begin(), seen.end(), axis) == seen.end()) plan.repeated.push_back(axis);
      }
      if (plan.steps.size() == 1) {
        plan.rule = step.plan.rule;
      } else {
        plan.rule += fmt::format("{}{}: {}", plan.rule.empty() ? "" : "; then ",
                                 step.plan.result.name(), step.plan.rule);
      }
    }
    return plan;
  }

  // Adds the steps of `node`, left to right, and returns its number.
  int Visit(const Node& node, ChainPlan& plan) const {
    if (node.left == nullptr) return node.operand;
    const int left = Visit(*node.left, plan);
    const int right = Visit(*node.right, plan);
    plan.steps.push_back({left, right, node.plan});
    return static_cast<int>(operands_.size() + plan.steps.size()) - 1;
  }

  const std::vector<Spec>& operands_;
  const Spec& result_;
  const std::optional<Spec>& wanted_;
  const Tariff& tariff_;
  const std::optional<std::size_t> most_ways_;
  const IdleAxes idle_;
  ReshardPlanner& planner_;
  std::map<std::pair<std::size_t, std::size_t>, Nodes> best_;  // by first and last operand
};

}  // namespace

std::string Describe(const ChainPlan& plan) {
  return plan.steps.size() > 1 ? plan.order + "; " + plan.rule : plan.rule;
}

Result<std::vector<ChainPlan>> PlanChain(const std::vector<Spec>& operands, const Spec& result,
                                         const std::optional<Spec>& wanted, const Mesh& mesh,
                                         const DimSizes& sizes, DType dtype, const Tariff& tariff,
                                         std::optional<std::size_t> most_ways, IdleAxes idle) {
  ReshardPlanner planner(dtype, mesh, sizes, tariff);
  return PlanChain(operands, result, wanted, planner, most_ways, idle);
}

Result<std::vector<ChainPlan>> PlanChain(const std::vector<Spec>& operands, const Spec& result,
                                         const std::optional<Spec>& wanted, ReshardPlanner& planner,
                                         std::optional<std::size_t> most_ways, IdleAxes idle) {
  if (operands.size() < 2 || operands.size() > kMostOperands) {
    return InvalidArgument(fmt::format("a chain of {} operands; 2 to {} can be planned",
                                       operands.size(), kMostOperands));
  }
  return Chain(operands, result, wanted, planner, most_ways, idle).Run();
}

}  // namespace chorus
