#include "chorus/graph/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chorus {
namespace {

constexpr std::array<std::pair<GraphOp, std::string_view>, 11> kNames = {{
    {GraphOp::kInput, "input"},
    {GraphOp::kParameter, "parameter"},
    {GraphOp::kConstant, "constant"},
    {GraphOp::kContract, "contract"},
    {GraphOp::kAdd, "add"},
    {GraphOp::kGelu, "gelu"},
    {GraphOp::kGeluGrad, "gelu_grad"},
    {GraphOp::kEmbedWindow, "embed_window"},
    {GraphOp::kEmbedWindowGrad, "embed_window_grad"},
    {GraphOp::kCrossEntropy, "cross_entropy"},
    {GraphOp::kCrossEntropyGrad, "cross_entropy_grad"},
}};

bool Has(const Dims& dims, const std::string& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

void AddMissing(Dims& dims, const Dims& more) {
  for (const std::string& dim : more) {
    if (!Has(dims, dim)) dims.push_back(dim);
  }
}

// "contract takes [..], [..] -> [..]" with what came instead.
Status Refuse(GraphOp op, std::string_view takes, const std::vector<Dims>& operands,
              const Dims& result) {
  std::string came;
  for (const Dims& dims : operands) {
    came += fmt::format("{}[{}]", came.empty() ? "" : ", ", JoinDims(dims));
  }
  return InvalidArgument(fmt::format("{} takes {}; it was given {} -> [{}]", Name(op), takes,
                                     came.empty() ? "no operands" : came, JoinDims(result)));
}

bool AllEqual(const std::vector<Dims>& operands, const Dims& result) {
  return std::all_of(operands.begin(), operands.end(),
                     [&](const Dims& dims) { return dims == result; });
}

bool ContractFits(const std::vector<Dims>& operands, const Dims& result) {
  if (operands.size() != 2) return false;
  // Every index must be in two of the three arrays: a sum over an index of one operand alone, or an
  // index of the result that comes from nowhere, is no product.
  Dims all = result;
  for (const Dims& dims : operands) AddMissing(all, dims);
  return std::all_of(all.begin(), all.end(), [&](const std::string& dim) {
    return Has(operands[0], dim) + Has(operands[1], dim) + Has(result, dim) >= 2;
  });
}

}  // namespace

std::string_view Name(GraphOp op) {
  for (const auto& [kind, name] : kNames) {
    if (kind == op) return name;
  }
  return "";
}

std::optional<GraphOp> ParseGraphOp(std::string_view name) {
  for (const auto& [kind, text] : kNames) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

std::string JoinDims(const Dims& dims) { return fmt::format("{}", fmt::join(dims, ", ")); }

bool TakesIndices(GraphOp op, std::size_t index) {
  switch (op) {
    case GraphOp::kEmbedWindow:
    case GraphOp::kEmbedWindowGrad:
      return index == 0;
    case GraphOp::kCrossEntropy:
    case GraphOp::kCrossEntropyGrad:
      return index == 1;
    default:
      return false;
  }
}

Result<OpRule> MakeRule(GraphOp op, const std::vector<Dims>& operands, const Dims& result) {
  const auto shape = [&](std::size_t i, std::size_t dims) {
    return i < operands.size() && operands[i].size() == dims;
  };
  const auto refuse = [&](std::string_view takes) { return Refuse(op, takes, operands, result); };
  OpRule rule;
  rule.operands = operands;
  rule.result = result;
  switch (op) {
    case GraphOp::kInput:
    case GraphOp::kParameter:
    case GraphOp::kConstant:
      if (!operands.empty()) return refuse("no operands");
      break;
    case GraphOp::kContract:
      if (!ContractFits(operands, result)) {
        return refuse("two operands and a result, each index in at least two of the three");
      }
      rule.linearity = {Linearity::kAlone, Linearity::kAlone};
      break;
    case GraphOp::kAdd:
      if (operands.size() < 2 || !AllEqual(operands, result)) {
        return refuse("at least two operands of the result's dimensions");
      }
      rule.linearity.assign(operands.size(), Linearity::kJoint);
      break;
    case GraphOp::kGelu:
      if (operands.size() != 1 || !AllEqual(operands, result)) {
        return refuse("one operand of the result's dimensions");
      }
      rule.linearity = {Linearity::kNone};
      break;
    case GraphOp::kGeluGrad:
      if (operands.size() != 2 || !AllEqual(operands, result)) {
        return refuse("x and dy of the result's dimensions");
      }
      rule.linearity = {Linearity::kNone, Linearity::kAlone};
      break;
    case GraphOp::kEmbedWindow:
      if (operands.size() != 2 || !shape(0, 2) || !shape(1, 3) ||
          operands[1][0] != operands[0][1] || result != Dims{operands[0][0], operands[1][2]}) {
        return refuse("tokens [B, W], table [W, V, D] -> [B, D]");
      }
      rule.linearity = {Linearity::kNone, Linearity::kAlone};
      break;
    case GraphOp::kEmbedWindowGrad:
      if (operands.size() != 2 || !shape(0, 2) || !shape(1, 2) ||
          operands[1][0] != operands[0][0] || result.size() != 3 || result[0] != operands[0][1] ||
          result[2] != operands[1][1]) {
        return refuse("tokens [B, W], dx [B, D] -> [W, V, D]");
      }
      rule.linearity = {Linearity::kNone, Linearity::kAlone};
      break;
    case GraphOp::kCrossEntropy:
      if (operands.size() != 2 || !shape(0, 2) || operands[1] != Dims{operands[0][0]} ||
          !result.empty()) {
        return refuse("logits [B, V], targets [B] -> []");
      }
      rule.linearity = {Linearity::kNone, Linearity::kNone};
      rule.whole = {operands[0][1]};
      break;
    case GraphOp::kCrossEntropyGrad:
      if (operands.size() != 3 || !shape(0, 2) || operands[1] != Dims{operands[0][0]} ||
          !operands[2].empty() || result != operands[0]) {
        return refuse("logits [B, V], targets [B], dloss [] -> [B, V]");
      }
      rule.linearity = {Linearity::kNone, Linearity::kNone, Linearity::kAlone};
      rule.whole = {operands[0][1]};
      break;
  }
  rule.loop = result;
  for (const Dims& dims : operands) AddMissing(rule.loop, dims);
  for (const std::string& dim : rule.loop) {
    if (!Has(result, dim)) rule.summed.push_back(dim);
  }
  return rule;
}

}  // namespace chorus
