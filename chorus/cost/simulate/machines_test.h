// The machines that tests of the simulator run on: links of 1 us and 100 GB/s, ports between nodes
// of 5 us and 25 GB/s, one for each device.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "chorus/topology/topology.h"

namespace chorus {

inline constexpr double kLinkAlpha = 1e-6;       // s
inline constexpr double kLinkBandwidth = 100e9;  // B/s

inline Topology Switch(std::int64_t devices, std::int64_t nodes = 1) {
  Topology::Definition d;
  d.node_size = devices;
  d.link = {Seconds(kLinkAlpha), BytesPerSecond(kLinkBandwidth)};
  d.nodes = nodes;
  d.nics = devices;
  d.nic = {Seconds(5e-6), BytesPerSecond(25e9)};
  return *Topology::Make(d);
}

inline Topology Torus(std::vector<TorusAxis> axes) {
  Topology::Definition d;
  d.fabric = Fabric::kTorus;
  d.link = {Seconds(kLinkAlpha), BytesPerSecond(kLinkBandwidth)};
  for (const TorusAxis& axis : axes) d.node_size *= axis.size;
  d.axes = std::move(axes);
  return *Topology::Make(d);
}

}  // namespace chorus
