#include "chorus/apps/answer/choose_schedule.h"

#include <fmt/format.h>

#include <utility>

#include "chorus/apps/answer/about.h"
#include "chorus/base/nearest.h"
#include "chorus/cost/formula/formula.h"

namespace chorus::answer {

Result<OpKind> OperationNamed(const std::string& name) {
  if (const std::optional<OpKind> op = ParseOpKind(name)) return *op;
  std::vector<std::string> known;
  for (const OpKind op : kAllOpKinds) known.emplace_back(Name(op));
  return About("--op", NotFound(fmt::format("there is no operation '{}'; {}", name,
                                            NearestAdvice(name, known))));
}

Result<std::shared_ptr<const Algorithm>> AlgorithmNamed(const std::string& name,
                                                        const std::string& operation) {
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(operation));
  auto found = FindAlgorithm(name, op);
  const bool no_such = found.status().code() == StatusCode::kNotFound;
  if (no_such && FindFormula(operation, name).ok()) {
    return About("--algorithm",
                 NotFound(fmt::format("{} of {} is a formula, for chorus estimate, and has no "
                                      "schedule; those that have one are {}",
                                      name, operation, NamesOfAlgorithms(op))));
  }
  return About("--algorithm", std::move(found));
}

bool HasSchedule(std::string_view name, const std::string& operation) {
  const std::optional<OpKind> op = ParseOpKind(operation);
  return op && FindAlgorithm(name, *op).ok();
}

const Algorithm& UsualAlgorithm(OpKind op, std::int64_t ranks, Bytes bytes) {
  const auto ring = FindAlgorithm("ring", op);
  return ring.ok() ? **ring : ChooseAlgorithm(op, ranks, bytes);
}

}  // namespace chorus::answer
