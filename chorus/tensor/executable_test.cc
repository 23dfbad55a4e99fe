// The runtime against the reference meaning of programs, over threads and over processes.
#include "chorus/tensor/executable.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "chorus/base/random.h"
#include "chorus/collective/run_ranks.h"
#include "chorus/program/interpreter.h"
#include "chorus/shard/traffic.h"

namespace chorus {
namespace {

using PlainArrays = std::map<std::string, PlainArray>;

constexpr RankKind kBothKinds[] = {RankKind::kThreads, RankKind::kProcesses};

// Random floats, or for i32 values numbers below `rows`.
PlainArray RandomArray(const ProgramValue& value, const DimSizes& sizes, std::uint64_t rows) {
  PlainArray array = Filled(GlobalShape(value.spec, sizes), 0);
  const RandomStream stream(5, value.name());
  for (std::size_t i = 0; i < array.elements.size(); ++i) {
    array.elements[i] = value.dtype == DType::kI32 ? static_cast<double>(stream.Below(rows, 0, i))
                                                   : stream.Normal(0, i);
  }
  return array;
}

PlainArrays RandomBound(const StepProgram& program, const DimSizes& sizes, std::uint64_t rows) {
  PlainArrays bound;
  for (ValueId id = 0; id < program.bound(); ++id) {
    const ProgramValue& value = program.value(id);
    bound[value.name()] = RandomArray(value, sizes, rows);
    if (value.storage == StorageClass::kOptimizerState) {
      for (double& element : bound[value.name()].elements) element = std::abs(element);
    }
  }
  return bound;
}

Status Compare(const std::string& name, const PlainArray& got, const PlainArray& want,
               double tolerance) {
  if (got.shape != want.shape) {
    return Internal(
        fmt::format("{} is {}, want {}", name, got.shape.ToString(), want.shape.ToString()));
  }
  for (std::size_t i = 0; i < want.elements.size(); ++i) {
    const double limit = tolerance * (1 + std::abs(want.elements[i]));
    if (std::abs(got.elements[i] - want.elements[i]) <= limit) continue;
    return Internal(
        fmt::format("{}[{}] is {}, want {}", name, i, got.elements[i], want.elements[i]));
  }
  return OkStatus();
}

// One case: a program with its arrays, and what the reference makes of them.
struct Case {
  StepProgram program;
  Mesh mesh;
  DimSizes sizes;
  PlainArrays bound;
  PlainArrays want;
};

// What one rank does: run, compare every array with the reference, every counter with what the
// program predicts.
Status RunRank(const Case& test, KernelSet kernels, double tolerance, Group& group) {
  CHORUS_ASSIGN_OR_RETURN(
      const auto runtime,
      Runtime::Create(group, test.mesh, {.kernels = kernels, .poison_memory = true}));
  CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(*runtime, test.program, test.sizes));
  const int rank = group.rank();
  ArrayStore store;
  for (ValueId id = 0; id < test.program.bound(); ++id) {
    const ProgramValue& value = test.program.value(id);
    CHORUS_ASSIGN_OR_RETURN(ShardedArray array,
                            ShardedArray::FromGlobal(*runtime, value.spec, value.dtype, test.sizes,
                                                     test.bound.at(value.name())));
    store.emplace(value.name(), std::move(array));
  }
  CHORUS_RETURN_IF_ERROR(step.Run(store, AdamWSettings()));
  for (const auto& [name, want] : test.want) {
    CHORUS_ASSIGN_OR_RETURN(const PlainArray got, ToGlobal(store.at(name)));
    CHORUS_RETURN_IF_ERROR(Compare(name, got, want, tolerance));
  }

