#include "chorus/shard/roles.h"

#include <algorithm>
#include <limits>

namespace chorus {
namespace {

bool IsNamed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::int64_t LongestPart(std::int64_t size, std::int64_t parts) {
  return (size + parts - 1) / parts;
}

}  // namespace

// The roles that are being given, and what was found.
struct RoleChoices::Search {
  double most_price;
  bool& left_out;
  AxisRoles roles;
  std::vector<std::int64_t> parts;  // of each index
  std::vector<Candidate> found;
};

RoleChoices::RoleChoices(const ComputeRequest& request, const OpRule& rule,
                         const ReshardPlanner& planner)
    : request_(request), rule_(rule), planner_(planner) {
  for (const MeshAxis& axis : planner.mesh().axes()) roles_.push_back(RolesOf(axis.name));
  for (const Spec& operand : request.operands) operands_.push_back(ArrayOf(operand));
  result_ = ArrayOf(request.wanted ? *request.wanted : request.result);
  for (const std::string& index : rule.loop) {
    is_summed_.push_back(IsNamed(rule.summed, index));
    sizes_.push_back(planner.sizes().find(index)->second);
  }
}

RoleChoices::Array RoleChoices::ArrayOf(const Spec& spec) const {
  Array array;
  for (const SpecDim& dim : spec.dims()) {
    array.sizes.push_back(planner_.sizes().find(dim.name)->second);
    const auto at = std::find(rule_.loop.begin(), rule_.loop.end(), dim.name);
    array.index.push_back(static_cast<std::size_t>(at - rule_.loop.begin()));
    array.parts.push_back(planner_.mesh().GroupSize(dim.axes));
  }
  const std::vector<MeshAxis>& axes = planner_.mesh().axes();
  for (std::size_t a = 0; a < axes.size(); ++a) {
    array.sums.push_back(spec.IsPartial(axes[a].name));
    if (array.sums[a] && axes[a].size > 1) array.sum_axes.push_back(a);
  }
  return array;
}

std::vector<AxisRole> RoleChoices::RolesOf(const std::string& axis) const {
  using Kind = AxisRole::Kind;
  std::vector<AxisRole> roles = {{Kind::kRepeats, 0}};
  std::vector<AxisRole> passing;
  for (std::size_t k = 0; k < request_.operands.size(); ++k) {
    if (request_.operands[k].IsPartial(axis)) passing.push_back({Kind::kPasses, k});
  }
  // Sums of addends pass through together, of factors only one.
  if (passing.size() == 1 || (!passing.empty() && request_.op != GraphOp::kContract)) {
    passing.assign(1, {Kind::kPasses, AxisRole::kOfAll});
  }
  roles.insert(roles.end(), passing.begin(), passing.end());
  for (std::size_t i = 0; i < rule_.loop.size(); ++i) {
    if (IsNamed(rule_.whole, rule_.loop[i])) continue;
    const AxisRole role{Kind::kSplits, i};
    if (!request_.strict || IsSplitBy(axis, role)) roles.push_back(role);
  }
  // Of ways that are alike in all else those are taken where axes do what they do already.
  std::stable_partition(roles.begin(), roles.end(),
                        [&](const AxisRole& role) { return IsSplitBy(axis, role); });
  return roles;
}

bool RoleChoices::IsSplitBy(const std::string& axis, const AxisRole& role) const {
  if (!role.Splits()) return false;
  const std::string& index = rule_.loop[role.which];
  for (const Spec& operand : request_.operands) {
    if (IsNamed(operand.AxesOf(index), axis)) return true;
  }
  return request_.wanted && IsNamed(request_.wanted->AxesOf(index), axis);
}

std::vector<RoleChoices::Candidate> RoleChoices::Within(double most_price, bool& left_out) const {
  Search search{most_price,
                left_out,
                AxisRoles(roles_.size()),
                std::vector<std::int64_t>(rule_.loop.size(), 1),
                {}};
  Assign(0, 0, search);
  std::sort(search.found.begin(), search.found.end(), [](const Candidate& a, const Candidate& b) {
    return a.at_least != b.at_least ? a.at_least < b.at_least : a.number < b.number;
  });
  return std::move(search.found);
}

AxisRoles RoleChoices::At(std::uint64_t number) const {
  AxisRoles roles(roles_.size());
  for (std::size_t a = roles_.size(); a-- > 0; number /= roles_[a].size()) {
    roles[a] = roles_[a][number % roles_[a].size()];
  }
  return roles;
}

// Gives axis number `axis` and those after it each of their roles.
void RoleChoices::Assign(std::size_t axis, std::uint64_t number, Search& search) const {
  if (axis == roles_.size()) {
    const double at_least = AtLeast(search.roles, search.parts);
    if (at_least < 0) return;
    if (at_least <= search.most_price) {
      search.found.push_back({at_least, number});
    } else {
      search.left_out = true;
    }
    return;
  }
  const std::int64_t ranks = planner_.mesh().axes()[axis].size;
  number *= roles_[axis].size();
  for (const AxisRole& role : roles_[axis]) {
    search.roles[axis] = role;
    if (role.Splits()) search.parts[role.which] *= ranks;
    Assign(axis + 1, number++, search);
    if (role.Splits()) search.parts[role.which] /= ranks;
  }
}

double RoleChoices::AtLeast(const AxisRoles& roles, const std::vector<std::int64_t>& parts) const {
  Cost cost;
  double moves = 0;
  std::int64_t computed = request_.op == GraphOp::kContract ? 2 : 0;
  for (std::size_t k = 0; k < operands_.size(); ++k) {
    const Array& array = operands_[k];
    const bool is_sum = std::any_of(array.sum_axes.begin(), array.sum_axes.end(),
                                    [&](std::size_t a) { return !roles[a].PassesIn(k); });
    const std::int64_t elements = Elements(array, parts);
    moves += ToMove(elements, is_sum ? 0 : InBoth(array, parts));
    if (request_.op != GraphOp::kContract) computed += elements;
  }
  bool is_sum = false;  // over an axis of several ranks, over which it is not wanted to be one
  const std::int64_t elements = Elements(result_, parts);
  for (std::size_t a = 0; a < roles.size(); ++a) {
    const bool sums = roles[a].Passes() || (roles[a].Splits() && is_summed_[roles[a].which]);
    const std::int64_t ranks = planner_.mesh().axes()[a].size;
    const bool stays = request_.wanted && result_.sums[a];
    if (stays && !sums) return -1;
    is_sum = is_sum || (sums && !stays && ranks > 1);
    if (sums && request_.charges_sums && !request_.wanted) {
      cost.bytes_sent +=
          LeastBytesSent(ProgramOpKind::kReduceScatter, ranks, elements, planner_.dtype());
    }
  }
  if (request_.wanted) {
    moves += ToMove(Elements(result_, {}), is_sum ? 0 : InBoth(result_, parts));
  }
  if (request_.op == GraphOp::kContract) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) computed *= LongestPart(sizes_[i], parts[i]);
  } else {
    computed += elements;
  }
  cost.flops = Flops(computed);
  const double price = Price(request_.before + cost, planner_.tariff()) + moves;
  return price - 1e-9 * price;  // a sum of prices may round
}

// What it costs at least that rank 0, which held so many of them, has all these elements.
double RoleChoices::ToMove(std::int64_t elements, std::int64_t held) const {
  if (elements == held) return 0;
  const std::int64_t bytes = (elements - held) * SizeOf(planner_.dtype());
  return planner_.evenness() * static_cast<double>(bytes) + planner_.tariff().latency_bytes;
}

// Of rank 0 where each index has that many parts, or as given.
std::int64_t RoleChoices::Elements(const Array& array, const std::vector<std::int64_t>& parts) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < array.sizes.size(); ++d) {
    elements *= LongestPart(array.sizes[d], parts.empty() ? array.parts[d] : parts[array.index[d]]);
  }
  return elements;
}

// Of rank 0 in both layouts.
std::int64_t RoleChoices::InBoth(const Array& array, const std::vector<std::int64_t>& parts) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < array.sizes.size(); ++d) {
    elements *= LongestPart(array.sizes[d], std::max(array.parts[d], parts[array.index[d]]));
  }
  return elements;
}

}  // namespace chorus
