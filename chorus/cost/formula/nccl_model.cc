#include "chorus/cost/formula/nccl_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

struct Protocol {
  std::string_view name;
  // us:
  double ring_base, ring_nvlink, ring_net;
  double tree_base, tree_nvlink, tree_net;
  double ring_share;  // of the channels' bandwidth
  double tree_share;
};
constexpr Protocol kProtocols[] = {
    {"LL", 6.6, 0.6, 2.7, 6.8, 0.6, 5.0, 0.5, 0.92 / 3.8},
    {"LL128", 14.0, 1.9, 4.0, 14.0, 1.25, 8.5, 0.92, 0.92 * 0.9375},
    {"Simple", 8.4, 3.4, 14.0, 8.4, 4.0, 14.0, 1.0, 0.92},
};
constexpr double kNvlsHop = 25;        // us
constexpr double kSaturation = 13e-6;  // s

struct Generation {
  double node;     // GB/s of all channels in one node
  double network;  // of all channels between nodes
  double ll_node;  // GB/s at most with LL
  double ll_two;   // in two nodes
  double ll_more;  // in more
  double nvls;     // GB/s of the NVLS channels, 0: none
};

const Generation* GenerationOf(const std::string& name) {
  static const std::map<std::string, Generation, std::less<>> all = {
      {"volta", {6 * 20.0, 8 * 12.0, 39, 39, 20.4, 0}},
      {"ampere", {24 * 10.0, 16 * 12.0, 87.7, 39, 20.4, 0}},
      {"hopper", {24 * 15.0, 16 * 24.0, 141, 39, 20.4, 16 * 20.0 * 0.85}},
      {"blackwell", {24 * 30.0, 16 * 24.0, 282, 39, 20.4, 16 * 40.0 * 0.74}},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

// All channels together never carry more than the links below them.
double ChannelBandwidth(const Wiring& w, const Generation& g) {
  const double inside = std::min(g.node, w.link.bandwidth.value() / 1e9);
  if (w.nodes == 1) return inside;
  return std::min({g.network, NodeShare(w).value() / 1e9, w.link.bandwidth.value() / 1e9});
}

NcclTime Assemble(const Protocol& p, double launch_us, double hops_us, double gb_per_s,
                  double bytes) {
  NcclTime t;
  t.protocol = p.name;
  t.launch = Seconds(launch_us * 1e-6);
  t.hops = Seconds(hops_us * 1e-6);
  t.effective = BytesPerSecond(gb_per_s * 1e9);
  t.bandwidth = Seconds(bytes / t.effective.value());
  t.saturation = Seconds(std::sqrt(kSaturation * t.bandwidth.value()));
  return t;
}

NcclTime Ring(const Wiring& w, const Generation& g, const Question& q, const Protocol& p) {
  const bool twice = q.op == "all_reduce";
  const bool pipelined = q.op == "broadcast" || q.op == "reduce";
  const auto n = static_cast<double>(w.ranks), nodes = static_cast<double>(w.nodes);
  const double steps = twice ? 2 * (n - 1) : n - 1;
  const double between = w.nodes == 1 ? 0 : (twice ? 2 : 1) * (nodes - 1);
  double bandwidth = ChannelBandwidth(w, g) * p.ring_share;
  if (p.name == "LL") {
    bandwidth = std::min(bandwidth, w.nodes == 1 ? g.ll_node : w.nodes == 2 ? g.ll_two : g.ll_more);
  }
  // A broadcast passes everything along; the others a block at a time.
  const double algorithm = pipelined ? bandwidth : bandwidth * n / steps;
  return Assemble(p, p.ring_base, (steps - between) * p.ring_nvlink + between * p.ring_net,
                  algorithm, q.bytes);
}

NcclTime Tree(const Wiring& w, const Generation& g, const Question& q, const Protocol& p) {
  const auto in_node = static_cast<double>(w.node_size - 1);
  const auto levels = static_cast<double>(FloorLog2(w.nodes));
  double bandwidth = ChannelBandwidth(w, g) * p.tree_share;
  if (w.nodes == 1 && p.name == "LL128") bandwidth *= 7.0 / 9 / 0.9375;
  return Assemble(p, p.tree_base, 2 * (in_node * p.tree_nvlink + levels * p.tree_net),
                  bandwidth / 2, q.bytes);
}

// Everyone's messages through the ports, launched once.
NcclTime AllToAll(const Wiring& w, const Generation& g, const Question& q, const Protocol& p) {
  const auto n = static_cast<double>(w.ranks), inside = static_cast<double>(w.node_size);
  const double in_node = std::min(g.node, w.link.bandwidth.value() / 1e9);
  double bandwidth = in_node * p.ring_share * n / std::max(inside - 1, 1.0);
  if (w.nodes > 1) {
    // All a node's ranks send (n - inside)/n of theirs through its ports.
    double out = NodeShare(w).value() / 1e9 * p.ring_share * n / (n - inside) / inside;
    if (w.leaf_nodes > 0) {
      const double below = inside * static_cast<double>(w.leaf_nodes);
      out = std::min(out, w.LeafBandwidth().value() / 1e9 * p.ring_share * n / (n - below) / below);
    }
    bandwidth = w.node_size == 1 ? out : std::min(bandwidth, out);
  }
  const double hop = w.nodes > 1 ? p.ring_net : p.ring_nvlink;
  return Assemble(p, p.ring_base, hop, bandwidth, q.bytes);
}

}  // namespace

Result<NcclTime> NcclModel(const Wiring& w, const Question& q, std::string_view algorithm) {
  const Generation* g = GenerationOf(w.nccl);
  if (g == nullptr) {
    return Unsupported(
        "latency model nccl has tables of NVIDIA hardware only (v100 to gb200); use sum or max");
  }
  const bool ring_op = q.op == "all_reduce" || q.op == "all_gather" || q.op == "reduce_scatter" ||
                       q.op == "broadcast" || q.op == "reduce";
  const bool ring = algorithm == "ring" && ring_op;
  const bool tree = algorithm == "tree" && q.op == "all_reduce";
  const bool nvls = algorithm == "sharp" && q.op == "all_reduce";
  const bool all_to_all = algorithm == "direct" && q.op == "all_to_all";
  if (nvls && (g->nvls == 0 || w.nodes > 1 || !w.switch_reduces)) {
    return Unsupported("sharp under model nccl is NVLS in one node of hopper or later");
  }
  if (!ring && !tree && !nvls && !all_to_all) {
    return Unsupported(fmt::format(
        "NCCL's model has no {} {}; it has ring, tree and sharp of all_reduce, ring of all_gather, "
        "reduce_scatter, broadcast and reduce, direct of all_to_all",
        algorithm, q.op));
  }
  CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, "latency model nccl"));
  if (nvls) {
    const double bandwidth = std::min(g->nvls, w.link.bandwidth.value() / 1e9);
    return Assemble(kProtocols[2], 0, kNvlsHop, bandwidth, q.bytes);
  }
  std::optional<NcclTime> best;
  for (const Protocol& p : kProtocols) {
    const NcclTime t = ring ? Ring(w, *g, q, p) : tree ? Tree(w, *g, q, p) : AllToAll(w, *g, q, p);
    if (!best || t.total() < best->total()) best = t;
  }
  return *best;
}

}  // namespace chorus
