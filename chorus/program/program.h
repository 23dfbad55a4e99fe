// StepProgram: one sharded computation written down, a step of training or a forward pass. Start
// here.
//
// It is a list of operations on named, typed values, the same for all ranks of a mesh. Every value
// says how it lies on the mesh (its spec), so what a rank computes, sends and holds follows from
// the program, the mesh and the sizes of the dimensions, which are bound only when it runs.
//
//   bound
//     x[B_X, D]: f32 input
//     w[D, F]: f32 parameter
//   operations
//     d.w.sum[D, F]{U_X}: f32 gradient = contract(x, d.h)
//     d.w[D, F]: f32 gradient = all_reduce(d.w.sum, X) into d.w.sum
//     free(d.h)
//   outputs d.w
//
// A value may also be a chunk of an array, or an array of which only some chunks are worked in
// (chunk_set.h); so a loop over chunks that come from other ranks is written down turn by turn:
//
//   operations
//     b.1[J, K] holds J_X 0 1: f32 workspace = shift(b, X, 1)      what the next rank has
//     c.0[I_X, K] so_far J_X 1 0: f32 activation = contract(a, b)  meanwhile
//     c[I_X, K]: f32 activation = contract(a, b.1, c.0) into c.0
//
// Memory: a bound value has memory before the program starts and keeps it. A result gets memory
// when it is defined, or takes over that of its `into` value, and keeps it until freed or taken
// over. Thread safety: immutable value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/dtype.h"
#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/graph/op.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/chunk_set.h"

namespace chorus {

// Position of a value in its program; kNoValue where there is none.
using ValueId = int;
inline constexpr ValueId kNoValue = -1;

// What a value is for, and so how long it lives.
enum class StorageClass : std::uint8_t {
  kInput,           // bound: given anew for each step
  kParameter,       // bound: kept from step to step
  kOptimizerState,  // bound: kept from step to step
  kGradient,        // of a parameter
  kActivation,      // anything else computed
  kWorkspace,       // a parameter or an activation brought to another spec for a use, then freed
};
std::string_view Name(StorageClass storage);

struct ProgramValue {
  Spec spec;  // its name is the value's name, unique in the program
  DType dtype = DType::kF32;
  StorageClass storage = StorageClass::kActivation;
  std::optional<ChunkSet> holds = std::nullopt;   // only this chunk of the array
  std::optional<ChunkSet> so_far = std::nullopt;  // only these chunks of it are done, or summed

  const std::string& name() const { return spec.name(); }
  friend bool operator==(const ProgramValue&, const ProgramValue&) = default;
};

enum class ProgramOpKind : std::uint8_t {
  kCompute,        // a GraphOp on what each rank holds; sends nothing. A contraction of chunks may
                   // have a third operand, which it goes on from in its memory
  kSlice,          // keeps the own block of `dim` along `axes`, or a chunk of it; sends nothing
  kAllGather,      // joins the blocks of `dim` along `axes`, its minor axes:    A[I_YX] -> A[I_Y]
                   // or, of what that would be, one panel of `dim`
  kReduceScatter,  // sums over `axes`, keeps the own block of `dim`:            A[I]{U_X} -> A[I_X]
  kAllReduce,      // sums over `axes`:                                          A[I]{U_X} -> A[I]
  kAllToAll,       // `axes`, the minor ones of `dim`, become the minor ones of `to`:
                   //                                                      A[I_X, J] -> A[I, J_X]
  kPermute,        // blocks change ranks, `axes` being those whose place changes; every dimension
                   // keeps its number of parts:                                A[I_XY] -> A[I_YX]
  kShift,          // the chunk that the rank `by` further along `axes` holds, or has in its block
  kJoin,   // chunks of one array, each once, together; or one array in a narrower dtype; or,
           // into the first operand, a half sum, the chunks of what it lacks added to it
  kAdamW,  // updates operands 0..2 (parameter, first, second moment) by operand 3 (gradient)
  kFree,   // gives back the memory of operand 0
};
// "compute", "slice", "all_gather", ...
std::string_view Name(ProgramOpKind kind);
constexpr bool IsCollective(ProgramOpKind kind) {
  return kind == ProgramOpKind::kAllGather || kind == ProgramOpKind::kReduceScatter ||
         kind == ProgramOpKind::kAllReduce || kind == ProgramOpKind::kAllToAll ||
         kind == ProgramOpKind::kPermute;
}
// True for all that takes bytes from one rank to another.
constexpr bool SendsBytes(ProgramOpKind kind) {
  return IsCollective(kind) || kind == ProgramOpKind::kShift;
}
// True for those that send each rank its piece and sum nothing: all_to_all and permute.
constexpr bool ExchangesPieces(ProgramOpKind kind) {
  return kind == ProgramOpKind::kAllToAll || kind == ProgramOpKind::kPermute;
}
// The axes whose place among the dimensions differs, sorted: what a permute from `from` to `to`
// names. Of a dimension split over XYZ and then over XZ they are Y and Z.
AxisNames ChangedAxes(const Spec& from, const Spec& to);

// A way that was not taken, and what it would have cost on the rank that it costs most.
struct Alternative {
  std::string what;
  Bytes bytes_sent;
  Flops flops;
  Bytes peak = Bytes(0);  // the most memory it would have held; 0: not worked out

