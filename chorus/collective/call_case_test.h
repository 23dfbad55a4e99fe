// CallCase: one collective call as a test draws it; CallRun: that call on one rank, with its memory
// and what must be in it afterwards. For tests.
//
// What must be there is worked out from the sentence that defines the operation (group.h) and
// nothing else: no schedule, no kernel but the rounding of one element. Contributions are taken
// from a table of pseudo-random values that repeats after a prime number of elements, so that the
// result of a long call is known by working out a short one, and a block in the wrong place is
// seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/reduction.h"
#include "chorus/base/status.h"
#include "chorus/collective/call_list.h"
#include "chorus/collective/group.h"
#include "chorus/collective/typed_data_test.h"

namespace chorus {

// The reductions that tests draw from: those of kAllReduceOps, with a factor where one is needed,
// then two functions of users: the greater of two (commutes) and the later of two ranks (does not).
std::vector<Reduction> ReductionsToDraw(DType dtype);

// A call with its memory, and the three ways to make it.
struct CallArguments {
  OpKind op = OpKind::kAllReduce;
  bool by_counts = false;  // the v-variant
  ConstBuffer in;
  MutableBuffer out;  // of broadcast the only one
  Reduction reduce = ReduceOp::kSum;
  int root = 0;
  std::vector<std::int64_t> counts;       // v-variants; of all_to_all_v what is sent
  std::vector<std::int64_t> recv_counts;  // all_to_all_v
  CallOptions options;
};
Status MakeCall(Group& group, const CallArguments& a);
Work BeginCall(Group& group, const CallArguments& a);
void AddCall(CallList& list, const CallArguments& a);

struct CallCase {
  OpKind op = OpKind::kAllReduce;
  bool by_counts = false;  // the v-variant
  std::string algorithm;   // empty: chosen by the group
  DType dtype = DType::kF32;
  Reduction reduce = ReduceOp::kSum;
  int n = 1;
  // By rank where ranks have shares; by sender and receiver of all_to_all, n * n; else {V}. Alike
  // unless by_counts.
  std::vector<std::int64_t> counts;
  int root = 0;
  bool in_place = false;
  bool at_beginning = false;  // in place of reduce_scatter: `out` is the beginning of `in`
  std::uint64_t salt = 0;     // of the contributions

  std::int64_t total() const;  // of counts
  std::string ToString() const;
};

// How an operation and a total become counts: as even as can be, not below `total` over all, or
// cut at random with empty blocks among them.
std::vector<std::int64_t> EvenCounts(OpKind op, int n, std::int64_t total);
std::vector<std::int64_t> RandomCounts(OpKind op, int n, std::int64_t total, std::uint64_t seed);

// Where a call's buffers come from.
class TestMemory {
 public:
  virtual ~TestMemory() = default;
  // At least `bytes`, aligned for any element.
  virtual std::shared_ptr<std::byte[]> Take(std::int64_t bytes) = 0;
};

class CallRun {
 public:
  // Memory is taken and filled. REQUIRES: the case is one that a group accepts.
  CallRun(CallCase c, int rank, TestMemory& memory_in, TestMemory& memory_out);

  // Makes the call. If `async`, it is then under way.
  void Begin(Group& group, bool async);
  // Makes it one of the calls of `list`; End is to be called once that is done.
  void AddTo(CallList& list) const;
  // Looks whether it is done, without waiting.
  void Look();
  // Waits and compares all that may have been written, and what lies around it.
  Status End();

  const CallCase& call_case() const { return case_; }

 private:
  // A stretch of memory with something around it that must not change.
  struct Guarded {
    std::shared_ptr<std::byte[]> memory;
    std::int64_t bytes = 0;
    std::byte* data() const { return memory.get() + kGuard; }
  };
  static constexpr std::int64_t kGuard = 64;

  Guarded Make(TestMemory& memory, std::int64_t bytes) const;
  Status CheckAround(const Guarded& guarded, std::string_view name) const;
  Status Compare(std::string_view name, const void* got, const std::vector<std::byte>& want) const;

  const CallCase case_;
  const int rank_;
  Guarded in_;                   // what the call reads; in place, all that it uses
  Guarded out_;                  // empty in place
  std::vector<std::byte> read_;  // what was in `in`
  std::vector<std::byte> want_;  // what must be in `out`; as it was where the rank has no result
  CallArguments arguments_;
  Work work_;
  Status status_;
};

}  // namespace chorus
