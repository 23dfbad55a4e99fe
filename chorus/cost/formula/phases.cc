#include "chorus/cost/formula/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "chorus/base/counted.h"

namespace chorus {

std::int64_t CeilLog2(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n - 1)); }
std::int64_t FloorLog2(std::int64_t n) { return std::bit_width(static_cast<std::uint64_t>(n)) - 1; }

Way WayBetween(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<LinkId> route;
  topology.AppendRoute(from, to, route);
  return WayAlong(topology, from, to, route);
}

Way WayAlong(const Topology& topology, std::int64_t from, std::int64_t to,
             std::span<const LinkId> route) {
  const std::int64_t node_size = topology.definition().node_size;
  Way way{topology.Link(route.front()), from / node_size != to / node_size, std::ssize(route)};
  for (std::size_t i = 1; i < route.size(); ++i) {
    const LinkSpec link = topology.Link(route[i]);
    way.link.latency += link.latency;
    way.link.bandwidth = std::min(way.link.bandwidth, link.bandwidth);
  }
  return way;
}

Phase OverWay(const Way& way, std::string factor, double rounds, double bytes) {
  return {
      std::move(factor),  rounds,           bytes,
      way.link.bandwidth, way.link.latency, way.between_nodes ? "a port between nodes" : "a link",
      way.between_nodes};
}

bool IsRing(const Wiring& w) {
  if (w.leaf_nodes > 0) return false;
  if (w.node_size == 1) return true;
  if (w.nodes > 1) return false;
  if (w.fabric != Fabric::kTorus) return true;
  const auto long_axes = std::count_if(w.axes.begin(), w.axes.end(),
                                       [](const TorusAxis& axis) { return axis.size > 1; });
  return long_axes == 1 && std::all_of(w.axes.begin(), w.axes.end(), [](const TorusAxis& axis) {
           return axis.wraps || axis.size <= 2;
         });
}

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

BytesPerSecond NodeShare(const Wiring& w) {
  const double ports = static_cast<double>(w.node_size) / static_cast<double>(w.DevicesOnAPort());
  const BytesPerSecond out(w.nic.bandwidth.value() * ports);
  return w.leaf_nodes == 0 ? out : std::min(out, w.LeafBandwidth());
}

Phase BetweenNodes(const Wiring& w, std::string factor, double rounds, double bytes) {
  return {std::move(factor),
          rounds,
          bytes,
          NodeShare(w),
          w.nic.latency,
          fmt::format("the {} ports of a node", w.nics),
          true};
}

Status NeedsPorts(const Wiring& w, std::string_view algorithm) {
  if (w.fabric != Fabric::kTorus || w.node_size <= 2) return OkStatus();
  return Unsupported(fmt::format(
      "{} has no formula on a torus, where its messages share links; chorus simulate works it out",
      algorithm));
}

Status NeedsOneLevel(const Wiring& w, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  if (w.leaf_nodes > 0) {
    return Unsupported(fmt::format(
        "{} has no formula over leaf switches that are oversubscribed; chorus simulate works it "
        "out",
        algorithm));
  }
  if (w.nodes == 1 || w.node_size == 1) return OkStatus();
  return Unsupported(fmt::format(
      "{} has no formula over several nodes of several devices; chorus simulate works it out",
      algorithm));
}

Status NeedsEvenNodes(const Wiring& w, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  if (w.ranks == w.nodes * w.node_size) return OkStatus();
  return Unsupported(fmt::format("{} has a formula for whole nodes; {} are {} of {} and {} more",
                                 algorithm, Counted(w.ranks, "rank"), Counted(w.nodes - 1, "node"),
                                 w.node_size, w.RanksInNode(w.nodes - 1)));
}

Status NeedsTorus(const Wiring& w, std::string_view algorithm, std::size_t most_axes) {
  if (w.fabric == Fabric::kTorus && w.axes.size() <= most_axes && w.nodes == 1) return OkStatus();
  return Unsupported(fmt::format("{} is of a torus{}; give a machine such as v5e-16{}", algorithm,
                                 most_axes == 1 ? " of one axis" : "",
                                 most_axes == 1 ? "" : "x16"));
}

}  // namespace chorus
