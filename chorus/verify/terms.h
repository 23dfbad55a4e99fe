// Terms: what a chunk holds, as a formula over the ranks' inputs instead of a number.
//
//   x2[1]          the raw contribution of rank 2 to block 1
//   x2[1]'         the same, pre-scaled
//   (a + b)        a partial sum, lower ranks on the left
//   [a]            finished: averaged and rounded
//
// Equal formulas are one object (interned), so that "the same bits on every rank" is one
// comparison. Each term knows which ranks contribute to it. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/schedule/op.h"

namespace chorus {

class Terms {
 public:
  using Id = std::int64_t;

  Terms(OpKind op, std::int64_t group_size, ReduceOrder order);

  Id Raw(std::int64_t rank, std::int64_t block);
  // Errors say what is wrong with the operands: not raw, finished, of two blocks, a rank counted
  // twice, ranks out of order, not all ranks (of a scan: not all from 0 to the highest).
  Result<Id> Scale(Id a);
  Result<Id> Sum(Id a, Id b);
  Result<Id> Finish(Id a);

  std::int64_t block(Id a) const { return terms_[a].block; }
  // Loses bits if it is stored as an element: a sum that is not finished, or a scaled value.
  bool IsPartial(Id a) const {
    return terms_[a].kind == Kind::kSum || terms_[a].kind == Kind::kScaled;
  }
  std::int64_t highest(Id a) const { return terms_[a].highest; }  // contributing rank
  std::vector<std::int64_t> Contributors(Id a) const;             // ranks, ascending
  bool IsFinished(Id a) const { return terms_[a].kind == Kind::kFinished; }
  std::int64_t count() const { return static_cast<std::int64_t>(terms_.size()); }
  std::string ToString(Id a) const;

 private:
  enum class Kind : std::uint8_t { kRaw, kScaled, kSum, kFinished };
  struct Term {
    Kind kind;
    Id a;  // of kRaw: the rank
    Id b;
    std::int64_t block;
    std::int64_t lowest, highest;      // contributing ranks
    std::vector<std::uint64_t> ranks;  // one bit for each
  };

  Id Intern(Term term);
  void Print(Id a, std::string& text) const;

  OpKind op_;
  std::int64_t group_size_;
  ReduceOrder order_;
  std::vector<Term> terms_;
  std::map<std::tuple<Kind, Id, Id, std::int64_t>, Id> known_;
};

}  // namespace chorus
