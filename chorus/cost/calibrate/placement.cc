#include "chorus/cost/calibrate/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/base/counted.h"

namespace chorus {
namespace {

std::int64_t NodesFor(std::int64_t ranks, std::int64_t node_size) {
  return (ranks + node_size - 1) / node_size;
}

// "name it as h100-4x2" of 2 nodes of 4.
std::string NameOfNodes(const Machine& like, std::int64_t node_size, std::int64_t nodes) {
  if (like.hardware.name.empty() || like.topology.definition().fabric == Fabric::kTorus) {
    return fmt::format("give a machine of {} with {} each", Counted(nodes, "node"),
                       Counted(node_size, "device"));
  }
  return fmt::format("name it as {}-{}{}", like.hardware.name, node_size,
                     nodes > 1 ? fmt::format("x{}", nodes) : std::string());
}

// "8 ranks on 2 nodes", "8 ranks on 1 node".
std::string OnNodes(std::int64_t ranks, std::int64_t nodes) {
  return fmt::format("{} on {}", Counted(ranks, "rank"), Counted(nodes, "node"));
}

}  // namespace

Status CheckPlacement(const Machine& like, const Measurement& measured) {
  const std::int64_t node_size = like.topology.definition().node_size;
  const std::int64_t devices = like.topology.device_count();
  const std::int64_t nodes = NodesFor(measured.ranks, node_size);
  const bool several = measured.nodes > 1;
  const std::int64_t in_a_node =
      measured.in_a_node > 0 ? measured.in_a_node : NodesFor(measured.ranks, measured.nodes);
  if (measured.ranks > devices) {
    return InvalidArgument(fmt::format("--like {} has {}, but {} were measured; {}", like.name,
                                       Counted(devices, "device"),
                                       OnNodes(measured.ranks, measured.nodes),
                                       several ? NameOfNodes(like, in_a_node, measured.nodes)
                                               : NameOfNodes(like, node_size, nodes)));
  }
  if (nodes == measured.nodes && (measured.in_a_node == 0 || in_a_node == node_size)) {
    return OkStatus();
  }
  if (!several) {
    return InvalidArgument(fmt::format(
        "--like {} has {} in a node, so that {} need {}, but the log says of none or of 1; add "
        "--nodes {}",
        like.name, Counted(node_size, "device"), Counted(measured.ranks, "rank"), nodes, nodes));
  }
  return InvalidArgument(
      fmt::format("--like {} has {} in a node, but {} were measured, {} in a node; {}", like.name,
                  Counted(node_size, "device"), OnNodes(measured.ranks, measured.nodes), in_a_node,
                  NameOfNodes(like, in_a_node, measured.nodes)));
}

}  // namespace chorus
