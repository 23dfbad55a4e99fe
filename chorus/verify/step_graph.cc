#include "chorus/verify/step_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace chorus {

namespace {

// All sends, or all recvs, by key.
class MessageTable {
 public:
  MessageTable(const StepGraph& graph, Verb verb) {
    for (std::int64_t node = 0; node < graph.size(); ++node) {
      if (graph.step(node).verb != verb) continue;
      messages_.emplace_back(KeyOf(graph.step(node), graph.rank(node)), node);
    }
    std::sort(messages_.begin(), messages_.end());
  }

  // The first node with this key, or -1.
  std::int64_t Find(const MessageKey& key) const {
    const auto found = std::lower_bound(messages_.begin(), messages_.end(),
                                        std::pair<MessageKey, std::int64_t>(key, -1));
    return found == messages_.end() || found->first != key ? -1 : found->second;
  }

 private:
  std::vector<std::pair<MessageKey, std::int64_t>> messages_;
};

}  // namespace

StepGraph::StepGraph(const Expansion& expansion) : e_(expansion) {
  for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
    first_.push_back(size());
    for (const Step& step : e_.ranks[rank]) {
      steps_.push_back(&step);
      ranks_.push_back(rank);
    }
  }
  first_.push_back(size());
  partner_.assign(steps_.size(), -1);
}

std::optional<Fault> StepGraph::Connect() {
  for (std::int64_t node = 0; node < size(); ++node) {
    if (auto fault = CheckStep(node)) return fault;
  }
  if (auto fault = Match()) return fault;
  if (auto fault = Order(MergedEdges(/*in_listed_order=*/false),
                         "that some step can begin even if every send waits for its recv")) {
    return fault;
  }
  if (auto fault = CheckSameOrder()) return fault;
  if (auto fault = Order(MergedEdges(/*in_listed_order=*/true),
                         "that messages from one rank to another can be carried out as listed")) {
    return fault;
  }
  before_.resize(steps_.size());
  for (std::int64_t node = 0; node < size(); ++node) {
    for (std::int64_t i : step(node).after) before_[node].push_back(first_[rank(node)] + i);
    if (step(node).verb == Verb::kRecv) before_[node].push_back(partner_[node]);
  }
  return std::nullopt;
}

Fault StepGraph::FaultAt(std::int64_t node, std::string why, std::string expected) const {
  return Fault{ranks_[node], steps_[node]->ToString(), std::move(why), std::move(expected)};
}

// An expansion may be made by hand or mutated, so nothing that ForRank ensures is taken for
// granted.
std::optional<Fault> StepGraph::CheckStep(std::int64_t node) const {
  const Step& s = step(node);
  const Frame& frame = e_.frames[rank(node)];
  const std::int64_t own_index = node - first_[rank(node)];
  for (std::int64_t before : s.after) {
    if (before >= 0 && before < own_index) continue;
    const bool exists = before >= 0 && before < first_[rank(node) + 1] - first_[rank(node)];
    return FaultAt(node,
                   exists ? fmt::format("it comes after {}, which is listed later",
                                        steps_[first_[rank(node)] + before]->label)
                          : fmt::format("it comes after step {}, which does not exist", before),
                   "dependencies on steps listed before");
  }
  if (s.IsMessage() && (s.peer < 0 || s.peer >= e_.group_size || s.peer == rank(node))) {
    return FaultAt(node, fmt::format("the peer is {}", s.peer),
                   fmt::format("another rank in 0 .. {}", e_.group_size - 1));
  }
  const std::size_t wanted = s.verb == Verb::kReduce ? 3 : 2;
  if (!s.IsMessage() && s.chunks.size() != wanted) {
    return FaultAt(node, fmt::format("it has {} chunks", s.chunks.size()),
                   fmt::format("{}", wanted));
  }
  for (const Chunk& chunk : s.chunks) {
    const std::int64_t slots = chunk.buffer == BufferKind::kTmp ? frame.tmp_slots : frame.acc_slots;
    const bool slot_exists = !IsScratch(chunk.buffer) || (chunk.slot >= 0 && chunk.slot < slots);
    if (slot_exists && chunk.block >= 0 && chunk.block < frame.blocks) continue;
    return FaultAt(node, fmt::format("{} does not exist", chunk.ToString()),
                   fmt::format("blocks below {}, tmp slots below {}, acc slots below {}",
                               frame.blocks, frame.tmp_slots, frame.acc_slots));
  }
  return std::nullopt;
}

std::optional<Fault> StepGraph::Match() {
  MessageTable sends(*this, Verb::kSend), recvs(*this, Verb::kRecv);
  for (std::int64_t node = 0; node < size(); ++node) {
    if (!step(node).IsMessage()) continue;
    const bool send = step(node).verb == Verb::kSend;
    const std::int64_t same = (send ? sends : recvs).Find(KeyOf(step(node), rank(node)));
    if (same != node) {
      return FaultAt(node, fmt::format("{} has the same peer and number", step(same).label),
                     "one message of a number between two ranks");
    }
  }
  for (std::int64_t node = 0; node < size(); ++node) {
    if (!step(node).IsMessage()) continue;
    const bool send = step(node).verb == Verb::kSend;
    partner_[node] = (send ? recvs : sends).Find(KeyOf(step(node), rank(node)));
    if (partner_[node] < 0) {
      return FaultAt(node, send ? "nobody receives it" : "nobody sends it",
                     fmt::format("a {} of number {} on rank {}", send ? "recv" : "send",
                                 step(node).message, step(node).peer));
    }
    if (send) {
      ++messages_;
      if (auto fault = CheckPair(node, partner_[node])) return fault;
    }
  }
  return std::nullopt;
}

