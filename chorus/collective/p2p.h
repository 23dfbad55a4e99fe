// PointToPoint: sends and receives between the ranks of one group, beside its collectives.
//
// They have channels of their own, so neither waits for the other. Whatever arrives is taken out of
// its channel at once: into the buffer of the receive that fits, or into memory until one comes.
// Small messages may come early, up to a window a pair of ranks; of larger ones, and of those
// beyond the window, only the envelope comes, and the payload when a receive has taken it. So no
// message waits behind another, and memory for early ones is bounded: window + one envelope a send.
//
//   Send ──▶ envelopes ─┐                              ┌─▶ Matcher ──▶ the buffer of a receive
//            streams ───┼─▶ channel ───▶ channel ──────┤      arrivals, receives
//            answers ───┘                              └─▶ buffers of receives under way
//
// Thread safety: the mutex of the Endpoint guards all of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"
#include "chorus/collective/kept_memory.h"
#include "chorus/collective/matcher.h"
#include "chorus/collective/operation.h"
#include "chorus/collective/p2p_frame.h"
#include "chorus/transport/links.h"
#include "chorus/transport/transport.h"

namespace chorus {

// The operation behind the Work of a send, of a receive, or of both in one.
struct P2POperation : Operation {
  int transfers_left = 0;
  Status first_error;
};

// One message as one of its two ranks sees it; or signals that a rank waits for.
struct Transfer {
  enum class Kind : std::uint8_t { kSend, kReceive, kSignals };

  std::shared_ptr<P2POperation> operation;
  Kind kind = Kind::kReceive;
  int peer = -1;              // may be kAnySource until it is matched
  int tag = 0;                // may be kAnyTag until it is matched
  std::byte* data = nullptr;  // of a send it is only read
  std::int64_t count = 0;     // elements; of a receive, for which there is room
  DType dtype = DType::kF32;
  Received* received = nullptr;  // may be null

  std::uint64_t serial = 0;
  std::int64_t payload = 0;  // bytes of the message; of a receive, once it is matched
  std::int64_t offset = 0;   // of these, done
  bool done = false;

  // kSignals: the counter at byte `place` of `signals` that is to become at least `wanted`.
  Region signals;
  std::int64_t place = 0;
  std::uint64_t wanted = 0;

  std::int64_t bytes() const { return count * SizeOf(dtype); }
};

// The tags by which members of a group find each other for a new one; and back.
constexpr int TagOfNewGroup(int tag) { return kAnyTag - 1 - tag; }

class PointToPoint {
 public:
  using Clock = Operation::Clock;

  // Ends an operation: tells whoever waits for it.
  using Finish = std::function<void(Operation& operation, const Status& status)>;

  // `links` and `transport` must outlive this. What waits and what is under way is in `memory`.
  PointToPoint(Links* links, Transport* transport, std::shared_ptr<KeptMemory> memory,
               std::string group, Finish finish);

  // Begins a checked transfer. `transfer->operation` counts it in transfers_left.
  void Start(const std::shared_ptr<Transfer>& transfer);

  // Whether Advance might move something that this rank waits for.
  bool busy() const { return !pending_.empty() || answers_ > 0; }
  // Moves what can be moved; true if anything was.
  bool Advance();
  // For a rank that is idle: takes early messages in, and looks for what will never end. A status
  // that is not ok ends the group. `next`: lowered to the next deadline.
  Status Inspect(Clock::time_point now, Clock::time_point* next);
  // Ends every transfer with `status`; the group is over.
  void FailAll(const Status& status);

  const OpTraffic& traffic() const { return traffic_; }
  // A put that was made past this, by Window.
  void CountPut(std::int64_t bytes);

 private:
  // Payloads up to this may come early: a copy into memory and one out of it cost less than the way
  // back and forth that asks for the payload.
  static constexpr std::int64_t kEagerBytes = std::int64_t{8} << 10;
  // Early payloads that a rank may have with another at a time, with so much for each on top.
  static constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;
  static constexpr std::int64_t kEarlyOverhead = 128;

  using TransferPtr = std::shared_ptr<Transfer>;

