#include "chorus/shard/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"
#include "chorus/shard/emitter.h"

namespace chorus {
namespace {

// The dimension of `spec` that `axis` splits, "" if none.
std::string SplitDim(const Spec& spec, const std::string& axis) {
  for (const SpecDim& dim : spec.dims()) {
    if (std::find(dim.axes.begin(), dim.axes.end(), axis) != dim.axes.end()) return dim.name;
  }
  return "";
}

// The case of one axis; nothing if no operand is split by it.
std::optional<AxisCase> CaseOf(const Product& product, const std::string& axis) {
  const std::string in_a = SplitDim(product.a, axis);
  const std::string in_b = SplitDim(product.b, axis);
  if (in_a.empty() && in_b.empty()) return std::nullopt;
  const auto contracted = [&product](const std::string& dim) {
    return !dim.empty() && product.result.FindDim(dim) < 0;
  };
  const auto says = [&](const std::string& dim, const Spec& spec) {
    return fmt::format("splits {}{} in {}", contracted(dim) ? "the contracted " : "", dim,
                       spec.name());
  };
  if (in_a == in_b) {
    return AxisCase{axis, contracted(in_a) ? 3 : 1,
                    fmt::format("{} and in {}", says(in_a, product.a), product.b.name())};
  }
  if (in_a.empty() || in_b.empty()) {
    const std::string& dim = in_a.empty() ? in_b : in_a;
    const Spec& split = in_a.empty() ? product.b : product.a;
    const Spec& other = in_a.empty() ? product.a : product.b;
    if (!contracted(dim)) return AxisCase{axis, 1, says(dim, split)};
    return AxisCase{axis, 2, fmt::format("{} and nothing in {}", says(dim, split), other.name())};
  }
  const std::string both = fmt::format("{} and {}", says(in_a, product.a), says(in_b, product.b));
  return AxisCase{axis, contracted(in_a) || contracted(in_b) ? 2 : 4, both};
}

// The program of a plan: bring the operands, multiply, bring the result.
Result<StepProgram> ProgramOf(const Product& product, const ComputePlan& plan, DType dtype) {
  ProgramEmitter emitter;
  const std::string& c = product.result.name();
  const Spec& a = product.a;
  const Spec& b = product.b;
  const std::vector<ValueId> bound = {emitter.Bind(a, dtype, StorageClass::kInput),
                                      emitter.Bind(b, dtype, StorageClass::kInput)};
  const Provenance why{c, "", plan.rule, {}};
  ProgramOp op;
  op.kind = ProgramOpKind::kCompute;
  op.compute = GraphOp::kContract;
  op.why = why;
  for (std::size_t k = 0; k < bound.size(); ++k) {
    op.operands.push_back(emitter.Move(bound[k], plan.operand_moves[k],
                                       (k == 0 ? a : b).name() + ".use", StorageClass::kWorkspace,
                                       why));
  }
  const bool moves = !plan.result_moves.moves.empty();
  const ValueId local = emitter.Add(std::move(op), plan.result.WithName(moves ? c + ".local" : c),
                                    dtype, StorageClass::kActivation);
  const ValueId result = emitter.Move(local, plan.result_moves, c, StorageClass::kActivation, why);
  return emitter.Finish({result});
}

// If C is a sum nobody asked for: the ways to write it otherwise.
std::vector<std::string> Spellings(const Product& product, const ComputePlan& plan) {
  std::vector<std::string> spellings;
  if (product.wanted || plan.result.partial().empty()) return spellings;
  const std::string axes = JoinAxes(plan.result.partial());
  const Spec whole = *plan.result.WithPartial({});
  spellings.push_back(fmt::format("-> {}   all_reduce over {}", whole.ToString(), axes));
  for (const SpecDim& dim : whole.dims()) {
    AxisNames split = dim.axes;
    split.insert(split.end(), plan.result.partial().begin(), plan.result.partial().end());
    spellings.push_back(fmt::format("-> {}   reduce_scatter {} over {}",
                                    whole.WithAxes(dim.name, split)->ToString(), dim.name, axes));
  }
  spellings.push_back(fmt::format("-> {}   leave it a sum", plan.result.ToString()));
  return spellings;
}

}  // namespace

std::string Product::ToString() const {
  std::string text = a.ToString() + " * " + b.ToString();
  if (wanted) text += " -> " + wanted->ToString();
  return text;
}

Result<Product> ParseProduct(std::string_view text) {
  Scanner scanner(text);
  Product product;
  CHORUS_ASSIGN_OR_RETURN(product.a, ScanSpec(scanner));
  if (!scanner.Accept("*")) {
    return scanner.Error("a product is written A[I, J] * B[J, K] -> C[I, K]: '*' is missing here");
  }
  const std::size_t at_b = scanner.position();
  CHORUS_ASSIGN_OR_RETURN(product.b, ScanSpec(scanner));
  if (product.a.name().empty()) product.a = product.a.WithName("A");
  if (product.b.name().empty()) product.b = product.b.WithName("B");
  if (product.a.name() == product.b.name()) {
    return scanner.ErrorAt(
        at_b,
        fmt::format("both operands are called {}; give them different names", product.a.name()));
  }
  std::size_t at_c = scanner.position();
  if (scanner.Accept("->")) {
    at_c = scanner.position();
    CHORUS_ASSIGN_OR_RETURN(Spec c, ScanSpec(scanner));
    if (c.name().empty()) c = c.WithName("C");
    if (c.name() == product.a.name() || c.name() == product.b.name()) {
      return scanner.ErrorAt(at_c, fmt::format("the result is called {} like an operand; give it "
                                               "another name",
                                               c.name()));
    }
    product.result = Spec::Whole(c.name(), c.DimNames());
    product.wanted = std::move(c);
  } else {
    Dims dims;
    for (const std::string& dim : product.a.DimNames()) {
      if (product.b.FindDim(dim) < 0) dims.push_back(dim);
    }
    for (const std::string& dim : product.b.DimNames()) {
      if (product.a.FindDim(dim) < 0) dims.push_back(dim);
    }
    product.result = Spec::Whole("C", dims);
  }
  if (!scanner.AtEnd()) {
    return scanner.Error(
        "the product ends before this; it is written A[I, J] * B[J, K] -> C[I, K]");
  }
  const auto rule = MakeRule(GraphOp::kContract, {product.a.DimNames(), product.b.DimNames()},
                             product.result.DimNames());
  if (!rule.ok()) {
    return scanner.ErrorAt(at_c,
                           "each dimension must be in at least two of the three arrays: kept "
                           "ones in an operand and the result, contracted ones in both operands");
  }
  return product;
}

Result<ProductAnswer> ExplainProduct(const Product& product, const Mesh& mesh,
                                     const DimSizes& sizes, DType dtype, const Tariff& tariff) {
  ComputeRequest request;
  request.operands = {product.a, product.b};
  request.result = product.result;
  request.wanted = product.wanted;
  request.dtype = dtype;
  ProductAnswer answer;
  CHORUS_ASSIGN_OR_RETURN(answer.plans, PlanCompute(request, mesh, sizes, tariff));
  for (const MeshAxis& axis : mesh.axes()) {
    if (std::optional<AxisCase> found = CaseOf(product, axis.name)) {
      answer.number = std::max(answer.number, found->number);
      answer.cases.push_back(std::move(*found));
    }
  }
  CHORUS_ASSIGN_OR_RETURN(answer.program, ProgramOf(product, answer.plans[0], dtype));
  answer.spellings = Spellings(product, answer.plans[0]);
  return answer;
}

}  // namespace chorus