std::optional<Fault> StepGraph::CheckPair(std::int64_t send, std::int64_t recv) const {
  const std::vector<Chunk>& from = step(send).chunks;
  const std::vector<Chunk>& into = step(recv).chunks;
  bool same = from.size() == into.size();
  for (std::size_t i = 0; same && i < from.size(); ++i) {
    same = from[i].block == into[i].block &&
           HoldsAccumulators(from[i].buffer) == HoldsAccumulators(into[i].buffer);
  }
  if (same) return std::nullopt;
  return FaultAt(recv,
                 fmt::format("rank {} sends other chunks ({})", rank(send), step(send).ToString()),
                 "the same blocks on both sides, accumulators into accumulators");
}

// The i-th recv from a peer must be of the peer's i-th send to this rank.
std::optional<Fault> StepGraph::CheckSameOrder() const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> sent;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> received;
  for (std::int64_t node = 0; node < size(); ++node) {
    if (step(node).verb == Verb::kSend) sent[{rank(node), step(node).peer}].push_back(node);
  }
  for (std::int64_t node = 0; node < size(); ++node) {
    if (step(node).verb != Verb::kRecv) continue;
    const std::pair<std::int64_t, std::int64_t> pair{step(node).peer, rank(node)};
    const std::int64_t next = sent[pair][received[pair]++];
    if (next == partner_[node]) continue;
    return FaultAt(node,
                   fmt::format("rank {} sends {} before its message", pair.first, step(next).label),
                   "recvs listed in the order in which the peer lists its sends");
  }
  return std::nullopt;
}

std::int64_t StepGraph::Merged(std::int64_t node) const {
  return step(node).verb == Verb::kRecv ? partner_[node] : node;
}

// A dependency of either half of a message is one of both. In listed order each message also comes
// after the one that the same sender lists before it for the same receiver.
StepGraph::Edges StepGraph::MergedEdges(bool in_listed_order) const {
  Edges after(steps_.size());
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> last;  // message of a pair
  for (std::int64_t node = 0; node < size(); ++node) {
    for (std::int64_t i : step(node).after) {
      after[Merged(node)].push_back(Merged(first_[rank(node)] + i));
    }
    if (!in_listed_order || step(node).verb != Verb::kSend) continue;
    const auto [previous, first_of_pair] = last.insert({{rank(node), step(node).peer}, node});
    if (!first_of_pair) after[node].push_back(previous->second);
    previous->second = node;
  }
  return after;
}

// Kahn's algorithm over merged nodes.
std::optional<Fault> StepGraph::Order(const Edges& after, std::string_view expected) {
  Edges next(steps_.size());
  std::vector<std::int64_t> waits(steps_.size());
  for (std::int64_t node = 0; node < size(); ++node) {
    for (std::int64_t before : after[node]) {
      next[before].push_back(node);
      ++waits[node];
    }
  }
  std::vector<bool> done(steps_.size());
  // The lowest node first, so that the order, and with it the first fault found, is always the
  // same.
  std::set<std::int64_t> ready;
  for (std::int64_t node = 0; node < size(); ++node) {
    if (Merged(node) == node && waits[node] == 0) ready.insert(node);
  }
  order_.clear();
  while (!ready.empty()) {
    const std::int64_t node = *ready.begin();
    ready.erase(ready.begin());
    done[node] = true;
    order_.push_back(node);
    if (step(node).verb == Verb::kSend) order_.push_back(partner_[node]);
    for (std::int64_t n : next[node]) {
      if (--waits[n] == 0) ready.insert(n);
    }
  }
  if (std::ssize(order_) == size()) return std::nullopt;
  return CycleFault(after, done, std::string(expected));
}

Fault StepGraph::CycleFault(const Edges& after, const std::vector<bool>& done,
                            std::string expected) const {
  std::int64_t node = 0;
  while (done[Merged(node)]) ++node;
  node = Merged(node);
  // Every node left has a predecessor that is left: walk back until one repeats.
  std::vector<std::int64_t> path;
  while (std::find(path.begin(), path.end(), node) == path.end()) {
    path.push_back(node);
    node = *std::find_if(after[node].begin(), after[node].end(),
                         [&](std::int64_t before) { return !done[before]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  std::string text = "it waits for itself:";
  for (std::size_t i = 0; i <= path.size(); ++i) {
    const std::int64_t n = path[i % path.size()];
    text += fmt::format("{} {} of rank {}", i == 0 ? "" : " after", step(n).label, rank(n));
    if (i == 3 && path.size() > 6) {
      text += fmt::format(" after {} more", path.size() - 4);
      i = path.size() - 1;
    }
  }
  return FaultAt(path[0], text, std::move(expected));
}

}  // namespace chorus
