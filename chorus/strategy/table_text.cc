// Tables from text: rows of configuration files, and the lines that ToString(table) writes.
#include <fmt/format.h>

#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"
#include "chorus/strategy/strategy.h"

namespace chorus {
namespace {

constexpr bool IsPatternChar(char c) { return IsAlnum(c) || c == '_' || c == '.' || c == '*'; }

Status CheckPattern(const std::string& pattern) {
  Scanner scanner(pattern);
  scanner.TakeWhile(IsPatternChar);
  if (!pattern.empty() && scanner.AtEnd()) return OkStatus();
  return scanner.Error(
      "a row is named by a pattern of letters, digits, '.', '_' and '*', like blocks.*.win");
}

// The spec of a column, or `otherwise` if the column is empty.
Result<Spec> Column(const std::string& pattern, std::string_view column, const std::string& text,
                    const Spec& otherwise) {
  if (text.empty()) return otherwise;
  Result<Spec> spec = Spec::Parse(text);
  if (!spec.ok()) return spec.status().WithContext(fmt::format("row '{}', {}", pattern, column));
  if (!spec->name().empty()) {
    return InvalidArgument(fmt::format("row '{}', {}: write {} without the name {}", pattern,
                                       column, spec->WithName("").ToString(), spec->name()));
  }
  return spec;
}

// Takes the spec that starts here, as text.
Result<std::string> TakeSpec(Scanner& scanner) {
  CHORUS_ASSIGN_OR_RETURN(const Spec spec, ScanSpec(scanner));
  return spec.ToString();
}

Result<ParameterRowText> TakeColumns(Scanner& scanner, std::string pattern) {
  ParameterRowText row;
  row.pattern = std::move(pattern);
  while (!scanner.AtEnd() && scanner.Peek() != '\n') {
    if (scanner.Accept("rest ")) {
      CHORUS_ASSIGN_OR_RETURN(row.rest, TakeSpec(scanner));
    } else if (scanner.Accept("use ")) {
      CHORUS_ASSIGN_OR_RETURN(row.use, TakeSpec(scanner));
    } else if (scanner.Accept("gradient ")) {
      CHORUS_ASSIGN_OR_RETURN(row.gradient, TakeSpec(scanner));
    } else if (scanner.Accept("optimizer ")) {
      CHORUS_ASSIGN_OR_RETURN(row.optimizer, TakeSpec(scanner));
    } else if (scanner.Accept("free")) {
      row.policy = "free";
    } else if (scanner.Accept("keep")) {
      row.policy = "keep";
    } else {
      return scanner.Error(
          "a row has the columns rest, use, gradient, optimizer, and free or keep");
    }
  }
  return row;
}

}  // namespace

Result<ParameterRow> ParseParameterRow(const ParameterRowText& text) {
  CHORUS_RETURN_IF_ERROR(CheckPattern(text.pattern));
  if (text.rest.empty()) {
    return InvalidArgument(
        fmt::format("row '{}' does not say how the parameter lies at rest; write "
                    "rest = \"[D_X, F]\"",
                    text.pattern));
  }
  if (!text.policy.empty() && text.policy != "free" && text.policy != "keep") {
    return InvalidArgument(
        fmt::format("row '{}': policy '{}' is neither free nor keep", text.pattern, text.policy));
  }
  ParameterRow row;
  row.pattern = text.pattern;
  CHORUS_ASSIGN_OR_RETURN(row.rest, Column(text.pattern, "rest", text.rest, Spec()));
  CHORUS_ASSIGN_OR_RETURN(row.use, Column(text.pattern, "use", text.use, row.rest));
  CHORUS_ASSIGN_OR_RETURN(row.optimizer,
                          Column(text.pattern, "optimizer", text.optimizer, row.rest));
  CHORUS_ASSIGN_OR_RETURN(row.gradient,
                          Column(text.pattern, "gradient", text.gradient, row.optimizer));
  row.keep = text.policy == "keep";
  return row;
}

Result<ValueRow> ParseValueRow(const std::string& pattern, const std::string& spec) {
  CHORUS_RETURN_IF_ERROR(CheckPattern(pattern));
  if (spec.empty()) {
    return InvalidArgument(
        fmt::format("row '{}' does not say how the value lies; write \"[B_X, D]\"", pattern));
  }
  CHORUS_ASSIGN_OR_RETURN(Spec parsed, Column(pattern, "spec", spec, Spec()));
  return ValueRow{pattern, std::move(parsed)};
}

Result<ShardingTable> ParseTable(std::string_view text) {
  Scanner scanner(text);
  ShardingTable table;
  while (true) {
    while (scanner.Accept("\n")) {
    }
    if (scanner.AtEnd()) return table;
    const std::size_t begin = scanner.position();
    std::string pattern(scanner.TakeWhile(IsPatternChar));
    if (pattern.empty() || !scanner.Accept(":")) {
      return scanner.Error("a row starts with its pattern and a colon, like blocks.*.win:");
    }
    if (scanner.Peek() == '[') {
      CHORUS_ASSIGN_OR_RETURN(Spec spec, ScanSpec(scanner));
      table.values.push_back({std::move(pattern), std::move(spec)});
    } else {
      CHORUS_ASSIGN_OR_RETURN(const ParameterRowText row, TakeColumns(scanner, std::move(pattern)));
      Result<ParameterRow> parsed = ParseParameterRow(row);
      if (!parsed.ok()) return scanner.ErrorAt(begin, parsed.status().message());
      table.parameters.push_back(std::move(parsed).value());
    }
    if (!scanner.AtEnd() && !scanner.Accept("\n")) return scanner.Error("the row should end here");
  }
}

}  // namespace chorus
