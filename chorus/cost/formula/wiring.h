// Wiring: of a machine, the numbers that formulas ask for.
//
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
  bool switch_reduces = false;
  bool network_reduces = false;
  std::string nccl;  // generation in NCCL's tables, empty if none
  std::vector<FittedCurve> fits;

  // What all ports of a node carry out of it.
  BytesPerSecond NodeBandwidth() const {
    return BytesPerSecond(nic.bandwidth.value() * static_cast<double>(nics));
  }
  // What all links of a device carry out of it, to its own node.
  BytesPerSecond DeviceBandwidth() const;
  // The links of one rank's message to its neighbour in rank order, where a ring crosses nodes:
  // the narrower bandwidth and the longer latency.
  LinkSpec RingLink() const;
};

// REQUIRES: 1 <= ranks <= the machine's devices. Fewer ranks than devices fill node after node.
Wiring WiringOf(const Machine& machine, std::int64_t ranks);

}  // namespace chorus
