// Machine: a topology, the hardware it is made of, and what has been measured on it.
//
// What stands after --on: a name such as
//
//   h100          one whole node            h100-4     4 devices of one node
//   h100-8x16     16 nodes of 8             gb200-72   one rack
//   v5e-8x4       a slice of a torus        v5p-4x4x8
//
// or a file that describes a machine of one's own (ParseMachine). Thread safety: values.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/topology/hardware.h"
#include "chorus/topology/topology.h"

namespace chorus {

// A number with the interval in which it lies with about 19 in 20 certainty; how sure it is may be
// unknown, and then it is anything from 0 up.
struct Measured {
  double value = 0;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  friend bool operator==(const Measured&, const Measured&) = default;

  bool IntervalKnown() const { return std::isfinite(high); }
};

// What a machine file says of measurements at most.
inline constexpr std::int64_t kMostMeasuredBytes = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostMeasuredRanks = std::int64_t{1} << 24;

// The time of one collective as it was measured, over the bytes n of its array as nccl-tests
// counts them:  t(n) = latency + saturation sqrt(n) + n / algorithm bandwidth.
struct FittedCurve {
  std::string op;  // "all_reduce"
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  std::int64_t root = -1;        // of an operation that has one; -1 if nobody says which it was
  Measured latency;              // s
  Measured saturation;           // s / sqrt(B): what medium sizes lose
  Measured inverse;              // s / B: 1 / (algorithm bandwidth)
  std::int64_t least_bytes = 0;  // the range that was fitted
  std::int64_t most_bytes = 0;
  std::int64_t points = 0;               // measurements fitted
  double error_fitted = 0;               // exp(mean |ln(predicted / measured)|) - 1 over them
  std::optional<double> error_held_out;  // the same over those kept aside; empty if none were
  friend bool operator==(const FittedCurve&, const FittedCurve&) = default;

  double Time(double bytes) const;  // s
};

struct Machine {
  std::string name;
  Topology topology;
  Hardware hardware;
  std::vector<FittedCurve> fits;
  std::string origin;  // the file that it was read from; empty for a name
};

// REQUIRES: the catalogue outlives nothing; the machine holds copies. Errors: unknown hardware
// (with the nearest name), a size that is none, more devices than a node has, an axis that is too
// long.
Result<Machine> MachineNamed(std::string_view name, const Catalogue& catalogue);

// The slice of a torus with these axes; which of them wrap follows from the rule of the hardware.
std::vector<TorusAxis> SliceAxes(const Hardware& hardware, const std::vector<std::int64_t>& sizes);

// The ports of a node with `node_size` devices, where a whole one has `nics`: in proportion, 1 or
// more.
std::int64_t NicsOf(const Hardware& hardware, std::int64_t nics, std::int64_t node_size);

// Why an axis of a slice does not wrap and which slice would: "an axis of 8 on v5e does not wrap;
// only an axis of 16 does".
std::string WhyNoWrap(const Hardware& hardware, std::int64_t axis_size);

// Reads a file with a [machine] section and, if calibrated, [[fit]] sections:
//
//   [machine]
//   on = "h100-8x2"               # what it is like; all below is optional and changes it
//   link_bandwidth = "370 GB/s"   # and link_latency, nic_bandwidth, nic_latency
//   leaf_nodes = 1
//   oversubscription = 2.0
//
// Instead of `on`: fabric = "switch" | "mesh" | "torus", node = 8 or axes = [8, 4] with
// wraps = [true, false], link_bandwidth, link_latency, and for several nodes nodes, nics,
// nic_bandwidth, nic_latency, network_reduces.
//
// With `on`, what is not written is that of the hardware: `nodes = 4` of h100-8 are joined by its
// ports. A key that says nothing about the machine that the others describe is refused.
Result<Machine> ParseMachine(std::string_view text, const std::string& origin,
                             const Catalogue& catalogue);
// ParseMachine of it gives the same machine again. `comment` goes on top, each line after "# ".
std::string MachineText(const Machine& machine, std::string_view comment);

}  // namespace chorus
