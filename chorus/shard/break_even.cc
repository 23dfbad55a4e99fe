#include "chorus/shard/break_even.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace chorus {
namespace {

bool SplitsDim(const SpecDim& dim, const std::string& axis) {
  return std::find(dim.axes.begin(), dim.axes.end(), axis) != dim.axes.end();
}

// The dimension of `spec` that `axis` splits; null if none.
const SpecDim* DimSplitBy(const Spec& spec, const std::string& axis) {
  for (const SpecDim& dim : spec.dims()) {
    if (SplitsDim(dim, axis)) return &dim;
  }
  return nullptr;
}

std::int64_t Elements(const std::map<std::string, std::int64_t>& local, const Spec& spec) {
  std::int64_t elements = 1;
  for (const SpecDim& dim : spec.dims()) elements *= local.at(dim.name);
  return elements;
}

}  // namespace

std::vector<BreakEven> BreakEvensOf(const Product& product, const std::vector<AxisCase>& cases,
                                    const Mesh& mesh, const DimSizes& sizes, DType dtype,
                                    const Tariff& tariff) {
  std::vector<BreakEven> points;
  if (product.operands.size() != 2) return points;
  for (const AxisCase& found : cases) {
    if (found.number != 2) continue;
    const std::string& axis = found.axis;
    const bool first = DimSplitBy(product.operands[0], axis) != nullptr;
    const Spec& split = product.operands[first ? 0 : 1];
    const Spec& other = product.operands[first ? 1 : 0];
    if (other.Uses(axis) || split.IsPartial(axis)) continue;
    const SpecDim& dim = *DimSplitBy(split, axis);
    // Sizes on rank 0 with `axis` aside: what splits a dimension in either operand splits it.
    std::map<std::string, std::int64_t> local;
    std::int64_t loop = 1;  // of all dimensions but `dim`
    for (const Spec* spec : {&split, &other}) {
      for (const SpecDim& d : spec->dims()) {
        AxisNames axes = d.axes;
        std::erase(axes, axis);
        const std::int64_t size = BlockOf(axes, mesh, sizes.find(d.name)->second, 0).size;
        const auto [at, is_new] = local.emplace(d.name, size);
        if (!is_new) at->second = std::min(at->second, size);
      }
    }
    for (const auto& [name, size] : local) loop *= name == dim.name ? 1 : size;
    const std::int64_t operand = Elements(local, split);
    const std::int64_t result = Elements(local, product.result);
    if (operand == 0 || result == 0) continue;
    const bool scatters = product.wanted && DimSplitBy(*product.wanted, axis) != nullptr;
    const ProgramOpKind reduce =
        scatters ? ProgramOpKind::kReduceScatter : ProgramOpKind::kAllReduce;
    const double times = scatters ? 1 : 2;
    const auto element = static_cast<double>(SizeOf(dtype));
    BreakEven point;
    point.axis = axis;
    point.dim = dim.name;
    point.operand = split.name();
    point.reduce = std::string(Name(reduce));
    point.rows = 1;
    for (const SpecDim& d : other.dims()) {
      if (split.FindDim(d.name) >= 0 || product.result.FindDim(d.name) < 0) continue;
      point.others += (point.others.empty() ? "" : " x ") + d.name;
      point.rows *= local.at(d.name);
    }
    if (point.others.empty()) point.others = "1";
    const std::int64_t n = mesh.AxisSize(axis);
    point.gather_bytes = LeastBytesSent(ProgramOpKind::kAllGather, n, operand, dtype);
    point.reduce_bytes = LeastBytesSent(reduce, n, result, dtype);
    point.size = local.at(dim.name);
    const double a_unit = static_cast<double>(operand) / static_cast<double>(point.size);
    point.in_bytes = times * static_cast<double>(result) / a_unit;
    const double ratio = tariff.flops_per_byte;
    point.hidden =
        times * static_cast<double>(result) * element * ratio / (2 * static_cast<double>(loop));
    point.rows_to_hide = a_unit * element * ratio * static_cast<double>(point.rows) /
                         (2 * static_cast<double>(loop));
    points.push_back(std::move(point));
  }
  return points;
}

std::string ToString(const BreakEven& p) {
  std::string text = fmt::format(
      "axis {}: gather {} sends {} B, {} of the result {} B\n"
      "  in bytes alone reducing wins where {} > {:.6g}; here {} is {}\n",
      p.axis, p.operand, p.gather_bytes.value(), p.reduce, p.reduce_bytes.value(), p.dim,
      p.in_bytes, p.dim, p.size);
  text += fmt::format(
      "  the product hides the gather where {} >= {:.6g}, and then reducing wins where {} > "
      "{:.6g}; here {} is {}\n",
      p.others, p.rows_to_hide, p.dim, p.hidden, p.others, p.rows);
  return text;
}

}  // namespace chorus
