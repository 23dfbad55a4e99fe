// Algorithms in which ranks talk to all others, or all to one, at once.
//
//   switch   a port carries all that its device sends: latency + (N - 1) messages / W
//   mesh     a link for each peer: latency + 1 message / W
//   nodes    what goes to other nodes leaves through the ports of the node, at the same time
#include <fmt/format.h>

#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

// Every rank sends `bytes` to every other, all at once. `part` is what that is of V.
Result<Phases> Everyone(const Wiring& w, double bytes, const std::string& part,
                        std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, algorithm));
  const auto inside = static_cast<double>(w.node_size - 1);
  const auto outside = static_cast<double>(w.ranks - w.node_size);
  Phases p;
  p.together = Together::kOverlapped;
  if (inside > 0) {
    const bool mesh = w.fabric == Fabric::kMesh;
    const std::string peers = mesh ? "" : fmt::format("{:g} x ", inside);
    p.phases.push_back(InsideNode(w, peers + part, 1, (mesh ? 1 : inside) * bytes));
  }
  if (outside > 0) {
    const double all = static_cast<double>(w.node_size) * outside;
    p.phases.push_back(BetweenNodes(w, fmt::format("{:g} x {}", all, part), 1, all * bytes));
  }
  return p;
}

// Everyone, `rounds` times.
Result<Phases> Repeated(Result<Phases> once, double rounds) {
  if (!once.ok()) return once;
  for (Phase& phase : once->phases) {
    phase.rounds *= rounds;
    if (rounds != 1) phase.factor = fmt::format("{:g} x {}", rounds, phase.factor);
  }
  return once;
}

}  // namespace

Result<Phases> DirectGatherAllTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes / static_cast<double>(w.ranks), "1/N", "direct");
}

Result<Phases> DirectAllReduceTime(const Wiring& w, const Question& q) {
  return Repeated(DirectGatherAllTime(w, q), 2);
}

Result<Phases> OneShotAllReduceTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes, "1", "one_shot");
}

Result<Phases> DirectAllToAllTime(const Wiring& w, const Question& q) {
  return Everyone(w, q.bytes / static_cast<double>(w.ranks), "1/N", "direct");
}

// Then ceil(log2 N) rounds of signals.
Result<Phases> ConfirmedAllToAllTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsOneLevel(w, "confirmed"));
  CHORUS_ASSIGN_OR_RETURN(Phases p, DirectAllToAllTime(w, q));
  p.together = Together::kOneAfterAnother;
  p.phases.push_back(OverRing(w, "0", static_cast<double>(CeilLog2(w.ranks)), 0));
  return p;
}

// gather and scatter: all blocks but the root's own through the root's port.
Result<Phases> DirectRootedTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "direct"));
  const auto n = static_cast<double>(w.ranks);
  const auto inside = static_cast<double>(w.node_size - 1), outside = n - 1 - inside;
  const double block = q.bytes / n;
  Phases p;
  p.together = Together::kOverlapped;
  if (inside > 0) {
    const bool mesh = w.fabric == Fabric::kMesh;
    p.phases.push_back(InsideNode(w, mesh ? "1/N" : fmt::format("{:g}/N", inside), 1,
                                  (mesh ? 1 : inside) * block));
  }
  if (outside > 0) {
    // One root, so one of the node's ports.
    Phase phase = BetweenNodes(w, fmt::format("{:g}/N", outside), 1, outside * block);
    phase.bandwidth = w.nic.bandwidth;
    phase.link = "the root's port between nodes";
    p.phases.push_back(std::move(phase));
  }
  return p;
}

// Everything through the root's link: all of V to or from each of the others.
Result<Phases> NaiveRootedTime(const Wiring& w, const Question& q) {
  CHORUS_RETURN_IF_ERROR(NeedsPorts(w, "naive"));
  if (w.ranks == 1) return Phases{};
  const double others = w.fabric == Fabric::kMesh ? 1 : static_cast<double>(w.ranks - 1);
  Phase phase = OverRing(w, w.fabric == Fabric::kMesh ? "1" : "(N - 1)", 1, others * q.bytes);
  phase.link = "the root's link";
  return Phases{{phase}};
}

Result<Phases> NaiveAllReduceTime(const Wiring& w, const Question& q) {
  CHORUS_ASSIGN_OR_RETURN(Phases p, NaiveRootedTime(w, q));
  for (Phase& phase : p.phases) {
    phase.factor = "2 x " + phase.factor;
    phase.rounds *= 2;
  }
  return p;
}

// The switch adds up and sends the sum to all: V up and V down each link, both at once.
Result<Phases> InNetworkAllReduceTime(const Wiring& w, const Question& q) {
  if (w.nodes == 1 && w.switch_reduces) return Phases{{InsideNode(w, "1", 1, q.bytes)}};
  if (w.nodes > 1 && w.switch_reduces && w.network_reduces) {
    Phases p;
    p.together = Together::kOverlapped;
    p.phases.push_back(InsideNode(w, "1", 1, q.bytes));
    p.phases.push_back(BetweenNodes(w, "1", 1, q.bytes));
    return p;
  }
  return Unsupported(
      "sharp needs switches that reduce, inside the node and between nodes; h100-8 has one inside");
}

}  // namespace chorus
