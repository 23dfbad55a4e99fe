// Wiring: of a machine, the numbers that formulas ask for.
//
// Thread safety: a value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/topology/machine.h"

namespace chorus {

struct Wiring {
  std::int64_t ranks = 1;
  std::int64_t node_size = 1;
  std::int64_t nodes = 1;
  Fabric fabric = Fabric::kSwitch;
  std::vector<TorusAxis> axes;  // of a torus

  LinkSpec link;          // switch: a port; mesh: to one peer; torus: to one neighbour
  LinkSpec nic;           // one port between nodes
  std::int64_t nics = 1;  // of a node
  // Nodes below one leaf switch whose links up carry less than comes from below; 0: there is none.
  std::int64_t leaf_nodes = 0;
  double oversubscription = 1;
  bool switch_reduces = false;
  bool network_reduces = false;
  std::string nccl;  // generation in NCCL's tables, empty if none
  std::vector<FittedCurve> fits;

  // What all ports of a node carry out of it.
  BytesPerSecond NodeBandwidth() const {
    return BytesPerSecond(nic.bandwidth.value() * static_cast<double>(nics));
  }
  // What all links of a device carry out of it, to its own node; of a torus, out of a corner.
  BytesPerSecond DeviceBandwidth() const;
  // W of the formulas that split a product over all ranks: what comes into a device in a gather by
  // all its links, or, where that is less, what its node or its leaf switch lets through, so that
  // an all_gather of V bytes takes (N - 1)/N V / W.
  BytesPerSecond GatherBandwidth() const;
  // What the links up from one leaf switch carry. REQUIRES: leaf_nodes > 0.
  BytesPerSecond LeafBandwidth() const {
    return BytesPerSecond(NodeBandwidth().value() * static_cast<double>(leaf_nodes) /
                          oversubscription);
  }
  // Ranks in a node: node_size, or what is left for the last one.
  std::int64_t RanksInNode(std::int64_t node) const {
    return std::min(node_size, ranks - node * node_size);
  }
  // The machine again, as far as its ranks reach, whole nodes of it: which links a message takes.
  // Errors: as Topology::Make.
  Result<Topology> AsTopology() const;
  // Devices that share the port between nodes that most share.
  std::int64_t DevicesOnAPort() const { return (node_size + nics - 1) / nics; }
  // The links of one rank's message to its neighbour in rank order, where a ring crosses nodes:
  // the narrower bandwidth and the longer latency.
  LinkSpec RingLink() const;
};

// REQUIRES: 1 <= ranks <= the machine's devices. Fewer ranks than devices fill node after node.
Wiring WiringOf(const Machine& machine, std::int64_t ranks);

// The same; of a torus the slice of so many ranks whose devices have most links, a box within it:
// an axis of which it has a part does not wrap. Empty if no box has so many. REQUIRES: as WiringOf.
std::optional<Wiring> SliceOf(const Machine& machine, std::int64_t ranks);

}  // namespace chorus
