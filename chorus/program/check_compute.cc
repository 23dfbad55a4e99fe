// Which specs a computation accepts and leaves, from the declarative rule of its kind alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "chorus/program/program.h"

namespace chorus {
namespace {

std::string Show(const AxisNames& axes) { return axes.empty() ? "whole" : JoinAxes(axes); }

// How each index is split, checked to be the same in all arrays that have it.
class Splits {
 public:
  Status Add(const Spec& spec) {
    for (const SpecDim& dim : spec.dims()) {
      const auto [entry, is_new] = by_index_.try_emplace(dim.name, dim.axes, spec.ToString());
      if (!is_new && entry->second.first != dim.axes) {
        return InvalidArgument(fmt::format(
            "index {} is {} in {} but {} in {}; bring one to the other's split", dim.name,
            Show(entry->second.first), entry->second.second, Show(dim.axes), spec.ToString()));
      }
    }
    return OkStatus();
  }

  const AxisNames& AxesOf(const std::string& index) const { return by_index_.at(index).first; }

  // The index that `axis` splits, "" if none.
  std::string IndexSplitBy(const std::string& axis) const {
    for (const auto& [index, split] : by_index_) {
      if (std::find(split.first.begin(), split.first.end(), axis) != split.first.end()) {
        return index;
      }
    }
    return "";
  }

  Status CheckEachAxisSplitsOneIndex() const {
    std::map<std::string, std::string> index_of;
    for (const auto& [index, split] : by_index_) {
      for (const std::string& axis : split.first) {
        const auto [entry, is_new] = index_of.emplace(axis, index);
        if (!is_new) {
          return InvalidArgument(fmt::format(
              "axis {} splits index {} and index {}, so blocks off the diagonal would be missing; "
              "gather one of them",
              axis, entry->second, index));
        }
      }
    }
    return OkStatus();
  }

 private:
  std::map<std::string, std::pair<AxisNames, std::string>> by_index_;  // axes, where seen first
};

// Ok if operand k may be partial over `axis`.
Status CheckPartial(GraphOp op, const OpRule& rule, const std::vector<Spec>& operands,
                    std::size_t k, const std::string& axis, const Splits& splits) {
  const std::string operand = operands[k].ToString();
  const auto reduce_first = [&](const std::string& reason) {
    return InvalidArgument(
        fmt::format("{}, so {} must be reduced over {} first", reason, operand, axis));
  };
  if (const std::string index = splits.IndexSplitBy(axis); !index.empty()) {
    return reduce_first(fmt::format("axis {} splits index {} of {}", axis, index, Name(op)));
  }
  switch (rule.linearity[k]) {
    case Linearity::kNone:
      return reduce_first(fmt::format("{} is not linear in operand {}", Name(op), k));
    case Linearity::kAlone:
      for (std::size_t other = 0; other < operands.size(); ++other) {
        if (other != k && operands[other].IsPartial(axis)) {
          return reduce_first(
              fmt::format("a product of two sums over {} is not the sum of the "
                          "products, and {} is partial too",
                          axis, operands[other].ToString()));
        }
      }
      return OkStatus();
    case Linearity::kJoint:
      for (const Spec& other : operands) {
        if (!other.IsPartial(axis)) {
          return reduce_first(fmt::format("{} is whole over {} and would be added once a rank",
                                          other.ToString(), axis));
        }
      }
      return OkStatus();
  }
  return OkStatus();
}

}  // namespace

Status CheckCompute(GraphOp op, const std::vector<Spec>& operands, const Spec& result) {
  std::vector<Dims> operand_dims;
  operand_dims.reserve(operands.size());
  for (const Spec& operand : operands) operand_dims.push_back(operand.DimNames());
  CHORUS_ASSIGN_OR_RETURN(const OpRule rule, MakeRule(op, operand_dims, result.DimNames()));

  Splits splits;
  for (const Spec& operand : operands) CHORUS_RETURN_IF_ERROR(splits.Add(operand));
  CHORUS_RETURN_IF_ERROR(splits.Add(result));
  CHORUS_RETURN_IF_ERROR(splits.CheckEachAxisSplitsOneIndex());
  for (const std::string& index : rule.whole) {
    if (!splits.AxesOf(index).empty()) {
      return InvalidArgument(fmt::format("{} needs index {} whole on each rank, but {} splits it",
                                         Name(op), index, JoinAxes(splits.AxesOf(index))));
    }
  }

  AxisNames partial;  // that comes out
  for (const std::string& index : rule.summed) {
    const AxisNames& axes = splits.AxesOf(index);
    partial.insert(partial.end(), axes.begin(), axes.end());
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    for (const std::string& axis : operands[k].partial()) {
      CHORUS_RETURN_IF_ERROR(CheckPartial(op, rule, operands, k, axis, splits));
      partial.push_back(axis);
    }
  }
  std::sort(partial.begin(), partial.end());
  partial.erase(std::unique(partial.begin(), partial.end()), partial.end());
  if (partial != result.partial()) {
    return InvalidArgument(
        fmt::format("{} leaves a result partial over {}, but {} says {}", Name(op),
                    partial.empty() ? "no axis" : JoinAxes(partial), result.ToString(),
                    result.partial().empty() ? "no axis" : JoinAxes(result.partial())));
  }
  return OkStatus();
}

}  // namespace chorus
