#include "chorus/shard/plan_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "chorus/cost/compute/roofline.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/program/account.h"
#include "chorus/program/chunked.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

class OpTimer {
 public:
  OpTimer(const StepProgram& program, const MeshPlacement& placement, const DimSizes& sizes,
          Roof roof)
      : program_(program), placement_(placement), sizes_(sizes), roof_(roof) {}

  OpTime Product(const ProgramOp& op) const {
    Workload work;
    std::vector<ValueId> arrays = op.operands;
    arrays.push_back(op.result);
    const std::vector<ChunkSet> chunks = *ChunksWorkedOn(program_.values(), op);
    for (const ValueId id : arrays) work.bytes += WorkedBytes(id, chunks);
    work.flops =
        static_cast<double>(ProductFlops(program_, op, placement_.mesh(), sizes_, 0).value());
    const bool computes = work.ComputeSeconds(roof_) >= work.MemorySeconds(roof_);
    return {Seconds(work.Seconds(roof_)), computes ? "bound by computing" : "bound by memory",
            Seconds(0), Seconds(0)};
  }

  Result<OpTime> Shift(const ProgramOp& op) const {
    CHORUS_ASSIGN_OR_RETURN(const Wiring wiring, placement_.WiringOver(op.axes));
    const double sent =
        static_cast<double>(ShiftedBytes(program_, op, placement_.mesh(), sizes_, 0).value());
    const LinkSpec link = wiring.RingLink();
    const double bandwidth = std::min(link.bandwidth, MeshPlacement::RankBandwidth(wiring)).value();
    return OpTime{Seconds(sent / bandwidth), "one message to a neighbour", link.latency,
                  Seconds(0)};
  }

  Result<OpTime> Collective(const ProgramOp& op) const {
    const CollectiveShape shape = ShapeOf(program_, op, placement_.mesh(), sizes_, 0);
    if (shape.group.size() == 1) return OpTime{Seconds(0), "one rank", {}, {}};
    CHORUS_ASSIGN_OR_RETURN(const Wiring wiring, placement_.WiringOver(op.axes));
    const std::int64_t element = SizeOf(shape.dtype);
    const double bytes = static_cast<double>(shape.elements * element);
    if (op.kind == ProgramOpKind::kPermute) {
      const double sent =
          static_cast<double>(MostSent(program_, op, placement_.mesh(), sizes_).value());
      const LinkSpec link = wiring.RingLink();
      return OpTime{link.latency + Seconds(sent / MeshPlacement::RankBandwidth(wiring).value()),
                    "one message a rank",
                    {},
                    {}};
    }
    Question question;
    question.op = std::string(Name(shape.owner >= 0 ? OpKind::kBroadcast : CollectiveOf(op.kind)));
    question.bytes = bytes;
    if (program_.value(op.result).holds && shape.owner < 0) {  // the largest part decides
      const std::int64_t most = *std::max_element(shape.counts.begin(), shape.counts.end());
      question.bytes = static_cast<double>(most * element * std::ssize(shape.group));
    }
    // f16 and bf16 travel half summed in f32.
    question.accumulator_ratio =
        IsFloat(shape.dtype) && element < 4 ? 4.0 / static_cast<double>(element) : 1.0;
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Estimate> ways,
                            CompareAlgorithms(wiring, question, LatencyModel::kSum));
    return OpTime{ways[0].time, ways[0].algorithm, {}, {}};
  }

 private:
  double WorkedBytes(ValueId id, const std::vector<ChunkSet>& chunks) const {
    const ProgramValue& value = program_.value(id);
    std::int64_t elements = 1;
    for (int dim = 0; dim < static_cast<int>(value.spec.dims().size()); ++dim) {
      elements *= WorkedBlock(value, dim, chunks, placement_.mesh(), sizes_, 0).size;
    }
    return static_cast<double>(elements * SizeOf(value.dtype));
  }

  const StepProgram& program_;
  const MeshPlacement& placement_;
  const DimSizes& sizes_;
  Roof roof_;
};

// Whether shifts in both directions take up the same links. On a torus each direction has its own;
// but on a line, which does not wrap, what goes from the last rank to the first passes all links
// that the other direction uses.
Result<bool> ShareLinks(const StepProgram& program, const MeshPlacement& placement) {
  if (placement.machine().topology.definition().fabric != Fabric::kTorus) return true;
  for (const ProgramOp& op : program.ops()) {
    if (op.kind != ProgramOpKind::kShift) continue;
    CHORUS_ASSIGN_OR_RETURN(const Wiring wiring, placement.WiringOver(op.axes));
    if (wiring.axes.size() == 1 && !wiring.axes[0].wraps) return true;
  }
  return false;
}

}  // namespace

Result<PlanTime> TimeOf(const StepProgram& program, const MeshPlacement& placement,
                        const DimSizes& sizes) {
  CHORUS_ASSIGN_OR_RETURN(const Roof roof, RoofOf(placement.machine().hardware));
  const OpTimer timer(program, placement, sizes, roof);
  PlanTime time;
  CHORUS_ASSIGN_OR_RETURN(const bool one_port, ShareLinks(program, placement));
  std::map<std::pair<AxisNames, int>, Seconds> links;  // that shifts take up
  for (const ProgramOp& op : program.ops()) {
    OpTime one;
    if (IsCollective(op.kind)) {
      CHORUS_ASSIGN_OR_RETURN(one, timer.Collective(op));
      time.moves += one.time;
    } else if (op.kind == ProgramOpKind::kShift) {
      CHORUS_ASSIGN_OR_RETURN(one, timer.Shift(op));
      links[{op.axes, one_port ? 0 : op.by}] += one.time;
    } else if (op.kind == ProgramOpKind::kCompute && op.compute == GraphOp::kContract) {
      one = timer.Product(op);
      time.compute += one.time;
    }
    time.ops.push_back(std::move(one));
  }
  Seconds busiest;
  for (const auto& [link, busy] : links) busiest = std::max(busiest, busy);
  time.moves += busiest;
  time.line = TimelineOf(program, time.ops, one_port);
  return time;
}

Result<Tariff> TariffOn(const MeshPlacement& placement) {
  CHORUS_ASSIGN_OR_RETURN(const Roof roof, RoofOf(placement.machine().hardware));
  Tariff tariff;
  double slowest = std::numeric_limits<double>::infinity();
  for (const MeshAxis& axis : placement.mesh().axes()) {
    if (axis.size == 1) continue;
    CHORUS_ASSIGN_OR_RETURN(const Wiring wiring, placement.WiringOver({axis.name}));
    const double bandwidth = MeshPlacement::RankBandwidth(wiring).value();
    if (bandwidth >= slowest) continue;
    slowest = bandwidth;
    tariff.flops_per_byte = roof.peak.value() / bandwidth;
    tariff.latency_bytes = wiring.RingLink().latency.value() * bandwidth;
  }
  return tariff;
}

}  // namespace chorus