  const MemoryUse memory = PeakMemory(test.program, test.mesh, test.sizes, rank);
  if (step.counters().peak != memory.peak) {
    return Internal(fmt::format("peak is {} bytes, predicted {}", step.counters().peak.value(),
                                memory.peak.value()));
  }
  const Flops flops = ProductFlops(test.program, test.mesh, test.sizes, rank);
  if (step.counters().products != flops) {
    return Internal(fmt::format("products took {} operations, predicted {}",
                                step.counters().products.value(), flops.value()));
  }
  const auto traffic = PredictTraffic(test.program, test.mesh, test.sizes, rank);
  for (const auto& [key, sent] : traffic) {
    const std::int64_t counted = step.counters().traffic.at(key).bytes_sent;
    if (counted != sent.value()) {
      return Internal(fmt::format("{} over {} sent {} bytes, predicted {}", Name(key.kind),
                                  key.axes, counted, sent.value()));
    }
  }
  if (traffic.size() != step.counters().traffic.size()) return Internal("traffic of other kinds");
  return OkStatus();
}

Result<Case> MakeCase(StepProgram program, const std::string& mesh, const DimSizes& sizes,
                      std::uint64_t rows) {
  CHORUS_ASSIGN_OR_RETURN(Mesh made, Mesh::Parse(mesh));
  PlainArrays bound = RandomBound(program, sizes, rows);
  CHORUS_ASSIGN_OR_RETURN(PlainArrays want,
                          Interpret(program, made, sizes, bound, AdamWSettings()));
  return Case{std::move(program), std::move(made), sizes, std::move(bound), std::move(want)};
}

void CheckText(const std::string& text, const std::string& mesh, const DimSizes& sizes,
               std::uint64_t rows = 1) {
  SCOPED_TRACE(text + " on " + mesh);
  const Result<StepProgram> program = StepProgram::Parse(text);
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Result<Case> test = MakeCase(*program, mesh, sizes, rows);
  ASSERT_TRUE(test.ok()) << test.status().message();
  for (const RankKind kind : kBothKinds) {
    const Status status = RunRanks(static_cast<int>(test->mesh.size()), kind, [&](Group& group) {
      return RunRank(*test, KernelSet::kPlain, 1e-12, group);
    });
    EXPECT_TRUE(status.ok()) << Name(kind) << ": " << status.message();
  }
}

// The program with every float f32.
std::string InF32(std::string text) {
  for (std::size_t at = 0; (at = text.find(": f64", at)) != std::string::npos;) {
    text.replace(at, 5, ": f32");
  }
  return text;
}

// Each collective along each dimension, even and uneven, over one axis, over two, and over the
// minor one of two; one is in place.
TEST(ExecutableTest, MovesEvenAndUnevenBlocks) {
  const DimSizes kSizes[] = {{{"I", 12}, {"J", 6}, {"K", 12}}, {{"I", 5}, {"J", 3}, {"K", 1}}};
  for (const DimSizes& sizes : kSizes) {
    for (const char* mesh : {"X=2,Y=2", "X=3,Y=1", "X=1,Y=3"}) {
      CheckText(
          "bound\n  a[I_X, J_Y, K]: f64 input\noperations\n"
          "  b[I, J_Y, K]: f64 activation = all_gather(a, I_X)\n"
          "  c[I, J, K]: f64 activation = all_gather(b, J_Y)\n"
          "  d[I, J, K_YX]: f64 activation = slice(c, K_YX)\n"
          "  e[I, J, K_Y]: f64 activation = all_gather(d, K_X)\n"
          "  f[I, J, K]: f64 activation = all_gather(e, K_Y)\n"
          "outputs b, c, d, e, f\n",
          mesh, sizes);
      CheckText(
          "bound\n  a[I, J_XY]: f64 input\n  w[J_XY, K]: f64 input\noperations\n"
          "  s[I, K]{U_XY}: f64 activation = contract(a, w)\n"
          "  t[I_X, K]{U_Y}: f64 activation = reduce_scatter(s, I_X)\n"
          "  u[I_X, K_Y]: f64 activation = reduce_scatter(t, K_Y)\n"
          "  v[I, K_XY]: f64 activation = reduce_scatter(s, K_XY)\n"
          "  r[I, K]{U_X}: f64 activation = all_reduce(s, Y)\n"
          "  q[I, K]: f64 activation = all_reduce(s, XY) into s\n"
          "outputs t, u, v, r, q\n",
          mesh, sizes);
    }
  }
}

// Blocks that change ranks: to other dimensions, of a part of the axes, in another order, under
// another name; pieces that are packed and pieces that are not; uneven and empty ones.
TEST(ExecutableTest, ExchangesPieces) {
  const DimSizes kSizes[] = {{{"I", 12}, {"J", 6}, {"K", 12}}, {{"I", 5}, {"J", 3}, {"K", 1}}};
  for (const DimSizes& sizes : kSizes) {
    for (const char* mesh : {"X=2,Y=2", "X=2,Y=3", "X=1,Y=1"}) {  // S12
      CheckText(
          "bound\n  a[I_XY, J, K]: f64 input\noperations\n"
          "  b[I_X, J_Y, K]: f64 activation = all_to_all(a, I_Y, J)\n"
          "  c[I, J_Y, K_X]: f64 activation = all_to_all(b, I_X, K)\n"
          "  d[I_Y, J, K_X]: f64 activation = all_to_all(c, J_Y, I)\n"
          "  e[I, J, K_XY]: f64 activation = all_to_all(a, I_XY, K)\n"
          "  f[I_YX, J, K]: f64 activation = permute(a, XY)\n"
          "  g[I, J, K_YX]: f64 activation = permute(e, XY)\n"
          "outputs b, c, d, e, f, g\n",
          mesh, sizes);
      if (std::string_view(mesh) == "X=2,Y=3") continue;  // X and Y are not as long
      CheckText(
          "bound\n  a[I_X, J, K]: f64 input\n  b[I_X, J_Y, K]: f64 input\noperations\n"
          "  c[I_Y, J, K]: f64 activation = permute(a, XY)\n"
          "  d[I_Y, J_X, K]: f64 activation = permute(b, XY)\n"
          "outputs c, d\n",
          mesh, sizes);
    }
  }
}

// Every way an operand of a product can be stored, and products that are split three ways.
TEST(ExecutableTest, MultipliesOperandsAsTheyAreStored) {
  const DimSizes sizes = {{"A", 3}, {"B", 4}, {"I", 5}, {"K", 7}};
  for (const char* product : {"c[I, K]{U_Y}: f64 activation = contract(ij, jk)",
                              "c[K, I]{U_Y}: f64 activation = contract(ij, jk)",
                              "c[I, K]{U_Y}: f64 activation = contract(ji, jk)",
                              "c[I, K]{U_Y}: f64 activation = contract(ij, kj)",
                              "c[K, I]{U_Y}: f64 activation = contract(ji, kj)",
                              "c[A, B, K]: f64 activation = contract(aby, k)",
                              "c[I]{U_Y}: f64 activation = contract(ij, j)"}) {
    CheckText(fmt::format("bound\n  ij[I, A_Y, B]: f64 input\n  ji[A_Y, B, I]: f64 input\n"
                          "  jk[A_Y, B, K]: f64 input\n  kj[K, A_Y, B]: f64 input\n"
                          "  j[A_Y, B]: f64 input\n  aby[A, B]: f64 input\n  k[K]: f64 input\n"
                          "operations\n  {}\noutputs c\n",
                          product),
              "Y=2", sizes);
  }
}

constexpr char kLanguageStep[] =
    "bound\n"
    "  tokens[B_X, W]: i32 input\n"
    "  targets[B_X]: i32 input\n"
    "  table[W, V_Y, D]: f64 parameter\n"
    "  out[D, V]: f64 parameter\n"
    "  out.m[D, V]: f64 optimizer_state\n"
    "  out.v[D, V]: f64 optimizer_state\n"
    "operations\n"
    "  one[]: f64 activation = constant(1)\n"
    "  x.sum[B_X, D]{U_Y}: f64 activation = embed_window(tokens, table)\n"
    "  x[B_X, D]: f64 activation = all_reduce(x.sum, Y) into x.sum\n"
    "  h[B_X, D]: f64 activation = gelu(x)\n"
    "  y[B_X, D]: f64 activation = add(x, h)\n"
    "  logits[B_X, V]: f64 activation = contract(y, out)\n"
    "  loss.sum[]{U_X}: f64 activation = cross_entropy(logits, targets)\n"
    "  loss[]: f64 activation = all_reduce(loss.sum, X) into loss.sum\n"
    "  d.logits[B_X, V]: f64 activation = cross_entropy_grad(logits, targets, one)\n"
    "  d.out.sum[D, V]{U_X}: f64 gradient = contract(y, d.logits)\n"
    "  free(y)\n"
    "  d.out[D, V]: f64 gradient = all_reduce(d.out.sum, X) into d.out.sum\n"
    "  d.y[B_X, D]: f64 activation = contract(d.logits, out)\n"
    "  free(d.logits)\n"
    "  d.x.0[B_X, D]: f64 activation = gelu_grad(x, d.y) into x\n"
    "  d.x[B_X, D]: f64 activation = add(d.y, d.x.0) into d.y\n"
    "  d.table[W, V_Y, D]{U_X}: f64 gradient = embed_window_grad(tokens, d.x)\n"
    "  adamw(out, out.m, out.v, d.out)\n"
    "  free(d.out)\n"
    "  free(one)\n"
    "  free(h)\n"
    "outputs loss, logits, d.x, d.x.0, d.table\n";

TEST(ExecutableTest, ComputesEveryOperationOfALanguageModel) {
  for (const char* mesh : {"X=1,Y=1", "X=2,Y=2", "X=3,Y=1", "X=1,Y=4"}) {
    CheckText(kLanguageStep, mesh, {{"B", 5}, {"W", 3}, {"V", 7}, {"D", 4}}, /*rows=*/7);
  }
}

TEST(ExecutableTest, FastKernelsInF32AreNearTheReference) {
  const Result<StepProgram> program = StepProgram::Parse(InF32(kLanguageStep));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const Result<Case> test =
      MakeCase(*program, "X=2,Y=2", {{"B", 33}, {"W", 5}, {"V", 19}, {"D", 37}}, 19);
  ASSERT_TRUE(test.ok()) << test.status().message();
  // In processes: the thread sanitizer knows nothing of what goes on inside oneDNN.
  const Status status = RunRanks(4, RankKind::kProcesses, [&](Group& group) {
    SetMatmulThreads(1);
    return RunRank(*test, KernelSet::kFast, 5e-5, group);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

// Loads and runs a program on one rank; the error.
Status RunAlone(const std::string& text, const DimSizes& sizes,
                const std::vector<std::string>& bound) {
  const Result<StepProgram> program = StepProgram::Parse(text);
  if (!program.ok()) return program.status();
  return RunRanks(1, RankKind::kThreads, [&](Group& group) -> Status {
    CHORUS_ASSIGN_OR_RETURN(const auto runtime, Runtime::Create(group, Mesh(), {}));
    CHORUS_ASSIGN_OR_RETURN(Executable step, Executable::Load(*runtime, *program, sizes));
    ArrayStore store;
    for (const std::string& spec : bound) {
      CHORUS_ASSIGN_OR_RETURN(const Spec parsed, Spec::Parse(spec));
      CHORUS_ASSIGN_OR_RETURN(
          ShardedArray array,
          ShardedArray::Generate(*runtime, parsed, DType::kF32, {{"I", 2}, {"J", 3}, {"V", 9}},
                                 [](std::int64_t) { return 9.0; }));
      store.emplace(parsed.name(), std::move(array));
    }
    return step.Run(store, AdamWSettings());
  });
}

TEST(ExecutableTest, RefusalsNameWhatIsWrong) {
  using ::testing::HasSubstr;
  const std::string gelu =
      "bound\n  a[I, J]: f32 input\noperations\n  b[I, J]: f32 activation = gelu(a)\n"
      "outputs b\n";
  const DimSizes sizes = {{"I", 2}, {"J", 3}};
  EXPECT_TRUE(RunAlone(gelu, sizes, {"a[I, J]"}).ok());
  EXPECT_THAT(RunAlone(gelu, sizes, {}).message(),
              HasSubstr("the program needs a[I, J], which no array was given for"));
  EXPECT_THAT(RunAlone(gelu, sizes, {"a[J, I]"}).message(),
              HasSubstr("the program needs f32 a[I, J] of [2, 3] on this rank, but the array given "
                        "is f32 a[J, I] of [3, 2]"));
  EXPECT_THAT(RunAlone(gelu, {{"I", 2}}, {"a[I, J]"}).message(), HasSubstr("J"));
  EXPECT_THAT(
      RunAlone("bound\n  a[I, J]: f16 input\n  b[J]: f16 input\noperations\n"
               "  c[I]: f16 activation = contract(a, b)\noutputs c\n",
               {{"I", 2}, {"J", 3}}, {})
          .message(),
      HasSubstr("c[I] is f16: kernels compute f32 and f64, of bf16 products and sums only"));
  EXPECT_THAT(RunAlone("bound\n  t[I, J]: i32 input\n  a[J, V, K]: f32 parameter\noperations\n"
                       "  x[I, K]: f32 activation = embed_window(t, a)\noutputs x\n",
                       {{"I", 2}, {"J", 3}, {"V", 9}, {"K", 1}}, {})
                  .message(),
              HasSubstr("the program needs t[I, J]"));
}

// A program grown at random, an operation at a time; what the rules refuse is left out.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, const Mesh& mesh) : stream_(seed, "program"), mesh_(mesh) {
    for (int i = 0; i < 3; ++i) {
      const Dims dims = Pick<Dims>({{"I", "J"}, {"J", "K"}, {"K", "I"}});
      const Spec spec = Split(Spec::Whole("a" + std::to_string(i), dims));
      values_.push_back({spec, DType::kF64, StorageClass::kInput});
    }
    for (int i = 0; i < 60 && ops_.size() < 12; ++i) TryOne();
  }

  Result<StepProgram> Create() const { return StepProgram::Create(values_, ops_, outputs_); }

 private:
  std::uint64_t Below(std::uint64_t n) { return stream_.Below(n, ++draws_); }
  template <typename T>
  T Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

  // Each axis on a dimension or on none.
  Spec Split(Spec spec) {
    for (const char* axis : {"X", "Y"}) {
      const std::uint64_t d = Below(spec.dims().size() + 1);
      if (d == spec.dims().size()) continue;
      const SpecDim dim = spec.dims()[d];
      AxisNames axes = dim.axes;
      axes.emplace_back(axis);
      spec = *spec.WithAxes(dim.name, axes);
    }
    return spec;
  }

  void TryOne() {
    const auto id = static_cast<ValueId>(Below(values_.size()));
    const auto other = static_cast<ValueId>(Below(values_.size()));
    const Spec& from = values_[id].spec;
    ProgramOp op;
    op.operands = {id};
    op.kind = Pick<ProgramOpKind>({ProgramOpKind::kCompute, ProgramOpKind::kCompute,
                                   ProgramOpKind::kSlice, ProgramOpKind::kAllGather,
                                   ProgramOpKind::kReduceScatter, ProgramOpKind::kAllReduce,
                                   ProgramOpKind::kAllToAll, ProgramOpKind::kPermute});
    Result<Spec> spec = from;
    if (op.kind == ProgramOpKind::kCompute) {
      op.compute = Pick<GraphOp>({GraphOp::kContract, GraphOp::kContract, GraphOp::kAdd,
                                  GraphOp::kGelu, GraphOp::kGeluGrad});
      if (op.compute != GraphOp::kGelu) op.operands.push_back(other);
      if (op.compute == GraphOp::kContract) spec = Product(from, values_[other].spec);
    } else {
      if (from.dims().empty()) return;
      op.dim = from.dims()[Below(from.dims().size())].name;
      op.axes = Pick<AxisNames>({{"X"}, {"Y"}, {"X", "Y"}, {"Y", "X"}});
      if (op.kind == ProgramOpKind::kAllReduce) op.dim.clear();
      if (op.kind == ProgramOpKind::kAllToAll) op.to = from.dims()[Below(from.dims().size())].name;
      if (op.kind == ProgramOpKind::kPermute) {
        spec = Turned(op, from);
      } else {
        spec = Moved(op, from);
      }
    }
    if (!spec.ok()) return;
    op.result = static_cast<ValueId>(values_.size());
    values_.push_back(
        {spec->WithName("v" + std::to_string(op.result)), DType::kF64, StorageClass::kActivation});
    ops_.push_back(op);
    outputs_.push_back(op.result);
    const Result<StepProgram> program = Create();
    const DimSizes sizes = {{"I", 4}, {"J", 5}, {"K", 3}};
    if (program.ok() && program->Check(mesh_, sizes).ok()) return;
    values_.pop_back();
    ops_.pop_back();
    outputs_.pop_back();
  }

  // Sums one index that both have, keeps the others.
  static Result<Spec> Product(const Spec& a, const Spec& b) {
    std::vector<SpecDim> dims;
    AxisNames partial = a.partial();
    partial.insert(partial.end(), b.partial().begin(), b.partial().end());
    for (const SpecDim& dim : a.dims()) {
      if (b.FindDim(dim.name) < 0) {
        dims.push_back(dim);
      } else {
        partial.insert(partial.end(), dim.axes.begin(), dim.axes.end());
      }
    }
    for (const SpecDim& dim : b.dims()) {
      if (a.FindDim(dim.name) < 0) dims.push_back(dim);
    }
    return Spec::Create("c", dims, partial);
  }

  // Gives a dimension other axes; what a permute may do.
  static Result<Spec> Turned(ProgramOp& op, const Spec& from) {
    CHORUS_ASSIGN_OR_RETURN(Spec to, from.WithAxes(op.dim, op.axes));
    op.axes = ChangedAxes(from, to);
    op.dim.clear();
    return to;
  }

  static Result<Spec> Moved(const ProgramOp& op, const Spec& from) {
    AxisNames axes = op.dim.empty() ? AxisNames() : from.AxesOf(op.dim);
    AxisNames partial;
    for (const std::string& axis : from.partial()) {
      if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) partial.push_back(axis);
    }
    const bool sums =
        op.kind == ProgramOpKind::kAllReduce || op.kind == ProgramOpKind::kReduceScatter;
    CHORUS_ASSIGN_OR_RETURN(Spec spec, from.WithPartial(sums ? partial : from.partial()));
    if (op.kind == ProgramOpKind::kAllReduce) return spec;
    if (op.kind == ProgramOpKind::kAllGather || op.kind == ProgramOpKind::kAllToAll) {
      axes.resize(axes.size() - std::min(axes.size(), op.axes.size()));
    } else {
      axes.insert(axes.end(), op.axes.begin(), op.axes.end());
    }
    CHORUS_ASSIGN_OR_RETURN(spec, spec.WithAxes(op.dim, axes));
    if (op.kind != ProgramOpKind::kAllToAll) return spec;
    AxisNames split = spec.AxesOf(op.to);
    split.insert(split.end(), op.axes.begin(), op.axes.end());
    return spec.WithAxes(op.to, split);
  }

  RandomStream stream_;
  const Mesh mesh_;
  std::uint64_t draws_ = 0;
  std::vector<ProgramValue> values_;
  std::vector<ProgramOp> ops_;
  std::vector<ValueId> outputs_;
};

TEST(ExecutableTest, RandomProgramsEqualTheReference) {
  std::size_t operations = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const char* const mesh = seed % 2 == 0 ? "X=2,Y=2" : "X=2,Y=3";
    const Result<StepProgram> program = RandomProgram(seed, *Mesh::Parse(mesh)).Create();
    ASSERT_TRUE(program.ok()) << program.status().message();
    SCOPED_TRACE(program->ToString());
    const Result<Case> test = MakeCase(*program, mesh, {{"I", 4}, {"J", 5}, {"K", 3}}, 1);
    ASSERT_TRUE(test.ok()) << test.status().message();
    const RankKind kind = seed % 5 == 0 ? RankKind::kProcesses : RankKind::kThreads;
    const Status status = RunRanks(static_cast<int>(test->mesh.size()), kind, [&](Group& group) {
      return RunRank(*test, KernelSet::kPlain, 1e-10, group);
    });
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
    operations += program->ops().size();
  }
  EXPECT_GT(operations, 300U);  // or the programs have become too small to mean anything
}

}  // namespace
}  // namespace chorus
