// Topology: the devices of a cluster, the links between them, and the way a message takes.
//
// Start here. A topology is one fabric inside a node and, if there are several nodes, one network
// between them:
//
//   switch    every device has a port to one switch          NVLink with NVSwitch
//   mesh      every device has a link to every other         xGMI of MI300X
//   torus     1 to 3 axes; each device has a link to its     ICI of TPUs
//             neighbours on every axis, with or without
//             the link from the last back to the first
//
//   between nodes: each node has `nics` ports ("rails"); all ports go to one switch that never
//   blocks, or to leaf switches of `leaf_nodes` nodes each below a spine, whose uplinks carry
//   1/oversubscription of what comes from below (a fat tree).
//
// Nothing is stored per device or link: links are numbered, and what a link is and which links a
// message takes is worked out, so that 100,000 devices cost nothing. Bandwidth is per direction:
// the two directions of a cable are two links. Thread safety: immutable values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"

namespace chorus {

enum class Fabric : std::uint8_t { kSwitch, kMesh, kTorus };
std::string_view Name(Fabric fabric);  // "switch", "mesh", "torus"

// One direction of a link. The latency is what the first byte needs.
struct LinkSpec {
  Seconds latency;
  BytesPerSecond bandwidth;
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

// An axis of fewer devices has no way round: the link from the last back to the first would be the
// one that there is.
inline constexpr std::int64_t kLeastToWrap = 3;

struct TorusAxis {
  std::int64_t size = 1;
  bool wraps = false;  // the last device is linked to the first; from 3 devices on
  friend bool operator==(const TorusAxis&, const TorusAxis&) = default;
};

// The number of a link, in [0, link_count()).
using LinkId = std::int64_t;

class Topology {
 public:
  struct Definition {
    Fabric fabric = Fabric::kSwitch;
    std::int64_t node_size = 1;  // devices in a node
    // switch: a device's port, latency from device to device. mesh: the link to each peer.
    // torus: the link to one neighbour.
    LinkSpec link;
    std::vector<TorusAxis> axes;  // of a torus; node_size is the product of their sizes
    bool switch_reduces = false;  // the switch adds up by itself (SHARP)

    std::int64_t nodes = 1;
    std::int64_t nics = 1;         // per node; device d of a node uses port d * nics / node_size
    LinkSpec nic;                  // one port; latency from node to node
    std::int64_t leaf_nodes = 0;   // nodes below one leaf switch; 0: one switch that never blocks
    double oversubscription = 1;   // bandwidth into a leaf from below / up from it; >= 1
    bool network_reduces = false;  // the switches between nodes add up by themselves
    friend bool operator==(const Definition&, const Definition&) = default;
  };

  // Errors name what is wrong and what would be right: a count below 1, a bandwidth or latency
  // that is none, axes that are not of this node size, more than 2^40 links.
  static Result<Topology> Make(Definition definition);

  const Definition& definition() const { return d_; }
  std::int64_t device_count() const { return d_.nodes * d_.node_size; }
  LinkId link_count() const { return link_count_; }

  // REQUIRES of all below: devices in [0, device_count()), links in [0, link_count()).

  // Appends the links that a message takes, in order. Nothing if from == to. Torus: axis by axis,
  // the first axis last, the shorter way round, up in a tie.
  void AppendRoute(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const;
  LinkSpec Link(LinkId link) const;
  // "port of device 3, out", "link 3 -> 4", "nic 1 of node 2, in".
  std::string LinkName(LinkId link) const;
  // True if the link begins or ends at the device itself.
  bool Touches(LinkId link, std::int64_t device) const;

  // True if moving every device d to d + shift (mod device_count()) maps the topology onto itself:
  // the route of (d + shift, e + shift) is then the moved route of (d, e). REQUIRES: shift > 0
  // divides device_count().
  bool IsSymmetric(std::int64_t shift) const;
  // The link of lowest device or node onto which `link` is moved by multiples of `shift`.
  // REQUIRES: IsSymmetric(shift).
  LinkId Representative(LinkId link, std::int64_t shift) const;

  // "8 devices on a switch, 450 GB/s and 600 ns; 2 nodes, 8 NICs of 50 GB/s and 5 us".
  std::string ToString() const;

  friend bool operator==(const Topology& a, const Topology& b) { return a.d_ == b.d_; }

 private:
  explicit Topology(Definition definition);
  std::int64_t Nic(std::int64_t device) const;  // counted over all nodes
  void AppendFabric(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const;
  void AppendTorus(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const;
  void AppendNetwork(std::int64_t from, std::int64_t to, std::vector<LinkId>& route) const;

  Definition d_;
  // Links are numbered: those of the fabric device by device, then nics out and in, then leaves up
  // and down.
  std::int64_t links_per_device_ = 0;
  LinkId nic_begin_ = 0;
  LinkId leaf_begin_ = 0;
  LinkId link_count_ = 0;
};

}  // namespace chorus
