// EdgeRecorder: the recording watcher of a transport: what went from rank to rank, whichever way.
//
//   EdgeRecorder recorder(inner->rank());
//   transport = WatchTransport(std::move(inner), [&](const TransportPoint& p) { recorder.See(p);
//   });
//   ... recorder.edges()      {(0, 1): 4096, (0, 2): 0}
//
// Messages by channels and lanes are seen by their sender, what moves without a message by whoever
// moves it; so the edges of a call are those of all its ranks together. Sends between two ranks and
// puts are not of a schedule and left out. Thread safety: as of the transport.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "chorus/transport/watched/watched_transport.h"

namespace chorus {

class EdgeRecorder {
 public:
  // Bytes by (sender, receiver), ranks of the group. A signal is an edge of 0 bytes.
  using Edges = std::map<std::pair<int, int>, std::int64_t>;

  explicit EdgeRecorder(int rank) : rank_(rank) {}

  void See(const TransportPoint& point) {
    if (point.is_direct) return;
    switch (point.kind) {
      case TransportPoint::Kind::kBegin:  // told again until there is room
        edges_.try_emplace({rank_, point.peer}, 0);
        return;
      case TransportPoint::Kind::kCommit:
      case TransportPoint::Kind::kLaneSent:
        edges_[{rank_, point.peer}] += point.bytes;
        return;
      case TransportPoint::Kind::kMoved:
        edges_[{point.from, point.peer}] += point.bytes;
        return;
      default:
        return;
    }
  }
  const Edges& edges() const { return edges_; }
  void Clear() { edges_.clear(); }

 private:
  const int rank_;
  Edges edges_;
};

}  // namespace chorus