  // A message that has begun to arrive before its receive, or is offered.
  struct Message {
    P2PFrame frame;  // frame.bytes: of the whole payload
    int source = -1;
    std::shared_ptr<std::byte[]> payload;  // of an early one
    std::int64_t arrived = 0;              // bytes of it
    TransferPtr receiver;                  // has been matched while it still arrives
    RegionKey place;                       // of an offer: where it can be read
    TransferPtr own;                       // of an offer to oneself
    bool offered = false;
  };
  struct Arrival {
    int source = -1;
    int tag = 0;
    std::shared_ptr<Message> message;
  };
  struct Posted {
    int source = -1;
    int tag = 0;
    TransferPtr transfer;
  };

  struct Answer {
    P2PFrame frame;
    TransferPtr then;  // is done once the answer is on its way; may be null
  };
  // The frame that is being written.
  struct Outgoing {
    bool active = false;
    P2PFrame frame;
    const std::byte* data = nullptr;
    OfferBody body;
    TransferPtr transfer;
  };
  // The frame that is being read.
  struct Incoming {
    bool active = false;
    P2PFrame frame;
    std::int64_t offset = 0;
    std::byte* to = nullptr;  // null: dropped
    OfferBody body;
    std::shared_ptr<Message> message;  // early
    TransferPtr transfer;              // whose buffer `to` is in, or that a message does not fit
    Status status;                     // the outcome for it
  };
  struct Peer {
    explicit Peer(std::pmr::memory_resource* memory)
        : answers(memory), envelopes(memory), streams(memory), offered(memory), receiving(memory) {}

    std::uint64_t last_serial = 0;
    std::pmr::list<Answer> answers;
    std::pmr::list<TransferPtr> envelopes;  // sends that have not been announced, in order
    // Sends whose payload is wanted, by tag, of each the oldest first; no list is empty.
    std::pmr::map<int, std::pmr::list<TransferPtr>> streams;
    std::pmr::map<std::uint64_t, TransferPtr> offered;    // by serial
    std::pmr::map<std::uint64_t, TransferPtr> receiving;  // by serial of the sender
    std::int64_t early_bytes = 0;                         // sent to it and not credited yet
    std::int64_t credit = 0;                              // owed to it
    bool streams_turn = false;
    bool oldest_turn = false;  // among the streams
    Outgoing out;
    Incoming in;
  };
  // A payload that is read where the sender has it.
  struct Reading {
    TransferPtr transfer;
    std::shared_ptr<Message> message;
    const std::byte* from = nullptr;
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }

  // Forgets what was under way.
  void ForgetPeers();
  void StartSendToSelf(const TransferPtr& transfer);
  bool AdvanceOut(int to);
  bool PickFrame(int to);
  // Whose payload goes next. REQUIRES: there is one.
  const TransferPtr& NextStream(int to);
  bool BeginFrame(int to, const P2PFrame& frame, const std::byte* data, TransferPtr transfer);
  void EndOutgoing(int to);
  bool AdvanceIn(int from);
  void BeginIncoming(int from);
  void EndIncoming(int from);
  bool AdvanceReading();
  bool AdvanceSignals();

  void TakeIn(int from, const std::shared_ptr<Message>& message);
  void Deliver(const TransferPtr& transfer, const std::shared_ptr<Message>& message);
  // Of an early message whose payload is off this rank's hands.
  void Credit(int from, std::int64_t bytes);
  void Answered(int to, const P2PFrame& frame, TransferPtr then);
  // Not ok if the message does not fit the receive.
  Status Fit(const Transfer& transfer, const Message& message) const;
  static void Match(Transfer& transfer, const Message& message);
  void End(const TransferPtr& transfer, const Status& status);

  bool HasGone(int rank) const;
  // Where the payload of an offer can be read; null if nowhere.
  const std::byte* Place(const Message& message) const;
  RegionKey KeyOf(const Transfer& transfer) const;
  // "recv tag 7 (group world, 4096 B)".
  std::string Title(const Transfer& transfer) const;

  Links& links_;
  Transport& transport_;
  const std::string group_;
  const Finish finish_;
  const std::shared_ptr<KeptMemory> memory_;
  std::vector<Peer> peers_;  // by rank; not used at this one
  Matcher<Posted, Arrival> matcher_;
  std::pmr::list<TransferPtr> pending_;
  // By rank and tag, of each the oldest first; no list is empty.
  std::pmr::map<std::pair<int, std::int64_t>, std::pmr::list<Reading>> reading_;
  std::pmr::list<TransferPtr> signals_;  // that are waited for
  std::vector<bool> gone_;               // by rank: had left when Inspect looked
  std::int64_t answers_ = 0;             // that are not yet on their way
  OpTraffic traffic_;
};

}  // namespace chorus
