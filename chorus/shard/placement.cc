#include "chorus/shard/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "chorus/base/rate.h"

namespace chorus {
namespace {

// The axes of the box that `devices` are on a torus; none if they are no box of neighbours.
std::vector<TorusAxis> BoxOn(const std::vector<TorusAxis>& torus,
                             const std::vector<std::int64_t>& devices) {
  std::vector<TorusAxis> box;
  std::int64_t elements = 1;
  std::int64_t stride = 1;
  for (std::size_t a = torus.size(); a-- > 0;) {
    std::set<std::int64_t> places;
    for (const std::int64_t device : devices) places.insert(device / stride % torus[a].size);
    const std::int64_t length = std::ssize(places);
    if (*places.rbegin() - *places.begin() + 1 != length) return {};
    elements *= length;
    stride *= torus[a].size;
    if (length == 1) continue;
    box.insert(box.begin(), {length, torus[a].wraps && length == torus[a].size});
  }
  if (elements != std::ssize(devices)) return {};
  return box;
}

// Ranks of each node in the group of `rank` over one axis; nothing if they differ.
std::optional<std::int64_t> RanksANode(const Mesh& mesh, std::int64_t rank, const AxisNames& axes,
                                       std::int64_t node_size) {
  std::map<std::int64_t, std::int64_t> members;
  for (const std::int64_t device : mesh.Group(rank, axes)) ++members[device / node_size];
  for (const auto& [node, count] : members) {
    if (count != members.begin()->second) return std::nullopt;
  }
  return members.begin()->second;
}

}  // namespace

Result<MeshPlacement> MeshPlacement::Create(Machine machine, Mesh mesh) {
  const std::int64_t devices = machine.topology.device_count();
  if (mesh.size() > devices) {
    return InvalidArgument(fmt::format("the mesh {} has {} ranks, but {} has {} devices",
                                       mesh.ToString(), mesh.size(), machine.name, devices));
  }
  MeshPlacement placement(std::move(machine), std::move(mesh));
  const Mesh& on = placement.mesh_;
  const std::int64_t node_size = placement.machine_.topology.definition().node_size;
  for (const MeshAxis& axis : on.axes()) {
    CHORUS_RETURN_IF_ERROR(placement.WiringOver({axis.name}).status());
    // Rank 0's group speaks for the others.
    const std::optional<std::int64_t> first = RanksANode(on, 0, {axis.name}, node_size);
    for (std::int64_t rank = 0; rank < on.size(); ++rank) {
      if (on.IndexAlong(rank, axis.name) != 0) continue;
      if (RanksANode(on, rank, {axis.name}, node_size) != first) {
        return placement.Uneven({axis.name});
      }
    }
  }
  return placement;
}

Status MeshPlacement::Uneven(const AxisNames& axes) const {
  return InvalidArgument(fmt::format(
      "on {} the ranks along {} of {} lie unevenly on its nodes of {}; give the mesh "
      "axes whose sizes divide a node",
      machine_.name, JoinAxes(axes), mesh_.ToString(), machine_.topology.definition().node_size));
}

Result<Wiring> MeshPlacement::WiringOver(const AxisNames& axes) const {
  const Topology::Definition& d = machine_.topology.definition();
  const std::vector<std::int64_t> group = mesh_.Group(0, axes);
  Wiring wiring = WiringOf(machine_, std::ssize(group));
  const std::optional<std::int64_t> in_node = RanksANode(mesh_, 0, axes, d.node_size);
  if (!in_node) return Uneven(axes);
  wiring.node_size = *in_node;
  wiring.nodes = std::ssize(group) / *in_node;
  if (d.fabric == Fabric::kTorus) {
    wiring.axes = BoxOn(d.axes, group);
    if (wiring.axes.empty() && group.size() > 1) {
      return InvalidArgument(
          fmt::format("on {} the ranks along {} of {} are no neighbours; give the mesh the axes of "
                      "the torus, in their order",
                      machine_.name, JoinAxes(axes), mesh_.ToString()));
    }
  }
  if (wiring.nodes > 1) {
    // The ranks of a node share its NICs.
    const double share = static_cast<double>(d.nics * wiring.node_size) /
                         static_cast<double>(std::min(d.node_size, mesh_.size()));
    wiring.nics = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
    wiring.nic.bandwidth = wiring.nic.bandwidth * (share / static_cast<double>(wiring.nics));
  }
  return wiring;
}

BytesPerSecond MeshPlacement::RankBandwidth(const Wiring& wiring) {
  if (wiring.nodes == 1) return wiring.link.bandwidth;
  const BytesPerSecond share = wiring.NodeBandwidth() * (1 / static_cast<double>(wiring.node_size));
  return wiring.node_size == 1 ? share : std::min(share, wiring.link.bandwidth);
}

std::string MeshPlacement::Describe(const std::string& axis) const {
  const Wiring wiring = WiringOver({axis}).value();
  const std::string bandwidth = ToString(RankBandwidth(wiring));
  const std::int64_t size = mesh_.AxisSize(axis);
  if (size == 1) return fmt::format("{} (1): one rank", axis);
  if (wiring.nodes > 1) {
    return fmt::format("{} ({}): {} a node on {} nodes, {} a rank, per direction", axis, size,
                       wiring.node_size, wiring.nodes, bandwidth);
  }
  if (wiring.fabric != Fabric::kTorus) {
    return fmt::format("{} ({}): in a node over its {}, {}{}, per direction", axis, size,
                       Name(wiring.fabric), bandwidth,
                       wiring.fabric == Fabric::kMesh ? " to each peer" : " a rank");
  }
  std::string shape;
  for (const TorusAxis& on : wiring.axes) {
    shape += fmt::format("{}{}{}", shape.empty() ? "" : " x ", on.size, on.wraps ? " around" : "");
  }
  return fmt::format("{} ({}): {} on the torus, {} to a neighbour, per direction", axis, size,
                     shape, bandwidth);
}

}  // namespace chorus
