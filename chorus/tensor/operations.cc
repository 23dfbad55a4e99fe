#include "chorus/tensor/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "chorus/shard/emitter.h"
#include "chorus/shard/reshard.h"
#include "chorus/tensor/agreement.h"
#include "chorus/tensor/executable.h"

namespace chorus {
namespace {

using Operands = std::vector<const ShardedArray*>;

// Error if the operands cannot meet in one operation.
Status CheckOperands(const Operands& operands) {
  const ShardedArray& first = *operands[0];
  if (first.dtype() == DType::kI32) {
    return Unsupported(
        fmt::format("{} is i32; operations compute f32, f64 and bf16", first.spec().ToString()));
  }
  DimSizes sizes;
  for (const ShardedArray* const operand : operands) {
    if (&operand->runtime() != &first.runtime()) {
      return InvalidArgument(fmt::format("{} and {} are of two runtimes", first.spec().ToString(),
                                         operand->spec().ToString()));
    }
    if (operand->dtype() != first.dtype()) {
      return InvalidArgument(fmt::format("{} is {}, but {} is {}; convert one of them",
                                         first.spec().ToString(), Name(first.dtype()),
                                         operand->spec().ToString(), Name(operand->dtype())));
    }
    for (const auto& [dim, size] : operand->sizes()) {
      if (sizes.emplace(dim, size).first->second == size) continue;
      return InvalidArgument(fmt::format("dimension {} is {} in {}, but {} in another operand", dim,
                                         size, operand->spec().ToString(), sizes.at(dim)));
    }
  }
  return OkStatus();
}

// Error if the operands are not those of the product.
Status CheckOperandsOf(const Product& product, const Operands& operands) {
  if (operands.empty() || operands.size() != product.operands.size()) {
    return InvalidArgument(fmt::format("{} has {} operands, but {} arrays were given",
                                       product.ToString(), product.operands.size(),
                                       operands.size()));
  }
  CHORUS_RETURN_IF_ERROR(CheckOperands(operands));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i]->spec().SameLayout(product.operands[i])) continue;
    return InvalidArgument(
        fmt::format("operand {} of {} lies as {}; bring it there with Reshard, or write it so",
                    i + 1, product.ToString(), operands[i]->spec().ToString()));
  }
  return OkStatus();
}

DimSizes AllSizes(const Operands& operands) {
  DimSizes sizes;
  for (const ShardedArray* const operand : operands) {
    sizes.insert(operand->sizes().begin(), operand->sizes().end());
  }
  return sizes;
}

// "contract(A[I_X, J], B[J, K]) -> C[I, K] in f32 with I=4,J=3,K=2": everything that planning looks
// at. What the runtime keeps a program by, and what ranks agree on.
std::string QuestionOf(std::string_view what, const Operands& operands, const std::string& how) {
  std::vector<std::string> specs;
  specs.reserve(operands.size());
  for (const ShardedArray* const operand : operands) specs.push_back(operand->spec().ToString());
  const DimSizes sizes = AllSizes(operands);
  return fmt::format("{}({}) {} in {}{}{}", what, fmt::join(specs, ", "), how,
                     Name(operands[0]->dtype()), sizes.empty() ? "" : " with ", ToString(sizes));
}

// Runs the program of `question`, made by `plan` the first time, if then all ranks can and ask the
// same. Its bound values are the operands, its only output the result. `operands_met` is whether
// the operands are such that it can be asked; if not, the other ranks are told.
template <typename Plan>
Result<ShardedArray> RunPlanned(const std::string& question, const Operands& operands,
                                const Status& operands_met, Plan plan) {
  Runtime& runtime = operands[0]->runtime();
  if (!operands_met.ok()) return AgreeOn(runtime, question, operands_met);
  std::shared_ptr<Executable> program = runtime.KeptProgram(question);
  if (program == nullptr) {
    const auto make = [&]() -> Result<Executable> {
      CHORUS_ASSIGN_OR_RETURN(StepProgram made, plan());
      return Executable::Prepare(runtime, std::move(made), AllSizes(operands));
    };
    Result<Executable> made = make();
    if (!made.ok()) return AgreeOn(runtime, question, made.status());
    program = std::make_shared<Executable>(*std::move(made));
  }
  CHORUS_ASSIGN_OR_RETURN(std::vector<ShardedArray> results, program->RunOn(operands, question));
  runtime.Keep(question, program);
  return std::move(results[0]);
}

