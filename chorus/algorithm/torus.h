// Ranks on a torus of several axes, and ring phases along one axis, shared by torus_*.cc.
//
// "torus:2x3" is for 6 ranks, the last axis fastest: rank r has the coordinates (r / 3, r % 3).
// Along an axis of d ranks with stride s (the ranks of all later axes), the blocks of the ranks
// that agree with r in all axes up to and with this one are s neighbours; d such groups are what
// the axis is about:
//
//   axis 1 (stride 1, d = 3)   0 1 2       groups {0} {1} {2} and {3} {4} {5}
//   axis 0 (stride 3, d = 2)   3 4 5       groups {0 1 2} {3 4 5}
#pragma once

#include "chorus/algorithm/algorithm.h"
#include "chorus/schedule/builder.h"

namespace chorus {

extern const AlgorithmParameter kTorusParameter;

class Torus {
 public:
  // REQUIRES: kTorusParameter.Check(sizes) is ok.
  explicit Torus(AlgorithmNumbers sizes) : sizes_(std::move(sizes)) {}

  // out[r] becomes the finished sum over all ranks of in[r]: along the first axis the groups of
  // blocks are summed as by ring reduce_scatter, along the next one those that are left, and so on.
  // The step that ends the phase is `done` (of more than one rank) or u. Uses messages below
  // Messages().
  void AddReduceScatter(ScheduleBuilder& b) const;
  LabelExpr ReduceScatterDone() const;
  std::int64_t TmpSlots() const;
  std::int64_t AccSlots() const;

  // Every block of out becomes what its owner has in `first` once `ready` has ended: along the last
  // axis as by ring all_gather, along the one before it groups, and so on.
  void AddAllGather(ScheduleBuilder& b, const ChunkExpr& first, const std::vector<LabelExpr>& ready,
                    std::int64_t first_message) const;

  std::int64_t Messages() const;  // of one phase
  std::int64_t Ranks() const;
  std::string ScheduleName() const;  // "torus_2x3"

 private:
  struct Axis {
    std::string name;      // behind labels
    std::int64_t size;     // ranks along it
    std::int64_t stride;   // blocks of a group
    std::int64_t message;  // number of its first
  };
  std::vector<Axis> Axes() const;  // of more than one rank, first to last
  static Expr Coordinate(const Axis& axis);
  // The first block of the group at coordinate c (any integer), and the rank there.
  static Expr Group(const Axis& axis, const Expr& c);
  static Expr RankAt(const Axis& axis, const Expr& c);

  AlgorithmNumbers sizes_;
};

}  // namespace chorus
