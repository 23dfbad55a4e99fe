#include "chorus/topology/topology.h"

#include <fmt/format.h>

#include <cmath>

#include "chorus/base/counted.h"
#include "chorus/base/rate.h"

namespace chorus {
namespace {

constexpr std::int64_t kMostLinks = std::int64_t{1} << 40;
constexpr std::int64_t kMostDevices = std::int64_t{1} << 24;

Status CheckLink(std::string_view what, const LinkSpec& link) {
  const double bandwidth = link.bandwidth.value(), latency = link.latency.value();
  if (!(bandwidth > 0) || !std::isfinite(bandwidth)) {
    return InvalidArgument(fmt::format(
        "the bandwidth of {} is {} B/s; give a number above 0, per direction", what, bandwidth));
  }
  if (!(latency >= 0) || !std::isfinite(latency)) {
    return InvalidArgument(fmt::format("the latency of {} is {} s; give 0 or more", what, latency));
  }
  return OkStatus();
}

Status CheckAxes(const Topology::Definition& d) {
  if (d.fabric != Fabric::kTorus) {
    if (d.axes.empty()) return OkStatus();
    return InvalidArgument(fmt::format("a {} has no axes; they are of a torus", Name(d.fabric)));
  }
  if (d.axes.empty() || d.axes.size() > 3) {
    return InvalidArgument(fmt::format("a torus has 1 to 3 axes, not {}", d.axes.size()));
  }
  std::int64_t product = 1;
  for (const TorusAxis& axis : d.axes) {
    if (axis.size < 1 || axis.size > kMostDevices) {
      return InvalidArgument(fmt::format("a torus axis of {} devices; give 1 or more", axis.size));
    }
    if (axis.wraps && axis.size < kLeastToWrap) {
      return InvalidArgument(
          fmt::format("a torus axis of {} devices wraps; only those of {} or more do", axis.size,
                      kLeastToWrap));
    }
    product *= axis.size;
    if (product > kMostDevices) break;
  }
  if (product == d.node_size) return OkStatus();
  return InvalidArgument(fmt::format("the axes make {} devices, the node has {}; they must agree",
                                     product, d.node_size));
}

// The number of links in one leaf direction: what all nics below it carry, thinned out.
BytesPerSecond LeafBandwidth(const Topology::Definition& d) {
  return BytesPerSecond(d.nic.bandwidth.value() * static_cast<double>(d.nics * d.leaf_nodes) /
                        d.oversubscription);
}

std::int64_t Leaves(const Topology::Definition& d) {
  return d.leaf_nodes == 0 ? 0 : d.nodes / d.leaf_nodes;
}

}  // namespace

std::string_view Name(Fabric fabric) {
  constexpr std::string_view kNames[] = {"switch", "mesh", "torus"};
  return kNames[static_cast<int>(fabric)];
}

Result<Topology> Topology::Make(Definition d) {
  if (d.node_size < 1 || d.nodes < 1 || d.node_size > kMostDevices / d.nodes) {
    return InvalidArgument(fmt::format("{} of {}; give 1 or more of each, {} devices in all",
                                       Counted(d.nodes, "node"), Counted(d.node_size, "device"),
                                       kMostDevices));
  }
  CHORUS_RETURN_IF_ERROR(CheckAxes(d));
  if (d.node_size > 1) CHORUS_RETURN_IF_ERROR(CheckLink("the link inside a node", d.link));
  if (d.nodes > 1) {
    CHORUS_RETURN_IF_ERROR(CheckLink("a port between nodes", d.nic));
    if (d.nics < 1 || d.nics > d.node_size) {
      return InvalidArgument(fmt::format("{} between nodes for {}; give 1 to {}",
                                         Counted(d.nics, "port"), Counted(d.node_size, "device"),
                                         d.node_size));
    }
    if (d.leaf_nodes < 0 || (d.leaf_nodes > 0 && d.nodes % d.leaf_nodes != 0)) {
      return InvalidArgument(
          fmt::format("leaf switches of {} do not fit {}; give a divisor of {}, or 0 for one "
                      "switch that never blocks",
                      Counted(d.leaf_nodes, "node"), Counted(d.nodes, "node"), d.nodes));
    }
    if (!(d.oversubscription >= 1) || !std::isfinite(d.oversubscription)) {
      return InvalidArgument(fmt::format("an oversubscription of {}; give 1 (never blocks) or more",
                                         d.oversubscription));
    }
  }
  if (d.fabric == Fabric::kMesh && d.node_size > kMostLinks / (d.nodes * d.node_size)) {
    return InvalidArgument(fmt::format("a mesh of {} devices has too many links", d.node_size));
  }
  return Topology(std::move(d));
}

Topology::Topology(Definition definition) : d_(std::move(definition)) {
  switch (d_.fabric) {
    case Fabric::kSwitch:
      links_per_device_ = 2;  // out, in
      break;
    case Fabric::kMesh:
      links_per_device_ = d_.node_size;  // to each device of the node; the one to itself is unused
      break;
    case Fabric::kTorus:
      links_per_device_ = 2 * static_cast<std::int64_t>(d_.axes.size());  // up, down of each axis
      break;
  }
  nic_begin_ = device_count() * links_per_device_;
  leaf_begin_ = nic_begin_ + (d_.nodes > 1 ? 2 * d_.nodes * d_.nics : 0);
  link_count_ = leaf_begin_ + 2 * Leaves(d_);
}

std::int64_t Topology::Nic(std::int64_t device) const {
  const std::int64_t node = device / d_.node_size, local = device % d_.node_size;
  return node * d_.nics + local * d_.nics / d_.node_size;
}

void Topology::AppendRoute(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const {
  if (from == to) return;
  const bool same_node = from / d_.node_size == to / d_.node_size;
  same_node ? AppendFabric(from, to, route) : AppendNetwork(from, to, route);
}

void Topology::AppendFabric(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const {
  switch (d_.fabric) {
    case Fabric::kSwitch:
      route.push_back(2 * from);
      route.push_back(2 * to + 1);
      break;
    case Fabric::kMesh:
      route.push_back(from * d_.node_size + to % d_.node_size);
      break;
    case Fabric::kTorus:
      AppendTorus(from, to, route);
      break;
  }
}

// Devices are numbered with the last axis fastest, as a mesh's ranks are.
void Topology::AppendTorus(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const {
  std::int64_t stride = 1;
  for (std::size_t axis = d_.axes.size(); axis-- > 0;) {
    const auto [size, wraps] = d_.axes[axis];
    const std::int64_t here = from / stride % size, there = to / stride % size;
    const std::int64_t up = (there - here + size) % size, down = (size - up) % size;
    const bool goes_up = wraps ? up <= down : there > here;
    const std::int64_t hops = wraps ? std::min(up, down) : std::abs(there - here);
    for (std::int64_t hop = 0; hop < hops; ++hop) {
      route.push_back(from * links_per_device_ + 2 * static_cast<std::int64_t>(axis) +
                      (goes_up ? 0 : 1));
      const std::int64_t at = from / stride % size;
      const std::int64_t next = goes_up ? (at + 1) % size : (at - 1 + size) % size;
      from += (next - at) * stride;
    }
    stride *= size;
  }
}

void Topology::AppendNetwork(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const {
  route.push_back(nic_begin_ + 2 * Nic(from));
  if (d_.leaf_nodes > 0) {
    const std::int64_t leaf_devices = d_.leaf_nodes * d_.node_size;
    if (from / leaf_devices != to / leaf_devices) {
      route.push_back(leaf_begin_ + 2 * (from / leaf_devices));
      route.push_back(leaf_begin_ + 2 * (to / leaf_devices) + 1);
    }
  }
  route.push_back(nic_begin_ + 2 * Nic(to) + 1);
}

// The whole latency of a route through a switch is counted on the way in, so that it is the
// number that data sheets and measurements give: from device to device.
LinkSpec Topology::Link(LinkId link) const {
  if (link < nic_begin_) {
    const bool into_device = d_.fabric == Fabric::kSwitch && link % 2 == 1;
    return {into_device ? Seconds(0) : d_.link.latency, d_.link.bandwidth};
  }
  if (link < leaf_begin_) {
    const bool in = (link - nic_begin_) % 2 == 1;
    return {in ? Seconds(0) : d_.nic.latency, d_.nic.bandwidth};
  }
  return {Seconds(0), LeafBandwidth(d_)};
}

std::string Topology::LinkName(LinkId link) const {
  if (link < nic_begin_) {
    const std::int64_t device = link / links_per_device_, which = link % links_per_device_;
    switch (d_.fabric) {
      case Fabric::kSwitch:
        return fmt::format("port of device {}, {}", device, which == 0 ? "out" : "in");
      case Fabric::kMesh:
        return fmt::format("link {} -> {}", device, device / d_.node_size * d_.node_size + which);
      case Fabric::kTorus:
        return fmt::format("link of device {} {} axis {}", device, which % 2 == 0 ? "up" : "down",
                           which / 2);
    }
  }
  if (link < leaf_begin_) {
    const std::int64_t nic = (link - nic_begin_) / 2;
    return fmt::format("nic {} of node {}, {}", nic % d_.nics, nic / d_.nics,
                       (link - nic_begin_) % 2 == 0 ? "out" : "in");
  }
  return fmt::format("leaf switch {}, {}", (link - leaf_begin_) / 2,
                     (link - leaf_begin_) % 2 == 0 ? "up" : "down");
}

bool Topology::Touches(LinkId link, std::int64_t device) const {
  if (link < nic_begin_) {
    const std::int64_t from = link / links_per_device_;
    if (from == device) return true;
    if (d_.fabric == Fabric::kMesh) {
      return from / d_.node_size * d_.node_size + link % links_per_device_ == device;
    }
    std::vector<LinkId> route;  // of a torus: the link from a neighbour to the device
    if (d_.fabric == Fabric::kTorus && from / d_.node_size == device / d_.node_size) {
      AppendTorus(from, device, route);
    }
    return route.size() == 1 && route[0] == link;
  }
  return link < leaf_begin_ && (link - nic_begin_) / 2 == Nic(device);
}

bool Topology::IsSymmetric(std::int64_t shift) const {
  if (shift == device_count()) return true;
  if (d_.nodes > 1) {
    return shift % (d_.node_size * std::max<std::int64_t>(d_.leaf_nodes, 1)) == 0;
  }
  if (d_.fabric != Fabric::kTorus) return true;
  // Whole slices of the first axis move around it.
  return d_.axes[0].wraps && shift % (d_.node_size / d_.axes[0].size) == 0;
}

LinkId Topology::Representative(LinkId link, std::int64_t shift) const {
  if (link < nic_begin_) {
    const std::int64_t device = link / links_per_device_, which = link % links_per_device_;
    const std::int64_t moved = device % shift;
    if (d_.fabric != Fabric::kMesh || d_.nodes > 1) return moved * links_per_device_ + which;
    // The other end of a mesh link moves as well.
    const std::int64_t peer = ((which - (device - moved)) % d_.node_size + d_.node_size);
    return moved * links_per_device_ + peer % d_.node_size;
  }
  if (link < leaf_begin_) {
    return nic_begin_ + (link - nic_begin_) % (2 * d_.nics * (shift / d_.node_size));
  }
  return leaf_begin_ + (link - leaf_begin_) % (2 * (shift / (d_.node_size * d_.leaf_nodes)));
}

std::string Topology::ToString() const {
  const auto link = [](const LinkSpec& l) {
    return fmt::format("{} per direction and {}", chorus::ToString(l.bandwidth),
                       chorus::ToString(l.latency));
  };
  std::string text;
  if (d_.node_size == 1) {
    text = "1 device";
  } else if (d_.fabric == Fabric::kSwitch) {
    text = fmt::format("{} devices on a switch{}, {}", d_.node_size,
                       d_.switch_reduces ? " that reduces" : "", link(d_.link));
  } else if (d_.fabric == Fabric::kMesh) {
    text = fmt::format("{} devices, each linked to each, {} a link", d_.node_size, link(d_.link));
  } else {
    std::string axes;
    for (const TorusAxis& axis : d_.axes) {
      axes += fmt::format("{}{}{}", axes.empty() ? "" : " x ", axis.size,
                          axis.wraps ? " (wraps)" : " (no wrap)");
    }
    text = fmt::format("torus {}, {} a link", axes, link(d_.link));
  }
  if (d_.nodes > 1) {
    text += fmt::format("; {} nodes with {} each, {}{}", d_.nodes, Counted(d_.nics, "NIC"),
                        link(d_.nic), d_.network_reduces ? ", through switches that reduce" : "");
    if (d_.leaf_nodes > 0) {
      text += fmt::format("; leaf switches of {}, oversubscribed {:.3g} to 1",
                          Counted(d_.leaf_nodes, "node"), d_.oversubscription);
    }
  }
  return text;
}

}  // namespace chorus
