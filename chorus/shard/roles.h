// Roles: what each axis of a mesh does in one operation, and what that costs at least.
//
//   C[I, K] = A[I_X, J] . B[J, K_X] on X=4, f32, all of size 8; C is wanted whole
//
//     X         A lies then   rank 0 lacks of it   of B   of C   FLOP of rank 0   price at least
//     splits I  A[I_X, J]              0           192    192       256           384 + 256 / F
//     splits J  A[I, J_X]             48            48    256       256           352 + 256 / F
//     splits K  A[I, J]              192             0    192       256           384 + 256 / F
//     repeats   A[I, J]              192           192      0      1024           384 + 1024 / F
//
// F is the FLOP in the time of a byte. How much of an array rank 0 holds in two layouts depends on
// how many parts each dimension has, not on the order of the axes that make them, so all orders are
// bounded at once. What is bound to cost more than ways that are known is then never tried.
// Internal to the room. Thread safety: immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "chorus/graph/op.h"
#include "chorus/shard/compute.h"

namespace chorus {

// What one axis does.
struct AxisRole {
  enum class Kind : std::uint8_t {
    kRepeats,  // nothing: all ranks along it do the same
    kPasses,   // a sum over it passes through
    kSplits,   // it splits an index
  };
  static constexpr std::size_t kOfAll = static_cast<std::size_t>(-1);

  Kind kind = Kind::kRepeats;
  // Splits: the index, by its place in OpRule::loop. Passes: the operand whose sum passes, the
  // others being summed first, or kOfAll that are one.
  std::size_t which = 0;

  bool Repeats() const { return kind == Kind::kRepeats; }
  bool Passes() const { return kind == Kind::kPasses; }
  bool PassesIn(std::size_t operand) const {
    return Passes() && (which == kOfAll || which == operand);
  }
  bool Splits() const { return kind == Kind::kSplits; }

  friend bool operator==(const AxisRole&, const AxisRole&) = default;
};

// One role an axis of the mesh.
using AxisRoles = std::vector<AxisRole>;

class RoleChoices {
 public:
  // All must outlive this. REQUIRES: specs and sizes are checked.
  RoleChoices(const ComputeRequest& request, const OpRule& rule, const ReshardPlanner& planner);

  struct Candidate {
    double at_least = 0;       // price, with what was paid before
    std::uint64_t number = 0;  // of the roles: what axes do already comes first
  };
  // All that may cost `most_price` or less, by what they cost at least. `left_out` becomes true if
  // there are more.
  std::vector<Candidate> Within(double most_price, bool& left_out) const;

  AxisRoles At(std::uint64_t number) const;

 private:
  // An array that is brought from one layout to another, of which one depends on the roles.
  struct Array {
    std::vector<std::int64_t> sizes;    // by dimension
    std::vector<std::size_t> index;     // of each dimension, in OpRule::loop
    std::vector<std::int64_t> parts;    // of each dimension in the layout that is given
    std::vector<bool> sums;             // of that layout, by axis of the mesh
    std::vector<std::size_t> sum_axes;  // the same, of axes of several ranks
  };
  Array ArrayOf(const Spec& spec) const;
  std::vector<AxisRole> RolesOf(const std::string& axis) const;
  bool IsSplitBy(const std::string& axis, const AxisRole& role) const;

  struct Search;
  void Assign(std::size_t axis, std::uint64_t number, Search& search) const;
  // Negative if nothing leads there.
  double AtLeast(const AxisRoles& roles, const std::vector<std::int64_t>& parts) const;
  double ToMove(std::int64_t elements, std::int64_t held) const;
  static std::int64_t Elements(const Array& array, const std::vector<std::int64_t>& parts);
  static std::int64_t InBoth(const Array& array, const std::vector<std::int64_t>& parts);

  const ComputeRequest& request_;
  const OpRule& rule_;
  const ReshardPlanner& planner_;
  std::vector<std::vector<AxisRole>> roles_;  // by axis
  std::vector<Array> operands_;
  Array result_;                     // as it is wanted, if it is
  std::vector<bool> is_summed_;      // by index
  std::vector<std::int64_t> sizes_;  // by index
};

}  // namespace chorus