// The names of operands in a plan: their own where they are different and not empty, else letters.
std::vector<Spec> NamedApart(const Operands& operands, const std::string& result) {
  std::vector<Spec> specs;
  bool apart = true;
  for (const ShardedArray* const operand : operands) {
    const std::string& name = operand->spec().name();
    apart = apart && !name.empty() && name != result;
    for (const Spec& before : specs) apart = apart && before.name() != name;
    specs.push_back(operand->spec());
  }
  for (std::size_t i = 0; i < specs.size() && !apart; ++i) {
    specs[i] = specs[i].WithName(fmt::format("{}.operand{}", result, i));
  }
  return specs;
}

// One operation of a graph, planned, with what must move for it.
Result<StepProgram> PlanOperation(GraphOp op, const std::vector<Spec>& operands, const Spec& result,
                                  const std::optional<Spec>& wanted, DType dtype,
                                  const DimSizes& sizes, const Runtime& runtime) {
  ComputeRequest request;
  request.op = op;
  request.operands = operands;
  request.result = result;
  request.wanted = wanted;
  request.dtype = dtype;
  request.most_ways = 1;
  CHORUS_ASSIGN_OR_RETURN(const std::vector<ComputePlan> plans,
                          PlanCompute(request, runtime.mesh(), sizes, runtime.tariff()));
  const ComputePlan& how = plans[0];
  ProgramEmitter emitter;
  std::vector<ValueId> bound;
  for (const Spec& operand : operands) {
    bound.push_back(emitter.Bind(operand, dtype, StorageClass::kInput));
  }
  const std::string& name = result.name();
  ProgramOp compute;
  compute.kind = ProgramOpKind::kCompute;
  compute.compute = op;
  compute.why = {name, "", how.rule, {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    compute.operands.push_back(emitter.Move(bound[i], how.operand_moves[i],
                                            operands[i].name() + ".use", StorageClass::kWorkspace,
                                            compute.why));
  }
  const Provenance why = compute.why;
  const bool moves = !how.result_moves.moves.empty();
  const ValueId local =
      emitter.Add(std::move(compute), how.result.WithName(moves ? name + ".local" : name), dtype,
                  StorageClass::kActivation);
  return emitter.Finish(
      {emitter.Move(local, how.result_moves, name, StorageClass::kActivation, why)});
}

Result<ShardedArray> Compute(GraphOp op, const Operands& operands, const Spec& result,
                             const std::optional<Spec>& wanted) {
  const std::string text = wanted ? wanted->ToString() : result.ToString() + " as is cheapest";
  return RunPlanned(
      QuestionOf(Name(op), operands, "-> " + text), operands, CheckOperands(operands), [&] {
        return PlanOperation(op, NamedApart(operands, result.name()), result, wanted,
                             operands[0]->dtype(), AllSizes(operands), operands[0]->runtime());
      });
}

Result<ShardedArray> CopyOf(const ShardedArray& array) {
  CHORUS_ASSIGN_OR_RETURN(ShardedArray copy, ShardedArray::Create(array.runtime(), array.spec(),
                                                                  array.dtype(), array.sizes()));
  const std::int64_t bytes = array.elements() * SizeOf(array.dtype());
  if (bytes > 0) std::memcpy(copy.raw(), array.raw(), static_cast<std::size_t>(bytes));
  return copy;
}

// Reshard, as part of `question`, which all ranks ask.
Result<ShardedArray> ReshardFor(const std::string& question, const ShardedArray& array,
                                const Spec& result) {
  const Operands operands = {&array};
  if (array.spec().SameLayout(result)) {
    Result<ShardedArray> copy = CopyOf(array);
    CHORUS_RETURN_IF_ERROR(AgreeOn(array.runtime(), question, copy.status()));
    copy->Rename(result.name());
    return copy;
  }
  return RunPlanned(question, operands, OkStatus(), [&]() -> Result<StepProgram> {
    Runtime& runtime = array.runtime();
    CHORUS_ASSIGN_OR_RETURN(const ReshardPlan way,
                            PlanReshard(array.spec(), result, array.dtype(), runtime.mesh(),
                                        array.sizes(), runtime.tariff()));
    ProgramEmitter emitter;
    const ValueId from =
        emitter.Bind(NamedApart(operands, result.name())[0], array.dtype(), StorageClass::kInput);
    return emitter.Finish({emitter.Move(from, way, result.name(), StorageClass::kActivation,
                                        {result.name(), "", "reshard", {}})});
  });
}

// The array with its sums done, where it is one; a part of `question`.
Result<std::optional<ShardedArray>> Summed(const std::string& question, const ShardedArray& array) {
  if (array.spec().partial().empty()) return std::optional<ShardedArray>();
  CHORUS_ASSIGN_OR_RETURN(const Spec whole, array.spec().WithPartial({}));
  CHORUS_ASSIGN_OR_RETURN(ShardedArray summed, ReshardFor(question, array, whole));
  return std::optional<ShardedArray>(std::move(summed));
}

// What is left of an array when `dims` are folded: of each group of elements one number.
struct Folded {
  Spec spec;       // of the result, whole over the axes that split what was folded
  AxisNames axes;  // that split it
  std::vector<double> numbers;
};

// number = fold(number, element), from `start`, over this rank's part.
template <typename Fold>
Result<Folded> FoldLocal(const ShardedArray& array, const Dims& dims, double start, Fold fold) {
  Folded folded;
  CHORUS_RETURN_IF_ERROR(CheckOperands({&array}));
  std::vector<SpecDim> kept;
  const Spec& spec = array.spec();
  for (const std::string& dim : dims) {
    if (spec.FindDim(dim) >= 0) continue;
    return InvalidArgument(
        fmt::format("{} has no dimension {} that could be reduced", spec.ToString(), dim));
  }
  const Shape& shape = array.local_shape();
  std::vector<std::int64_t> stride;  // in the numbers, of each dimension of the array
  std::int64_t count = 1;
  for (std::size_t d = spec.dims().size(); d-- > 0;) {
    const SpecDim& dim = spec.dims()[d];
    const bool goes = std::find(dims.begin(), dims.end(), dim.name) != dims.end();
    stride.insert(stride.begin(), goes ? 0 : count);
    if (!goes) count *= shape[static_cast<int>(d)];
    if (!goes) kept.insert(kept.begin(), dim);
    if (goes) folded.axes.insert(folded.axes.end(), dim.axes.begin(), dim.axes.end());
  }
  CHORUS_ASSIGN_OR_RETURN(folded.spec, Spec::Create(spec.name(), std::move(kept), spec.partial()));
  folded.numbers.assign(static_cast<std::size_t>(count), start);
  std::vector<std::int64_t> at(stride.size(), 0);
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    double& number = folded.numbers[static_cast<std::size_t>(to)];
    number = fold(number, array.ElementAt(i));
    for (std::size_t d = stride.size(); d-- > 0;) {
      to += stride[d];
      if (++at[d] < shape[static_cast<int>(d)]) break;
      to -= at[d] * stride[d];
      at[d] = 0;
    }
  }
  return folded;
}

