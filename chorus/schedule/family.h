// The body of a schedule: steps, loops and definitions whose numbers are formulas.
//
// This is the tree that Schedule holds, prints and expands. Builders write it with
// ScheduleBuilder (builder.h), users with text (Schedule::Parse). Thread safety: values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chorus/schedule/expr.h"
#include "chorus/schedule/step.h"

namespace chorus {

// A chunk with formulas for slot and block, a choice between two, or in a message a range of them:
// acc[k % 2 : (r - k) % N], (q == r ? in[q] : tmp[q : r]), for j in 1 .. N - 1 if j & 1: in[j].
struct ChunkExpr {
  struct Choice;
  struct Range;

  BufferKind buffer = BufferKind::kIn;
  Expr slot;  // of tmp and acc; the literal 0 for in and out
  Expr block;
  bool scaled = false;
  // When one is present the four fields above mean nothing.
  std::shared_ptr<const Choice> choice;
  std::shared_ptr<const Range> range;

  // REQUIRES: not a range, nor a choice that chooses one.
  Result<Chunk> Evaluate(const Bindings& bindings) const;
  std::string ToString() const;
  friend bool operator==(const ChunkExpr& a, const ChunkExpr& b);
};

struct ChunkExpr::Choice {
  Expr condition;
  ChunkExpr then;
  ChunkExpr otherwise;
};

// for variable in first .. last if condition: one chunk for each value where the condition is not
// 0, both ends included; none if last < first.
struct ChunkExpr::Range {
  std::string variable;
  Expr first;
  Expr last;
  Expr condition = 1;  // the literal 1 is not written
  ChunkExpr chunk;     // may be a range itself
};

// The name of a step family with its indices: v[k - 1], c[q, t], done. As a dependency also v[*]:
// every step of that name listed before.
struct LabelExpr {
  std::string name;
  std::vector<Expr> index;
  bool every = false;

  // Builders write v[k]; v[q][k] has two indices.
  LabelExpr operator[](Expr i) const {
    LabelExpr indexed = *this;
    indexed.index.push_back(std::move(i));
    return indexed;
  }
  // "v[3]".
  Result<std::string> Evaluate(const Bindings& bindings) const;
  std::string ToString() const;
  friend bool operator==(const LabelExpr&, const LabelExpr&) = default;
};

// One line of the body: a step for every value of the loop variables around it.
struct StepFamily {
  Verb verb = Verb::kCopy;
  LabelExpr label;
  std::vector<ChunkExpr> chunks;  // as in Step; of send and recv also ranges
  Expr peer;                      // send, recv
  Expr message;                   // send, recv
  bool finish = false;            // reduce, copy
  // Steps that must have ended before. One that does not exist on this rank is left out.
  std::vector<LabelExpr> after;
  std::optional<Expr> guard;  // absent: the step always exists; else where it is not 0

  std::string ToString() const;
  friend bool operator==(const StepFamily&, const StepFamily&) = default;
};

struct BodyNode;
using Body = std::vector<BodyNode>;

// for variable in first .. last: both ends included; no turn if last < first.
struct Loop {
  std::string variable;
  Expr first;
  Expr last;
  Body body;
  friend bool operator==(const Loop& a, const Loop& b);
};

// let name = value: until the end of the loop (or body) it stands in.
struct Let {
  std::string name;
  Expr value;
  friend bool operator==(const Let&, const Let&) = default;
};

struct BodyNode {
  std::variant<StepFamily, Loop, Let> value;
  friend bool operator==(const BodyNode& a, const BodyNode& b) { return a.value == b.value; }
};

}  // namespace chorus