  friend bool operator==(const Alternative&, const Alternative&) = default;
};

// Why an operation is there. Texts hold no '|', no line end, and may be empty.
struct Provenance {
  std::string source;                 // the node of the graph that asked for it
  std::string row;                    // the row of the strategy's table
  std::string rule;                   // what the planner made of it
  std::vector<Alternative> rejected;  // cheapest first

  friend bool operator==(const Provenance&, const Provenance&) = default;
};

struct ProgramOp {
  ProgramOpKind kind = ProgramOpKind::kFree;
  GraphOp compute = GraphOp::kInput;  // kCompute: which
  std::vector<ValueId> operands;
  ValueId result = kNoValue;
  // The value whose memory the result takes over; it is gone afterwards. All reduce and elementwise
  // computations may take over an operand. An all_gather may take over a parameter: it is written
  // back.
  ValueId into = kNoValue;
  std::string dim;    // kSlice, kAllGather, kReduceScatter, kAllToAll
  std::string to;     // kAllToAll: the dimension that `axes` split afterwards
  AxisNames axes;     // kSlice and collectives: major to minor; of kPermute sorted
  int by = 0;         // kShift: 1 or -1
  double number = 0;  // kCompute of a constant: every element
  Provenance why;

  friend bool operator==(const ProgramOp&, const ProgramOp&) = default;
};

class StepProgram {
 public:
  StepProgram() = default;  // no values, no operations

  // Values: first the bound ones, then each operation's result in the order of operations.
  // Errors, each naming the operation and both sides: an operation whose specs do not follow from
  // its rule (a value still partial under something that is not linear, a sum over axes that the
  // value is not partial in, an axis used twice), a value used before it is defined or after it is
  // gone, a bound value freed, a value that is neither freed nor an output.
  static Result<StepProgram> Create(std::vector<ProgramValue> values, std::vector<ProgramOp> ops,
                                    std::vector<ValueId> outputs);
  // The inverse of ToString. Errors point at the character.
  static Result<StepProgram> Parse(std::string_view text);

  const std::vector<ProgramValue>& values() const { return values_; }
  const std::vector<ProgramOp>& ops() const { return ops_; }
  // Values that outlive the program besides the bound ones, in the order asked for.
  const std::vector<ValueId>& outputs() const { return outputs_; }
  // Values [0, bound()) have memory before the program starts.
  ValueId bound() const { return bound_; }
  // REQUIRES: id names a value.
  const ProgramValue& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  // The value of that name, kNoValue if there is none.
  ValueId Find(std::string_view name) const;

  // Error if the mesh lacks an axis or `sizes` a dimension that a value has, if a permute changes
  // the number of parts of a dimension, or if chunks go round more or fewer ranks than there are.
  Status Check(const Mesh& mesh, const DimSizes& sizes) const;

  std::string ToString() const;

  friend bool operator==(const StepProgram&, const StepProgram&) = default;

 private:
  std::vector<ProgramValue> values_;
  std::vector<ProgramOp> ops_;
  std::vector<ValueId> outputs_;
  ValueId bound_ = 0;
};

// "h[B_X, F]: f32 activation = contract(x, w)", without provenance.
std::string ToString(const StepProgram& program, const ProgramOp& op);

// Ok if `op` may run on operands that lie so and leaves a result that lies so. Errors name the axis
// and both sides: an index split differently in two arrays, an axis that splits two indices, a
// split of an index that must be whole, a partial operand that the rule does not let through, a
// result whose partial axes are not what comes out.
Status CheckCompute(GraphOp op, const std::vector<Spec>& operands, const Spec& result);

// Hyper-parameters of AdamW, bound when a program runs.
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
//   w -= learning_rate (m / (1 - beta1^step) / (sqrt(v / (1 - beta2^step)) + epsilon) + decay w)
struct AdamWSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;
  std::int64_t step = 1;  // counts from 1

  friend bool operator==(const AdamWSettings&, const AdamWSettings&) = default;
};

}  // namespace chorus
