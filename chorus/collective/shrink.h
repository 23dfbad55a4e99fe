// Shrinking: how the members of a group that is over agree on who goes on without the rest.
//
// Ranks may die or stop at any point of it. What they agree by is memory that outlives them
// (Links): a board each, and cells in which the first value stays.
//
//   round k, on each rank
//     1. arrive     show that I am here; wait until every member is, has ended, or is late
//     2. propose    show whom I have seen; settle cell P[k] on me. The first that does is followed
//     3. prepare    if I am in its set: memory for the new group; show where it is
//     4. commit     all of the set are ready: settle O[k] on "commit"; one of them has ended or is
//                   late: settle it on "again". What O[k] then holds is what everyone does
//
// So all who come out with a group have the same members: those of the set of P[k] for the k whose
// O[k] says "commit". A rank that is not among them finds the same words and gets an error. A round
// is done again only if a member of its set has failed since, so there are at most as many as
// ranks.
//
//   worked example, 4 ranks, rank 3 dead, rank 1 dies in step 3 of the first round:
//     k = 1   arrived 0 1 2   P = rank 2: {0 1 2}   ready 0 2   O = again (by rank 0)
//     k = 2   arrived 0 2     P = rank 0: {0 2}     ready 0 2   O = commit: ranks 0, 2 become 0, 1
//
// Thread safety: the mutex of the Endpoint is held by the caller's lock; waits give it up.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group_core.h"
#include "chorus/transport/transport.h"

namespace chorus {

class Shrinking {
 public:
  // What the survivors hold in common; `inbox` is this rank's own, not connected yet.
  struct Agreed {
    std::vector<int> members;  // ranks in the old group, ascending
    int rank = 0;              // of this one among them
    Region inbox;
    std::vector<RegionKey> inboxes;
  };

  // `timeout`: how long to wait for a rank that neither comes nor ends. REQUIRES: the group is
  // over; one for each group and rank. The pointers outlive this.
  Shrinking(GroupCore* core, std::unique_lock<std::mutex>* lock, std::chrono::milliseconds timeout);

  // Errors: kDeadlineExceeded if the others went on without this rank; kResourceExhausted if it has
  // no memory for the new group, whereupon they do.
  Result<Agreed> Agree();

 private:
  enum class Stage : std::uint64_t { kNone, kArrived, kProposes, kReady, kWithdrawn };
  enum Outcome : std::uint64_t { kOpen, kCommit, kAgain };
  struct Note {
    std::uint64_t round = 0;
    Stage stage = Stage::kNone;
    RegionKey inbox;
    std::vector<bool> set;  // by rank: the newest proposal of its writer
  };

  // One round; kOpen never comes out. `agreed` is set with kCommit.
  Result<Outcome> Round(Agreed& agreed);
  Result<Outcome> Prepare(const std::vector<bool>& set, Agreed& agreed);
  Outcome AwaitOutcomeOutside();
  // The set of the rank that P[k] holds; empty if the round is over or that rank is.
  std::vector<bool> FollowedSet(int leader);

  void Show(Stage stage);
  // False while there is none that can be read.
  bool Read(int member, Note& note) const;
  bool Arrived(int member) const;
  bool IsReady(int member) const;
  bool IsGone(int member) const;
  bool All(const std::function<bool(int)>& holds) const;
  Status LeftOut(const std::vector<bool>& set) const;
  std::int64_t ProposalCell() const { return static_cast<std::int64_t>(2 * mine_.round); }
  std::int64_t OutcomeCell() const { return ProposalCell() + 1; }
  Outcome SettleOn(Outcome outcome) {
    return static_cast<Outcome>(links_.Settle(OutcomeCell(), outcome));
  }
  // Until `ready` or the timeout.
  void Await(const std::function<bool()>& ready);

  GroupCore& core_;
  Links& links_;
  std::unique_lock<std::mutex>& lock_;
  const std::chrono::milliseconds timeout_;
  Note mine_;
  std::vector<bool> late_;  // by rank: not waited for any more
};

}  // namespace chorus
