#include "chorus/cost/formula/phases.h"

#include <fmt/format.h>

#include <bit>

namespace chorus {

std::int64_t CeilLog2(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n - 1)); }
std::int64_t FloorLog2(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n)) - 1; }

Phase OverRing(const Wiring& w, std::string factor, double rounds, double bytes) {
  const LinkSpec link = w.RingLink();
  const bool leaves = w.nodes > 1;
  return {std::move(factor),
          rounds,
          bytes,
          link.bandwidth,
          link.latency,
          leaves ? "a port between nodes" : "a link",
          leaves};
}

Phase InsideNode(const Wiring& w, std::string factor, double rounds, double bytes) {
  return {std::move(factor), rounds, bytes, w.link.bandwidth, w.link.latency, "a link", false};
}

Phase BetweenNodes(const Wiring& w, std::string factor, double rounds, double bytes) {
  return {std::move(factor),
          rounds,
          bytes,
          w.NodeBandwidth(),
          w.nic.latency,
          fmt::format("the {} ports of a node", w.nics),
          true};
}

Status NeedsPorts(const Wiring& w, std::string_view algorithm) {
  if (w.fabric != Fabric::kTorus || w.node_size <= 2) return OkStatus();
  return Unsupported(fmt::format(
      "{} has no formula on a torus, where its messages share links; chorus simulate works it out, "
      "and torus is an algorithm that fits",
      algorithm));
}

Status NeedsOneLevel(const Wiring& w, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  if (w.nodes == 1 || w.node_size == 1) return OkStatus();
  return Unsupported(fmt::format(
      "{} has no formula over several nodes of several devices; chorus simulate works it out",
      algorithm));
}

Status NeedsTorus(const Wiring& w, std::string_view algorithm, std::size_t most_axes) {
  if (w.fabric == Fabric::kTorus && w.axes.size() <= most_axes && w.nodes == 1) return OkStatus();
  return Unsupported(fmt::format("{} is of a torus{}; give a machine such as v5e-16{}", algorithm,
                                 most_axes == 1 ? " of one axis" : "",
                                 most_axes == 1 ? "" : "x16"));
}

}  // namespace chorus
