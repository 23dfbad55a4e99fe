// ForkGuard: tells the child of a fork that what it inherited is not its own.
//
// A child has copies of all handles, but is no rank: it must neither send nor say goodbye in its
// parent's name. Cheap enough to ask on each call. Thread safety: all functions from any thread.
#pragma once

#include <cstdint>

namespace chorus {

class ForkGuard {
 public:
  ForkGuard() : generation_(Generation()) {}
  // True in a process that was forked, directly or not, after this object was made.
  bool InChild() const { return generation_ != Generation(); }

 private:
  static std::uint32_t Generation();
  std::uint32_t generation_;
};

}  // namespace chorus
