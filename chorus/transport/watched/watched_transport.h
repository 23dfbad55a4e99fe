// WatchedTransport: passes everything on to another transport and tells a watcher, first, of every
// point at which this rank shows its peers something, takes something of theirs, or looks for it.
//
//   faulty      a watcher that ends or stops the process at the k-th point
//   paced       channels as slow as links, see link_pace.h; or a watcher that sleeps at points
//   recording   a watcher that writes them down
//
// Between two points a rank only computes on what it has, so a process that ends at each point in
// turn has ended at every step of a plan that its peers could tell apart. Payload of lanes and of
// mapped buffers moves between points: who wants to disturb a copy protects a page of its memory.
//
// Cost: nothing where it is not used; a virtual call a point where it is.
// Thread safety: as the transport within; the watcher is called by the thread that calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "chorus/transport/transport.h"

namespace chorus {

struct TransportPoint {
  enum class Kind : std::uint8_t {
    kPublish,   // the record of a call is about to be shown
    kLaneTo,    // a lane is asked for, to send or to look for room
    kLaneFrom,  // a lane is asked for, to look for a message
    kBegin,     // a message is about to begin, if there is room for its header
    kCommit,    // payload is in the channel and about to be shown
    kConsume,   // payload is used and its room about to be given back
    kPosted,    // lines and stages are written, whom they are for not yet woken
    kRing,      // all members are about to be woken: of stages, when a tile is done
    kLaneSent,  // by lanes this went to a peer in the operation that is about to be finished
    kMoved,     // an edge of a schedule has been carried out without a message, see Links::Moved
    kCut,       // the message under way is about to be cut
    kFinish,    // the end of an operation is about to be shown
    kMap,       // memory of a peer is about to be found
    kRead,      // memory of a peer is about to be read through the kernel
    kPut,       // bytes are about to be put into a peer's memory
    kGet,
    kPoison,   // the group is about to be ended
    kNote,     // words are about to be shown on the board
    kSettle,   // a cell is about to be settled
    kGoodbye,  // this rank is about to leave a group
  };
  Kind kind = Kind::kPublish;
  // The rank at the other end: of the group, for kMap, kRead, kPut and kGet of the job; -1: all.
  int peer = -1;
  int from = -1;               // kMoved: the sender by the schedule, `peer` being the receiver
  std::int64_t bytes = 0;      // kBegin, kCommit, kConsume, kLaneSent, kMoved, kRead, kPut, kGet
  std::uint64_t sequence = 0;  // kPublish, kBegin, kFinish: number of the operation
  bool is_direct = false;      // of the channels between two ranks, not of collectives
  std::uint32_t message = 0;   // kBegin: which message of the schedule
  std::uint64_t group_serial = 0;  // which Links of this transport, from 1; 0: none

  friend bool operator==(const TransportPoint&, const TransportPoint&) = default;
};

using TransportWatcher = std::function<void(const TransportPoint&)>;

// `watcher` is called until the last Links of the transport is gone.
std::unique_ptr<Transport> WatchTransport(std::unique_ptr<Transport> inner,
                                          TransportWatcher watcher);

}  // namespace chorus
