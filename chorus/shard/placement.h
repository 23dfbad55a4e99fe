// MeshPlacement: which devices of a machine the ranks of a mesh are, and what joins those of an
// axis.
//
//   X=4,Y=8 on h100-8x4: rank r is device r, so the last axis is the one inside
//
//     Y (8): 8 in a node           over the switch, 450 GB/s a device
//     X (4): 1 a node, 4 nodes     over its own NIC of 50 GB/s; 8 such groups work at once
//
// All groups over the same axes work at the same time, so each has its share of the NICs of a node.
// On a torus the ranks of an axis must be neighbours on one axis, or a box of them.
// Thread safety: immutable value.
#pragma once

#include <cstdint>
#include <string>

#include "chorus/base/status.h"
#include "chorus/cost/formula/wiring.h"
#include "chorus/mesh/mesh.h"
#include "chorus/topology/machine.h"

namespace chorus {

class MeshPlacement {
 public:
  // Errors: more ranks than devices; ranks of a mesh axis that lie apart on a torus, or unevenly on
  // nodes, naming the axis and the machine.
  static Result<MeshPlacement> Create(Machine machine, Mesh mesh);

  const Machine& machine() const { return machine_; }
  const Mesh& mesh() const { return mesh_; }

  // What the group of rank 0 over `axes` sees while all such groups work. Errors: as Create, for
  // axes together. REQUIRES: axes are on the mesh.
  Result<Wiring> WiringOver(const AxisNames& axes) const;
  // What one rank can send over those links: the port, or its share of the NICs.
  static BytesPerSecond RankBandwidth(const Wiring& wiring);

  // "X (4): 1 a node on 4 nodes, 50 GB/s a rank, per direction". REQUIRES: the axis is on the mesh.
  std::string Describe(const std::string& axis) const;

 private:
  Status Uneven(const AxisNames& axes) const;

  MeshPlacement(Machine machine, Mesh mesh)
      : machine_(std::move(machine)), mesh_(std::move(mesh)) {}

  Machine machine_;
  Mesh mesh_;
};

}  // namespace chorus
