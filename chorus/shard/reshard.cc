#include "chorus/shard/reshard.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "chorus/program/pieces.h"
#include "chorus/shard/layout_code.h"
#include "chorus/shard/moving_axes.h"
#include "chorus/shard/reshard_search.h"

namespace chorus {
std::string ToString(const Move& move) {
  if (move.kind == ProgramOpKind::kAllReduce) {
    return fmt::format("all_reduce over {}", JoinAxes(move.axes));
  }
  if (move.kind == ProgramOpKind::kPermute) {
    return fmt::format("permute to {} over {}",
                       move.result.WithName("").WithPartial({})->ToString(), JoinAxes(move.axes));
  }
  if (move.kind == ProgramOpKind::kAllToAll) {
    return fmt::format("all_to_all {} to {} over {}", move.dim, move.to, JoinAxes(move.axes));
  }
  return fmt::format("{} {} over {}", Name(move.kind), move.dim, JoinAxes(move.axes));
}

namespace {

// As MemoryOfMove, on one rank.
Bytes MemoryOn(const Spec& before, const Move& move, DType dtype, const Mesh& mesh,
               const DimSizes& sizes, std::int64_t rank) {
  const Shape held = LocalShape(before, mesh, sizes, rank);
  const Shape left = LocalShape(move.result, mesh, sizes, rank);
  std::int64_t elements = held.elements();
  if (move.kind != ProgramOpKind::kAllReduce) elements += left.elements();
  const bool gathers = move.kind == ProgramOpKind::kAllGather;
  const bool is_alone = mesh.GroupSize(move.axes) == 1;
  if (is_alone) return Bytes(elements * SizeOf(dtype));
  if (gathers || move.kind == ProgramOpKind::kReduceScatter) {
    const Shape& joined = gathers ? left : held;
    if (joined.elements(0, before.FindDim(move.dim)) > 1) elements += joined.elements();
  } else if (ExchangesPieces(move.kind)) {
    elements += ExchangeOf(before, move.result, move.axes, mesh, sizes, rank).WorkspaceElements();
  }
  return Bytes(elements * SizeOf(dtype));
}

}  // namespace

Bytes MemoryOfMove(const Spec& before, const Move& move, DType dtype, const Mesh& mesh,
                   const DimSizes& sizes) {
  if (!ExchangesPieces(move.kind)) return MemoryOn(before, move, dtype, mesh, sizes, 0);
  const std::vector<std::int64_t> group = mesh.Group(0, move.axes);
  Bytes most;
  for (const std::int64_t k : RanksLookedAt(std::ssize(group))) {
    const std::int64_t rank = group[static_cast<std::size_t>(k)];
    most = std::max(most, MemoryOn(before, move, dtype, mesh, sizes, rank));
  }
  return most;
}

Bytes MemoryOfMoves(const Spec& before, const std::vector<Move>& moves, DType dtype,
                    const Mesh& mesh, const DimSizes& sizes) {
  Bytes most;
  const Spec* held = &before;
  for (const Move& move : moves) {
    most = std::max(most, MemoryOfMove(*held, move, dtype, mesh, sizes));
    held = &move.result;
  }
  return most;
}

namespace {

Status CheckReshard(const Spec& from, const Spec& to, const Mesh& mesh, const DimSizes& sizes) {
  if (from.DimNames() != to.DimNames()) {
    return InvalidArgument(fmt::format("{} cannot become {}: their dimensions differ",
                                       from.ToString(), to.ToString()));
  }
  CHORUS_RETURN_IF_ERROR(from.Check(mesh));
  CHORUS_RETURN_IF_ERROR(to.Check(mesh));
  CHORUS_RETURN_IF_ERROR(CheckSizes(from, sizes));
  for (const std::string& axis : to.partial()) {
    if (!from.IsPartial(axis)) {
      return InvalidArgument(fmt::format(
          "{} cannot become {}: it is whole over {}, and nothing says how to make it a sum",
          from.ToString(), to.ToString(), axis));
    }
  }
  if (from.dims().size() > kMostReshardDims) {
    return Unsupported(fmt::format("{} has {} dimensions; reshards of at most {} are planned",
                                   from.ToString(), from.dims().size(), kMostReshardDims));
  }
  std::size_t moving = ChangedAxes(from, to).size();
  for (const std::string& axis : from.partial()) moving += to.IsPartial(axis) ? 0 : 1;
  if (moving > kMostMovingAxes) {
    return Unsupported(
        fmt::format("{} to {} moves {} axes; at most {} are planned at once, so write "
                    "it as two",
                    from.ToString(), to.ToString(), moving, kMostMovingAxes));
  }
  return OkStatus();
}

}  // namespace

Result<ReshardPlan> PlanReshard(const Spec& from, const Spec& to, DType dtype, const Mesh& mesh,
                                const DimSizes& sizes, const Tariff& tariff,
                                std::optional<Bytes> most_memory, IdleAxes idle) {
  CHORUS_RETURN_IF_ERROR(CheckReshard(from, to, mesh, sizes));
  if (from.SameLayout(to)) return ReshardPlan();
  ReshardQuestion question{from, to, dtype, mesh, sizes, tariff};
  question.most_memory = most_memory;
  question.idle = idle;
  ReshardSearch search;
  std::optional<ReshardPlan> found = search.Find(question);
  if (found) return std::move(*found);
  question.aim = ReshardAim::kPeak;
  question.most_memory.reset();
  const std::optional<ReshardPlan> least = search.Find(question);
  return InvalidArgument(
      fmt::format("{} cannot become {} within {} bytes a rank; the way that needs least takes {}",
                  from.ToString(), to.ToString(), most_memory->value(),
                  MemoryOfMoves(from, least->moves, dtype, mesh, sizes).value()));
}

ReshardPlanner::ReshardPlanner(DType dtype, const Mesh& mesh, const DimSizes& sizes,
                               const Tariff& tariff)
    : dtype_(dtype),
      mesh_(mesh),
      sizes_(sizes),
      tariff_(tariff),
      search_(std::make_unique<ReshardSearch>()) {
  std::set<std::int64_t> parts = {1};
  for (const MeshAxis& axis : mesh.axes()) {
    std::set<std::int64_t> more;
    for (const std::int64_t n : parts) more.insert(n * axis.size);
    parts.merge(more);
  }
  for (const auto& [dim, size] : sizes) {
    for (const std::int64_t n : parts) evenness_ = std::min(evenness_, Evenness(size, n));
  }
}

ReshardPlanner::~ReshardPlanner() = default;

const Result<ReshardPlan>* ReshardPlanner::Plan(const Spec& from, const Spec& to, double most_price,
                                                IdleAxes idle) {
  const char* const kind = idle == IdleAxes::kBorrow ? " borrows " : " leaves ";
  Known& known = known_[from.ToString() + kind + to.ToString()];
  if (known.plan) return &*known.plan;
  if (most_price <= known.dearer_than) return nullptr;
  const Status status = CheckReshard(from, to, mesh_, sizes_);
  if (!status.ok()) {
    known.plan = status;
  } else if (from.SameLayout(to)) {
    known.plan = ReshardPlan();
  } else {
    ReshardQuestion question{from, to, dtype_, mesh_, sizes_, tariff_};
    // Asked again and again it is not looked for each time.
    question.most_price = std::max(most_price, 2 * known.dearer_than);
    question.idle = idle;
    const Result<ReshardPlan>* own = nullptr;
    if (idle == IdleAxes::kBorrow) own = Plan(from, to, question.most_price, IdleAxes::kLeave);
    std::optional<ReshardPlan> found = search_->Find(question, own != nullptr ? &**own : nullptr);
    if (found) known.plan = *std::move(found);
    known.dearer_than = question.most_price;
  }
  return known.plan ? &*known.plan : nullptr;
}

}  // namespace chorus
