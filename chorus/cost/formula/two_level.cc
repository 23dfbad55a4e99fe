// Two levels: M nodes of g devices. Inside a node everyone with everyone, between nodes a ring of
// the devices of one local rank each, all ports of the node at once.
//
//   all_gather   between: (M - 1)/M V out of each node; then inside: (g - 1)/g V through each link
//   all_reduce   inside reduce_scatter, between all_reduce, inside all_gather
//
// two_level does one after the other. pipelined_two_level cuts V into pieces that follow each
// other, so that the slower level decides: max(V/W_device, V/W_node) for many devices and nodes.
#include "chorus/cost/formula/phases.h"

namespace chorus {
namespace {

Status NeedsNodes(const Wiring& w, std::string_view algorithm) {
  CHORUS_RETURN_IF_ERROR(NeedsEvenNodes(w, algorithm));
  if (w.nodes > 1 && w.node_size > 1) return OkStatus();
  return Unsupported(std::string(algorithm) +
                     " is for several nodes of several devices, as h100-8x4");
}

Phase Inside(const Wiring& w, const Question& q, double times) {
  const auto g = static_cast<double>(w.node_size);
  const double share = w.fabric == Fabric::kMesh ? 1 / g : (g - 1) / g;
  return InsideNode(w, times == 1 ? "(g - 1)/g" : "2(g - 1)/g", times, share * q.bytes);
}

Phase Between(const Wiring& w, const Question& q, double times) {
  const auto m = static_cast<double>(w.nodes);
  return BetweenNodes(w, times == 1 ? "(M - 1)/M" : "2(M - 1)/M", times * (m - 1), q.bytes / m);
}

Result<Phases> Levels(const Wiring& w, const Question& q, double times, Together together) {
  CHORUS_RETURN_IF_ERROR(
      NeedsNodes(w, together == Together::kOverlapped ? "pipelined_two_level" : "two_level"));
  return Phases{{Inside(w, q, times), Between(w, q, times)}, together};
}

}  // namespace

Result<Phases> TwoLevelAllGatherTime(const Wiring& w, const Question& q) {
  return Levels(w, q, 1, Together::kOneAfterAnother);
}
Result<Phases> TwoLevelAllReduceTime(const Wiring& w, const Question& q) {
  return Levels(w, q, 2, Together::kOneAfterAnother);
}
Result<Phases> PipelinedAllGatherTime(const Wiring& w, const Question& q) {
  return Levels(w, q, 1, Together::kOverlapped);
}
Result<Phases> PipelinedAllReduceTime(const Wiring& w, const Question& q) {
  return Levels(w, q, 2, Together::kOverlapped);
}

}  // namespace chorus
