// Reduction: a ReduceOp together with what the op alone does not say.
//
//   group.AllReduce(x, ReduceOp::kMax);                  // a ReduceOp is a Reduction
//   group.AllReduce(x, Reduction::PremulSum(1.0 / 3));   // sum over ranks of x / 3
//   group.AllReduce(x, Reduction::User(compose));        // a function
//
// Part of the public API, so it compiles as C++17. Thread safety: value types.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "chorus/base/dtype.h"
#include "chorus/base/reduce_op.h"
#include "chorus/base/status.h"

namespace chorus {

// A reduction that the user brings. It must be associative: (a op b) op c == a op (b op c).
struct UserReduction {
  // For messages and to compare: ranks whose names differ get a mismatch.
  std::string name;
  // Whether a op b == b op a. If not, contributions are combined in rank order, lower ranks left,
  // and an algorithm that does not keep this order is refused.
  bool commutes = false;
  // left[i] = left[i] op right[i], for `count` elements of `dtype`, on the span it is given: it may
  // be called for any part of the data, and from any thread that is within a call of the group.
  // f16, bf16 and f8 come widened to f32 (`dtype` says so). It must neither throw nor call Chorus.
  std::function<void(void* left, const void* right, std::int64_t count, DType dtype)> combine;
};

class Reduction {
 public:
  // REQUIRES: neither kPremulSum nor kUser, which need more; a call with them is refused.
  Reduction(ReduceOp op) : op_(op) {}  // NOLINT: implicit by design
  // The sum over ranks of factor * x. All ranks give the same factor, else they get a mismatch; for
  // one of each rank's own, multiply before the call. For integers the factor must be whole.
  static Reduction PremulSum(double factor);
  static Reduction User(UserReduction user);
  // As above, without a copy each call.
  static Reduction User(std::shared_ptr<const UserReduction> user);

  ReduceOp op() const { return op_; }
  double factor() const { return factor_; }                  // 1 but for kPremulSum
  const UserReduction* user() const { return user_.get(); }  // null but for kUser
  // Whether contributions may be taken in any order. Sums of floats commute; that they are not
  // quite associative is not meant here.
  bool commutes() const { return user_ == nullptr || user_->commutes; }

  // The same op, factor and, not only by its name, function.
  bool IsAs(const Reduction& other) const {
    return op_ == other.op_ && has_factor_ == other.has_factor_ && factor_ == other.factor_ &&
           user_ == other.user_;
  }

  // "sum", "premul_sum 0.5", "user compose".
  std::string ToString() const;
  // Equal for equal reductions; of a user's, for those with the same name.
  std::uint64_t Hash() const;

 private:
  ReduceOp op_;
  bool has_factor_ = false;
  double factor_ = 1;
  std::shared_ptr<const UserReduction> user_;

  friend Status CheckReduction(const Reduction& reduction, DType dtype);
};

// Whether `reduction` is complete and has a meaning for `dtype`. kUnsupported, naming both and what
// would be right, if it has none; kInvalidArgument if it lacks its factor or function, or if the
// factor is no value of an integer dtype.
Status CheckReduction(const Reduction& reduction, DType dtype);

}  // namespace chorus
