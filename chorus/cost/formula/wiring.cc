#include "chorus/cost/formula/wiring.h"

#include <algorithm>

namespace chorus {

BytesPerSecond Wiring::DeviceBandwidth() const {
  double links = 1;
  if (fabric == Fabric::kMesh)
    links = static_cast<double>(std::max<std::int64_t>(node_size - 1, 1));
  if (fabric == Fabric::kTorus) {
    links = 0;
    for (const TorusAxis& axis : axes) links += axis.size == 1 ? 0 : axis.wraps ? 2 : 1;
  }
  return BytesPerSecond(link.bandwidth.value() * links);
}

BytesPerSecond Wiring::GatherBandwidth() const {
  if (nodes == 1) return DeviceBandwidth();
  const auto n = static_cast<double>(ranks);
  // All but what is there already comes in from outside.
  const auto into = [&](std::int64_t there, BytesPerSecond bandwidth) {
    return BytesPerSecond(bandwidth.value() * (n - 1) / (n - static_cast<double>(there)));
  };
  BytesPerSecond least = into(node_size, NodeBandwidth());
  // The last node and the last leaf may have fewer ranks, and a node then fewer ports in use.
  const std::int64_t last = RanksInNode(nodes - 1);
  const std::int64_t ports = std::min(nics, (last + DevicesOnAPort() - 1) / DevicesOnAPort());
  least = std::min(least,
                   into(last, BytesPerSecond(nic.bandwidth.value() * static_cast<double>(ports))));
  if (leaf_nodes > 0) {
    const std::int64_t leaf = leaf_nodes * node_size;
    least = std::min(least, into(leaf, LeafBandwidth()));
    least = std::min(least, into((ranks - 1) % leaf + 1, LeafBandwidth()));
  }
  return node_size > 1 ? std::min(least, DeviceBandwidth()) : least;
}

LinkSpec Wiring::RingLink() const {
  if (nodes == 1) return link;
  if (node_size == 1) return nic;
  return {std::max(link.latency, nic.latency), std::min(link.bandwidth, nic.bandwidth)};
}

Result<Topology> Wiring::AsTopology() const {
  Topology::Definition d;
  d.fabric = fabric;
  d.node_size = node_size;
  d.link = link;
  if (fabric == Fabric::kTorus) d.axes = axes;
  d.nodes = leaf_nodes == 0 ? nodes : (nodes + leaf_nodes - 1) / leaf_nodes * leaf_nodes;
  d.nics = nics;
  d.nic = nic;
  d.leaf_nodes = leaf_nodes;
  d.oversubscription = oversubscription;
  return Topology::Make(std::move(d));
}

Wiring WiringOf(const Machine& machine, std::int64_t ranks) {
  const Topology::Definition& d = machine.topology.definition();
  Wiring w;
  w.ranks = ranks;
  w.node_size = std::min(ranks, d.node_size);
  w.nodes = (ranks + d.node_size - 1) / d.node_size;
  w.fabric = d.fabric;
  w.axes = d.axes;
  w.link = d.link;
  w.nic = d.nic;
  w.nics = d.nics;
  // Else a leaf switch carries all that its nodes' ports do.
  if (d.oversubscription > 1 && w.nodes > d.leaf_nodes) {
    w.leaf_nodes = d.leaf_nodes;
    w.oversubscription = d.oversubscription;
  }
  w.switch_reduces = d.switch_reduces;
  w.network_reduces = d.network_reduces;
  w.nccl = machine.hardware.nccl;
  w.fits = machine.fits;
  return w;
}

std::optional<Wiring> SliceOf(const Machine& machine, std::int64_t ranks) {
  Wiring w = WiringOf(machine, ranks);
  if (w.fabric != Fabric::kTorus) return w;
  const std::vector<TorusAxis> all = w.axes;
  std::optional<Wiring> best;
  const auto visit = [&](const auto& self, std::size_t axis, std::int64_t left) -> void {
    if (axis == all.size()) {
      if (left != 1) return;
      if (!best || best->DeviceBandwidth() < w.DeviceBandwidth()) best = w;
      return;
    }
    for (std::int64_t size = 1; size <= std::min(left, all[axis].size); ++size) {
      if (left % size != 0) continue;
      w.axes[axis] = {size, size == all[axis].size && all[axis].wraps};
      self(self, axis + 1, left / size);
    }
  };
  visit(visit, 0, ranks);
  return best;
}

}  // namespace chorus
