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

}  // namespace chorus
