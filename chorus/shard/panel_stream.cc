#include "chorus/shard/panel_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace chorus {
namespace {

constexpr int kMostPanels = 256;  // the program says each of them

ChunkSet Panels(const std::string& dim, int panels, int first, int count) {
  return ChunkSet::Of(dim, {}, /*turns=*/1, panels, /*turn=*/0, first, count);
}

}  // namespace

bool ComesInPanels(const ComputePlan& plan, const std::string& dim, std::size_t k) {
  const std::vector<Move>& moves = plan.operand_moves[k].moves;
  return !moves.empty() && moves.back().kind == ProgramOpKind::kAllGather &&
         moves.back().dim == dim;
}

std::string ToString(const PanelStream& stream, const ComputePlan& plan) {
  std::string who;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!ComesInPanels(plan, stream.dim, k)) continue;
    who += (who.empty() ? "" : " and ") + plan.operands[k].name();
  }
  return fmt::format("{} {} in {} panels of {}", who,
                     who.find(' ') == std::string::npos ? "comes" : "come", stream.panels,
                     stream.dim);
}

int PanelsOfBlocks(const ComputePlan& plan, const std::string& dim, const Mesh& mesh) {
  std::int64_t panels = 1;
  for (std::size_t k = 0; k < 2; ++k) {
    if (!ComesInPanels(plan, dim, k)) continue;
    panels = std::lcm(panels, mesh.GroupSize(plan.operand_moves[k].moves.back().axes));
  }
  return static_cast<int>(std::min<std::int64_t>(panels, kMostPanels + 1));
}

std::vector<PanelStream> StreamsOf(const ComputePlan& plan, const Mesh& mesh,
                                   const DimSizes& sizes) {
  std::vector<PanelStream> streams;
  if (plan.operand_moves.size() != 2) return streams;
  for (std::size_t k = 0; k < 2; ++k) {
    if (plan.operand_moves[k].moves.empty()) continue;
    const std::string& dim = plan.operand_moves[k].moves.back().dim;
    if (!ComesInPanels(plan, dim, k) || (k == 1 && ComesInPanels(plan, dim, 0))) continue;
    const int blocks = PanelsOfBlocks(plan, dim, mesh);
    if (blocks < 2) continue;
    const std::int64_t length =
        BlockOf(plan.operands[k].AxesOf(dim), mesh, sizes.find(dim)->second, 0).size;
    std::vector<std::int64_t> counts;
    for (std::int64_t n = 2; n < blocks; n *= 2) counts.push_back(n);
    for (std::int64_t n = blocks; n <= kMostPanels; n *= 2) counts.push_back(n);
    for (const std::int64_t n : counts) {
      if (n <= std::min<std::int64_t>(length, kMostPanels)) {
        streams.push_back({dim, static_cast<int>(n)});
      }
    }
  }
  return streams;
}

ValueId EmitStream(ProgramEmitter& emitter, const ComputePlan& plan, const PanelStream& stream,
                   ValueId left, ValueId right, const std::string& name, const Provenance& why) {
  const DType dtype = emitter.value(left).dtype;
  const bool sums = plan.result.FindDim(stream.dim) < 0;
  const DType summed_in = sums && dtype == DType::kBF16 ? DType::kF32 : dtype;
  const bool rounds = summed_in != dtype;
  const std::array<ValueId, 2> from = {left, right};
  // First the operand whose blocks are packed on the way: the other panel is not there yet.
  const bool left_packs = plan.operands[0].FindDim(stream.dim) > 0;
  const std::array<std::size_t, 2> order = {left_packs ? 0U : 1U, left_packs ? 1U : 0U};
  ValueId result = kNoValue;
  for (int panel = 0; panel < stream.panels; ++panel) {
    std::array<ValueId, 2> operands = from;
    for (const std::size_t k : order) {
      if (!ComesInPanels(plan, stream.dim, k)) continue;
      const Move& move = plan.operand_moves[k].moves.back();
      ProgramOp gather;
      gather.kind = move.kind;
      gather.operands = {from[k]};
      gather.dim = move.dim;
      gather.axes = move.axes;
      gather.why = why;
      ProgramValue value{
          move.result.WithName(fmt::format("{}.{}", emitter.value(from[k]).name(), panel)), dtype,
          StorageClass::kWorkspace};
      value.holds = Panels(stream.dim, stream.panels, panel, 1);
      operands[k] = emitter.Add(std::move(gather), std::move(value));
    }
    ProgramOp product;
    product.kind = ProgramOpKind::kCompute;
    product.compute = GraphOp::kContract;
    product.operands = {operands[0], operands[1]};
    product.why = why;
    if (result != kNoValue) {
      product.operands.push_back(result);
      product.into = result;
    }
    const bool is_last = panel + 1 == stream.panels;
    ProgramValue value{plan.result.WithName(is_last && !rounds ? name : name + ".so.far"),
                       summed_in, StorageClass::kActivation};
    if (!is_last) value.so_far = Panels(stream.dim, stream.panels, 0, panel + 1);
    result = emitter.Add(std::move(product), std::move(value));
  }
  if (!rounds) return result;
  ProgramOp join;
  join.kind = ProgramOpKind::kJoin;
  join.operands = {result};
  join.why = why;
  return emitter.Add(std::move(join), plan.result.WithName(name), dtype, StorageClass::kActivation);
}

}  // namespace chorus
