#include "chorus/shard/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

namespace chorus {
namespace {

// A way to have the product of a run of neighbours.
struct Node {
  Spec spec;          // how it lies
  Cost paid;          // by all steps below
  std::string order;  // "(A * B)"
  const Node* left = nullptr;
  const Node* right = nullptr;
  int operand = 0;   // of a leaf
  ComputePlan plan;  // of a product
};
using Nodes = std::vector<std::unique_ptr<Node>>;

class Chain {
 public:
  Chain(const std::vector<Spec>& operands, const Spec& result, const std::optional<Spec>& wanted,
        const Mesh& mesh, const DimSizes& sizes, DType dtype, const Tariff& tariff)
      : operands_(operands),
        result_(result),
        wanted_(wanted),
        mesh_(mesh),
        sizes_(sizes),
        tariff_(tariff),
        planner_(dtype, mesh, sizes, tariff) {}

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

  double PriceOf(const Node& node) const { return Price(node.paid, tariff_); }

  // Cheapest first, then fewest moves, then by text, so that the choice never depends on chance.
  void Sort(Nodes& nodes) const {
    const auto key = [this](const Node& node) {
      std::size_t moves = node.plan.result_moves.moves.size();
      for (const Reshard& reshard : node.plan.operand_moves) moves += reshard.moves.size();
      return std::make_tuple(PriceOf(node), moves, node.order, node.plan.rule);
    };
    std::sort(nodes.begin(), nodes.end(),
              [&](const auto& a, const auto& b) { return key(*a) < key(*b); });
  }

  // Fills best_[i, j] from all shorter runs.
  Status Solve(std::size_t i, std::size_t j) {
    Nodes found;
    std::optional<Status> refused;
    const Spec target = Target(i, j);
    for (std::size_t k = i; k < j; ++k) {
      for (const auto& left : best_[{i, k}]) {
        for (const auto& right : best_[{k + 1, j}]) {
          if (TooDear(found, *left, *right)) break;  // those after it cost more
          const Status status = Multiply(*left, *right, target, IsAll(i, j), found);
          if (!status.ok() && !refused) refused = status;
        }
      }
    }
    if (found.empty()) return refused ? *refused : Internal("a run without products");
    Sort(found);
    if (!IsAll(i, j)) KeepLayouts(found);
    if (operands_.size() > 2 && found.size() > kLayoutsKept) found.resize(kLayoutsKept);
    best_[{i, j}] = std::move(found);
    return OkStatus();
  }

  // True if the operands alone cost more than kLayoutsKept ways that were found.
  bool TooDear(const Nodes& found, const Node& left, const Node& right) const {
    const double price = Price(left.paid + right.paid, tariff_);
    const auto cheaper = [&](const auto& node) { return PriceOf(*node) < price; };
    return std::count_if(found.begin(), found.end(), cheaper) >= std::ssize(found) &&
           found.size() >= kLayoutsKept;
  }

  Status Multiply(const Node& left, const Node& right, const Spec& target, bool is_last,
                  Nodes& found) {
    ComputeRequest request;
    request.operands = {left.spec, right.spec};
    request.result = target;
    if (is_last) request.wanted = wanted_;
    request.dtype = planner_.dtype();
    CHORUS_ASSIGN_OR_RETURN(std::vector<ComputePlan> plans, PlanCompute(request, planner_));
    for (ComputePlan& plan : plans) {
      auto node = std::make_unique<Node>();
      node->spec = plan.Final().WithName(target.name());
      node->paid = left.paid + right.paid + (is_last ? plan.cost : CostSoFar(plan));
      node->order =
          is_last ? left.order + " * " + right.order : "(" + left.order + " * " + right.order + ")";
      node->left = &left;
      node->right = &right;
      node->plan = std::move(plan);
      found.push_back(std::move(node));
    }
    return OkStatus();
  }

  // What a plan costs without the reduction that a sum in its result is charged: in a chain the
  // products after it pay for that.
  Cost CostSoFar(const ComputePlan& plan) const {
    Cost cost = plan.result_moves.cost;
    for (const Reshard& reshard : plan.operand_moves) cost = cost + reshard.cost;
    cost.flops += LocalFlops(GraphOp::kContract, plan.operands, plan.result, mesh_, sizes_, 0);
    return cost;
  }

  // Of each layout the cheapest. REQUIRES: sorted.
  static void KeepLayouts(Nodes& nodes) {
    Nodes kept;
    for (auto& node : nodes) {
      const auto same = [&](const auto& other) { return other->spec.SameLayout(node->spec); };
      if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(std::move(node));
    }
    nodes = std::move(kept);
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
  const Mesh& mesh_;
  const DimSizes& sizes_;
  const Tariff& tariff_;
  ReshardPlanner planner_;
  std::map<std::pair<std::size_t, std::size_t>, Nodes> best_;  // by first and last operand
};

}  // namespace

std::string Describe(const ChainPlan& plan) {
  return plan.steps.size() > 1 ? plan.order + "; " + plan.rule : plan.rule;
}

Result<std::vector<ChainPlan>> PlanChain(const std::vector<Spec>& operands, const Spec& result,
                                         const std::optional<Spec>& wanted, const Mesh& mesh,
                                         const DimSizes& sizes, DType dtype, const Tariff& tariff) {
  if (operands.size() < 2 || operands.size() > kMostOperands) {
    return InvalidArgument(fmt::format("a chain of {} operands; 2 to {} can be planned",
                                       operands.size(), kMostOperands));
  }
  return Chain(operands, result, wanted, mesh, sizes, dtype, tariff).Run();
}

}  // namespace chorus
