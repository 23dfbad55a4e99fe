#include "chorus/apps/cli/choose_schedule.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

namespace chorus::cli {

Result<OpKind> OperationNamed(const std::string& name) {
  if (const std::optional<OpKind> op = ParseOpKind(name)) return *op;
  std::string known;
  for (OpKind op : kAllOpKinds) known += fmt::format("{}{}", known.empty() ? "" : ", ", Name(op));
  return NotFound(fmt::format("no operation '{}'; there is {}", name, known));
}

Result<const Algorithm*> AlgorithmNamed(const std::string& name, const std::string& operation) {
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(operation));
  return FindAlgorithm(name, op);
}

Result<std::string> ReadTextFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.good() && text.empty()) {
    return NotFound(fmt::format("cannot read '{}'; give the path of a text file", path));
  }
  return text;
}

}  // namespace chorus::cli
