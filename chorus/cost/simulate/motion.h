// Motion: the value of a formula for all ranks of an orbit at once.
//
// The ranks first, first + shift, first + 2 shift, ... are first + shift q for q in [0, turns). On
// them a formula of the rank is a formula of q, and those that schedules are made of stay simple:
//
//   turns = 4, shift = 8, first = 3 (N = 32)
//   r                  8 q + 3
//   r / 8              q
//   r % 8              3
//   (r / 8 + 1) % 4    (q + 1) mod 4
//   min((r / 8 + 1) * 8, N) - r / 8 * 8     8
//   r == 3             not known: true of one rank only
//
// Thread safety: values.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/schedule/expr.h"

namespace chorus {

// a q + b; with a modulus (a q + b) mod m + offset; or only congruent to a q + b modulo m.
struct Motion {
  enum class Kind : std::uint8_t { kUnknown, kLinear, kCyclic, kCongruent };
  Kind kind = Kind::kUnknown;
  std::int64_t a = 0;
  std::int64_t b = 0;        // kCyclic, kCongruent: in [0, modulus)
  std::int64_t modulus = 0;  // 0: none
  std::int64_t offset = 0;   // kCyclic

  bool IsConstant() const { return kind == Kind::kLinear && a == 0; }
  std::int64_t constant() const { return b; }  // REQUIRES: IsConstant()
  friend auto operator<=>(const Motion&, const Motion&) = default;
};

// Works out formulas on one orbit.
class OrbitFormulas {
 public:
  // REQUIRES: shift > 0 divides group_size; 0 <= first < shift.
  OrbitFormulas(std::int64_t group_size, std::int64_t root, std::int64_t first, std::int64_t shift);

  void Push(std::string_view name, const Motion& value) { scope_.emplace_back(name, value); }
  std::size_t size() const { return scope_.size(); }  // names pushed
  void Pop(std::size_t count) { scope_.resize(scope_.size() - count); }

  // kUnknown if it is none of the above, or an error.
  Motion Of(const Expr& e) const;

  // 1 if it is another number than 0 for all q, 0 if it is 0 for all.
  Motion Truth(const Motion& x) const { return Compare(Expr::Kind::kNotEqual, x, Linear(0, 0)); }
  Motion Plus(const Motion& x, std::int64_t c) const { return Add(x, Linear(0, c)); }
  // (modulus / turns q + i) mod modulus: while i goes through [0, modulus), so does this, whatever
  // q is. kUnknown if turns do not divide the modulus.
  Motion Turned(std::int64_t i, std::int64_t modulus) const;

  // The least and greatest value over q, and how far values are apart, or less so. REQUIRES:
  // kLinear or kCyclic.
  struct Span {
    std::int64_t low = 0, high = 0, grid = 1;
  };
  Span Range(const Motion& v) const;

 private:
  Motion Linear(std::int64_t a, std::int64_t b) const;
  Motion Modular(Motion::Kind kind, std::int64_t a, std::int64_t b, std::int64_t modulus,
                 std::int64_t offset) const;
  Motion Add(const Motion& x, const Motion& y) const;
  Motion Times(const Motion& x, std::int64_t c) const;
  Motion Quotient(const Motion& x, std::int64_t c) const;
  Motion Remainder(const Motion& x, std::int64_t c) const;
  Motion LowBits(Expr::Kind kind, const Motion& x, std::int64_t mask) const;
  Motion Compare(Expr::Kind kind, const Motion& x, const Motion& y) const;
  Motion Choice(const Expr& e) const;
  Motion Binary(Expr::Kind kind, const Motion& x, const Motion& y) const;

  std::int64_t turns_;
  std::vector<std::pair<std::string_view, Motion>> scope_;  // innermost last
};

}  // namespace chorus
