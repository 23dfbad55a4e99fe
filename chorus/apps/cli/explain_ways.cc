#include "chorus/apps/cli/explain_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "chorus/apps/answer/explain_answer.h"
#include "chorus/apps/cli/title_column.h"
#include "chorus/base/rate.h"
#include "chorus/cost/compute/roofline.h"

namespace chorus::cli {

Status PrintPlacement(const MeshPlacement& placement, DType dtype) {
  CHORUS_ASSIGN_OR_RETURN(const Roof roof, RoofOf(placement.machine().hardware));
  fmt::print("\non {}, rank r on device r\n", placement.machine().name);
  for (const MeshAxis& axis : placement.mesh().axes()) {
    fmt::print("  {}\n", placement.Describe(axis.name));
  }
  fmt::print("  products at {}, its peak in bf16{}\n", ToString(roof.peak),
             dtype == DType::kBF16 || dtype == DType::kF16
                 ? ""
                 : fmt::format("; that of {} is lower and not known here", Name(dtype)));
  return OkStatus();
}

bool HasShifts(const StepProgram& program) {
  return std::any_of(program.ops().begin(), program.ops().end(),
                     [](const ProgramOp& op) { return op.kind == ProgramOpKind::kShift; });
}

void PrintTimes(const ProductWay& way) {
  std::vector<std::string> titles;
  for (const ProgramOp& op : way.program.ops()) titles.push_back(answer::OpText(way.program, op));
  const TitleColumn column(titles, 44);
  fmt::print("\n{}{:>12}{:>12}{:>12}  by\n", column.Cell("step"), "time", "from", "to");
  for (std::size_t i = 0; i < way.program.ops().size(); ++i) {
    const OpTime& one = way.time->ops[i];
    if (one.why.empty()) continue;
    const Timeline::Span& span = way.time->line.ops[i];
    fmt::print("{}{:>12}{:>12}{:>12}  {}\n", column.Cell(titles[i]), ToString(one.time),
               ToString(span.begin), ToString(span.end), one.why);
  }
  if (HasShifts(way.program)) {
    fmt::print("time of a shift: how long it takes up its link; it arrives a latency later\n");
  }
  fmt::print(
      "computing {}, moving {}: takes {}; {} one after another, {} if all that can is hidden\n",
      ToString(way.time->compute), ToString(way.time->moves), ToString(way.time->Elapsed()),
      ToString(way.time->OneAfterAnother()), ToString(way.time->Overlapped()));
}

std::string PriceText(const Tariff& tariff, bool open) {
  return fmt::format(
      "price = mean bytes sent{} + FLOP / {}{}",
      open ? ", those of reducing a sum that is left included," : "", tariff.flops_per_byte,
      tariff.latency_bytes > 0 ? fmt::format(" + {:.6g} a collective", tariff.latency_bytes) : "");
}

void PrintWays(const std::vector<ProductWay>& ways, const Tariff& tariff, bool open,
               std::size_t most) {
  const bool timed = ways[0].time.has_value();
  // Loops over chunks are ordered by what is hidden, which the price says nothing of.
  const bool looped = !timed && HasShifts(ways[0].program);
  fmt::print(
      "\nways, {}; of rank 0 or, where blocks change ranks, of the busiest\n{}{:>14}{:>18}{:>14}  "
      "plan\n",
      timed ? "least time first"
      : looped
          ? fmt::format("least time first with what can be hidden ({})", PriceText(tariff, open))
          : fmt::format("least price first ({})", PriceText(tariff, open)),
      timed ? fmt::format("{:>12}{:>12}", "time", "hidden") : fmt::format("{:>16}", "price"),
      "bytes sent", "FLOP", "bytes held");
  for (std::size_t i = 0; i < std::min(ways.size(), most); ++i) {
    const ProductWay& way = ways[i];
    if (timed) {
      fmt::print("{:>12}{:>12}", ToString(way.time->Elapsed()), ToString(way.time->Overlapped()));
    } else {
      fmt::print("{:>16.0f}", Price(way.plan.cost, tariff));
    }
    fmt::print("{:>14}{:>18}{:>14}  {}\n", way.sent.value(), way.flops.value(), way.peak.value(),
               Describe(way.plan));
  }
  if (ways.size() > most) fmt::print("and {} more; see --json\n", ways.size() - most);
}

void PrintGradients(const std::vector<answer::OperandGradient>& gradients) {
  if (gradients.empty()) return;
  const bool timed = gradients[0].time.has_value();
  fmt::print("\ngradients, of rank 0\n{}{:>14}{:>18}{:>14}  product, plan\n",
             timed ? fmt::format("{:>12}", "time") : "", "bytes sent", "FLOP", "bytes held");
  Bytes sent;
  Flops flops;
  Seconds time;
  const auto row = [timed](Seconds seconds, Bytes bytes, Flops operations, const std::string& held,
                           const std::string& what) {
    fmt::print("{}{:>14}{:>18}{:>14}  {}\n", timed ? fmt::format("{:>12}", ToString(seconds)) : "",
               bytes.value(), operations.value(), held, what);
  };
  for (const answer::OperandGradient& gradient : gradients) {
    const Seconds takes = gradient.time ? gradient.time->Elapsed() : Seconds(0);
    row(takes, gradient.sent, gradient.flops, fmt::format("{}", gradient.peak.value()),
        gradient.product.ToString());
    fmt::print("{:>{}}  {}\n", "", timed ? 58 : 46, Describe(gradient.answer.plans[0]));
    sent += gradient.sent;
    flops += gradient.flops;
    time += takes;
  }
  if (gradients.size() > 1) row(time, sent, flops, "", "together");
}

void PrintBreakEvens(const std::vector<BreakEven>& points, const Tariff& tariff) {
  if (points.empty()) return;
  fmt::print("\nbreak-even, at {:.6g} FLOP a byte\n", tariff.flops_per_byte);
  for (const BreakEven& point : points) fmt::print("{}", ToString(point));
}

}  // namespace chorus::cli