void SetElements(ShardedArray& array, const std::vector<double>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    array.SetElement(static_cast<std::int64_t>(i), numbers[i]);
  }
}

// What this rank has of the sum, a sum to be done over the axes that split what was folded.
Result<ShardedArray> SumOf(const ShardedArray& array, const Result<Folded>& folded) {
  CHORUS_RETURN_IF_ERROR(folded.status());
  AxisNames partial = folded->spec.partial();
  partial.insert(partial.end(), folded->axes.begin(), folded->axes.end());
  CHORUS_ASSIGN_OR_RETURN(const Spec spec, folded->spec.WithPartial(std::move(partial)));
  CHORUS_ASSIGN_OR_RETURN(
      ShardedArray sum, ShardedArray::Create(array.runtime(), spec, array.dtype(), array.sizes()));
  SetElements(sum, folded->numbers);
  return sum;
}

}  // namespace

Result<ShardedArray> Matmul(const ShardedArray& a, const ShardedArray& b, const Spec& result) {
  return Compute(GraphOp::kContract, {&a, &b}, result, result);
}

Result<ShardedArray> Multiply(const Product& product, const Operands& operands) {
  const Status met = CheckOperandsOf(product, operands);
  if (operands.empty()) return met;  // of no runtime, so that nobody can be told
  return RunPlanned(QuestionOf("product", operands, "-> " + product.ToString()), operands, met,
                    [&]() -> Result<StepProgram> {
                      Runtime& runtime = operands[0]->runtime();
                      CHORUS_ASSIGN_OR_RETURN(
                          ProductAnswer answer,
                          ExplainProduct(product, runtime.mesh(), AllSizes(operands),
                                         operands[0]->dtype(), runtime.tariff()));
                      return std::move(answer.program);
                    });
}

Result<ShardedArray> Reshard(const ShardedArray& array, const Spec& result) {
  return ReshardFor(QuestionOf("reshard", {&array}, "-> " + result.ToString()), array, result);
}

