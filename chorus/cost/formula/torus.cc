// Tori of 1 to 3 axes, all links of all axes at once.
//
//   all_gather    the array is cut into a part for each axis, and each part goes along the axes in
//                 another order, so that every link works all the time. An axis that wraps gives a
//                 device 2 links in, one that does not gives a corner 1: V / (W x links), in sum
//                 over axes of floor(x/2), or x - 1, rounds. Where all axes wrap and are even a
//                 round moves whole blocks both ways, else (N - 1)/N of V comes in
//   all_to_all    every block goes the shorter way along each axis; the busiest link of an axis of
//   x
//                 carries x/8 of what a device sends if it wraps, x/4 if it does not
//
// With latency model max this is max(T_min x rounds, V / (W_bi x axes)), W_bi = 2 W.
#include <fmt/format.h>

#include <algorithm>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

double Rounds(const TorusAxis& axis) {
  return static_cast<double>(axis.wraps ? axis.size / 2 : axis.size - 1);
}

double LinksIn(const TorusAxis& axis) { return axis.wraps ? 2 : 1; }

}  // namespace

Result<Phases> TorusAllGatherTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsTorus(w, "torus", 3));
  double rounds = 0, links = 0;
  bool even = true;
  for (const TorusAxis& axis : w.axes) {
    if (axis.size == 1) continue;
    rounds += Rounds(axis);
    links += LinksIn(axis);
    even = even && axis.wraps && axis.size % 2 == 0;
  }
  if (rounds == 0) return Phases{};
  const auto n = static_cast<double>(w.ranks);
  const double moved = (even ? 1 : (n - 1) / n) * q.bytes / links;
  const std::string part = even ? "1" : "(N - 1)/N";
  const std::string factor = links == 1 ? part : fmt::format("{}/{:g} links", part, links);
  return Phases{{OverRing(w, factor, rounds, moved / rounds)}};
}

Result<Phases> TorusAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, TorusAllGatherTime(w, q));
  for (Phase& phase : p.phases) {
    phase.factor = "2 x " + phase.factor;
    phase.rounds *= 2;
  }
  return p;
}

Result<Phases> TorusAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsTorus(w, "torus", 3));
  double rounds = 0, busiest = 0;
  for (const TorusAxis& axis : w.axes) {
    if (axis.size == 1) continue;
    const auto x = static_cast<double>(axis.size);
    rounds += Rounds(axis);
    const std::int64_t low = axis.size / 2, high = axis.size - low;
    const double load = axis.wraps
                            ? static_cast<double>(axis.size * axis.size - axis.size % 2) / (8 * x)
                            : static_cast<double>(low * high) / x;
    busiest = std::max(busiest, load);
  }
  if (rounds == 0) return Phases{};
  return Phases{{OverRing(w, fmt::format("{:.4g}", busiest), rounds, busiest * q.bytes / rounds)}};
}

// One direction of a ring: blocks go 1, 2, ... N - 1 hops, (N - 1)/2 of what a rank sends over each
// link.
Result<Phases> RingAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsTorus(w, "ring", 1));
  if (!w.axes[0].wraps) {
    return Unsupported("an axis that does not wrap is no ring; torus is an algorithm that fits");
  }
  const double hops = static_cast<double>(w.ranks - 1);
  if (hops == 0) return Phases{};
  return Phases{{OverRing(w, "(N - 1)/2", hops, q.bytes / 2)}};
}

}  // namespace chorus
