#include "chorus/apps/cli/choose_schedule.h"

#include <fmt/format.h>

namespace chorus::cli {

Result<OpKind> OperationNamed(const std::string& name) {
  if (const std::optional<OpKind> op = ParseOpKind(name)) return *op;
  std::string known;
  for (OpKind op : kAllOpKinds) known += fmt::format("{}{}", known.empty() ? "" : ", ", Name(op));
  return NotFound(fmt::format("no operation '{}'; there is {}", name, known));
}

Result<std::shared_ptr<const Algorithm>> AlgorithmNamed(const std::string& name,
                                                        const std::string& operation) {
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(operation));
  return FindAlgorithm(name, op);
}

}  // namespace chorus::cli