Result<ShardedArray> Add(const ShardedArray& a, const ShardedArray& b,
                         const std::optional<Spec>& result) {
  return Compute(GraphOp::kAdd, {&a, &b}, result.value_or(Spec::Whole("sum", a.spec().DimNames())),
                 result);
}

Result<ShardedArray> Gelu(const ShardedArray& array) {
  return Compute(GraphOp::kGelu, {&array}, Spec::Whole("gelu", array.spec().DimNames()),
                 array.spec().WithPartial({})->WithName("gelu"));
}

Result<ShardedArray> Scale(double factor, const ShardedArray& array) {
  CHORUS_RETURN_IF_ERROR(CheckOperands({&array}));
  CHORUS_ASSIGN_OR_RETURN(ShardedArray out, CopyOf(array));
  for (std::int64_t i = 0; i < out.elements(); ++i) out.SetElement(i, factor * out.ElementAt(i));
  return out;
}

Result<ShardedArray> Apply(const ShardedArray& array,
                           const std::function<double(double)>& function) {
  CHORUS_RETURN_IF_ERROR(CheckOperands({&array}));
  const Spec& spec = array.spec();
  if (!spec.partial().empty()) {
    return InvalidArgument(fmt::format(
        "{} is a sum to be done over {}, and a function of a sum is not the sum of the function; "
        "do it first: Reshard(array, {})",
        spec.ToString(), JoinAxes(spec.partial()), spec.WithPartial({})->ToString()));
  }
  CHORUS_ASSIGN_OR_RETURN(ShardedArray out, CopyOf(array));
  for (std::int64_t i = 0; i < out.elements(); ++i) out.SetElement(i, function(out.ElementAt(i)));
  return out;
}

Result<ShardedArray> Sum(const ShardedArray& array, const Dims& dims,
                         const std::optional<Spec>& result) {
  Result<ShardedArray> sum =
      SumOf(array, FoldLocal(array, dims, 0, [](double so_far, double x) { return so_far + x; }));
  if (!result) return sum;
  const std::string question = QuestionOf(
      "sum", {&array}, fmt::format("over {} -> {}", fmt::join(dims, ", "), result->ToString()));
  if (!sum.ok()) return AgreeOn(array.runtime(), question, sum.status());
  return ReshardFor(question, *sum, *result);
}

Result<ShardedArray> Max(const ShardedArray& array, const Dims& dims) {
  Runtime& runtime = array.runtime();
  const std::string question =
      QuestionOf("max", {&array}, fmt::format("over {}", fmt::join(dims, ", ")));
  CHORUS_ASSIGN_OR_RETURN(const std::optional<ShardedArray> summed, Summed(question, array));
  const ShardedArray& whole = summed ? *summed : array;
  Result<Folded> folded =
      FoldLocal(whole, dims, -std::numeric_limits<double>::infinity(), [](double most, double x) {
        return std::isnan(most) || std::isnan(x) ? most + x : std::max(most, x);
      });
  Result<ShardedArray> out =
      folded.ok() ? ShardedArray::Create(runtime, folded->spec, array.dtype(), array.sizes())
                  : folded.status();
  CHORUS_RETURN_IF_ERROR(AgreeOn(runtime, question, out.status()));
  if (runtime.mesh().GroupSize(folded->axes) > 1) {
    CHORUS_ASSIGN_OR_RETURN(Group* const group, runtime.GroupOver(folded->axes));
    CHORUS_RETURN_IF_ERROR(group->AllReduce(folded->numbers, ReduceOp::kMax));
  }
  SetElements(*out, folded->numbers);
  return out;
}

Result<double> Norm(const ShardedArray& array) {
  Runtime& runtime = array.runtime();
  const std::string question = QuestionOf("norm", {&array}, "-> a number");
  CHORUS_ASSIGN_OR_RETURN(const std::optional<ShardedArray> summed, Summed(question, array));
  const ShardedArray& whole = summed ? *summed : array;
  Result<Folded> folded = FoldLocal(whole, array.spec().DimNames(), 0,
                                    [](double sum, double x) { return sum + x * x; });
  CHORUS_RETURN_IF_ERROR(AgreeOn(runtime, question, folded.status()));
  // The ranks along the axes that split it hold each element once.
  if (runtime.mesh().GroupSize(folded->axes) > 1) {
    CHORUS_ASSIGN_OR_RETURN(Group* const group, runtime.GroupOver(folded->axes));
    CHORUS_RETURN_IF_ERROR(group->AllReduce(folded->numbers, ReduceOp::kSum));
  }
  return std::sqrt(folded->numbers[0]);
}

}  // namespace chorus
