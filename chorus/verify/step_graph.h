// StepGraph: the steps of all ranks as nodes, with what must come before what.
//
// Two relations are read from it:
//
//   begins after   dependencies, and each recv together with its send: a send may have to wait
//                  until its recv begins (rendezvous). If this has no cycle, nothing deadlocks,
//                  however much or little a transport buffers.
//   happens after  dependencies, and each recv after its send; nothing else is certain, because a
//                  transport that buffers lets a send end early. Races are judged by this one.
//
// Thread safety: immutable. Lifetime: refers to the Expansion.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "chorus/schedule/expansion.h"
#include "chorus/verify/fault.h"

namespace chorus {

class StepGraph {
 public:
  // Nodes are numbered rank by rank, in listing order. REQUIRES: Connect() before the rest.
  explicit StepGraph(const Expansion& expansion);

  // Checks each step by itself, matches sends with recvs, and orders all nodes. The fault is a step
  // that cannot be, a message without its other half or with other chunks, a cycle, or messages of
  // one pair of ranks that the two list in different orders or cannot carry out in that order.
  std::optional<Fault> Connect();

  std::int64_t size() const { return static_cast<std::int64_t>(steps_.size()); }
  const Step& step(std::int64_t node) const { return *steps_[node]; }
  std::int64_t rank(std::int64_t node) const { return ranks_[node]; }
  std::int64_t first(std::int64_t rank) const { return first_[rank]; }
  // The other half of a message; -1 for reduce and copy.
  std::int64_t partner(std::int64_t node) const { return partner_[node]; }
  std::int64_t messages() const { return messages_; }

  // The nodes that `node` directly happens after.
  const std::vector<std::int64_t>& Before(std::int64_t node) const { return before_[node]; }
  // All nodes, in an order that respects both relations.
  const std::vector<std::int64_t>& order() const { return order_; }

  Fault FaultAt(std::int64_t node, std::string why, std::string expected) const;

 private:
  using Edges = std::vector<std::vector<std::int64_t>>;

  std::optional<Fault> CheckStep(std::int64_t node) const;
  std::optional<Fault> Match();
  std::optional<Fault> CheckPair(std::int64_t send, std::int64_t recv) const;
  std::optional<Fault> CheckSameOrder() const;
  // Sends and recvs of one message count as one node, the send.
  std::int64_t Merged(std::int64_t node) const;
  Edges MergedEdges(bool in_listed_order) const;
  // Orders all nodes by `after`; the fault shows a cycle.
  std::optional<Fault> Order(const Edges& after, std::string_view expected);
  Fault CycleFault(const Edges& after, const std::vector<bool>& done, std::string expected) const;

  const Expansion& e_;
  std::vector<const Step*> steps_;     // by node
  std::vector<std::int64_t> ranks_;    // by node
  std::vector<std::int64_t> first_;    // by rank: its first node; one more for the end
  std::vector<std::int64_t> partner_;  // by node
  Edges before_;                       // by node
  std::vector<std::int64_t> order_;
  std::int64_t messages_ = 0;
};

}  // namespace chorus
