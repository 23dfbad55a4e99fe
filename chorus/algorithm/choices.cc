#include "chorus/algorithm/choices.h"

#include <fmt/format.h>

#include <optional>

#include "chorus/base/scanner.h"

namespace chorus {
namespace {

bool IsName(char c) { return IsLower(c) || IsUpper(c) || IsDigit(c) || c == '_'; }
bool IsNotQuote(char c) { return c != '"' && c != '\n'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string Where(const Choices::Row& row) {
  return fmt::format("{} of {} ranks from {}", Name(row.op), row.ranks, chorus::ToString(row.from));
}

// As people write it, if that says it exactly.
std::string Exactly(Bytes bytes) {
  const std::string text = chorus::ToString(bytes);
  const Result<Bytes> read = ParseBytes(text);
  return read.ok() && *read == bytes ? text : fmt::format("{} B", bytes.value());
}

// "text" in quotes.
Result<std::string_view> TakeQuoted(Scanner& scanner) {
  if (!scanner.Accept("\"")) return scanner.Error("a text in quotes is missing");
  const std::string_view text = scanner.TakeWhile(IsNotQuote);
  if (!scanner.Accept("\"")) return scanner.Error("the quote that ends the text is missing");
  return text;
}

// The rest of the line: blanks, a comment, or nothing.
Status EndLine(Scanner& scanner) {
  scanner.TakeWhile(IsBlank);
  if (scanner.Peek() != '#' && scanner.Peek() != '\n' && scanner.Peek() != '\0') {
    return scanner.Error("only a comment (# ...) may follow here");
  }
  scanner.TakeLine();
  return OkStatus();
}

// "[all_reduce.2]", after its first bracket.
Status TakeHead(Scanner& scanner, Choices::Row& place) {
  const std::size_t at = scanner.position();
  const std::string name(scanner.TakeWord(IsName, IsName));
  const std::optional<OpKind> op = ParseOpKind(name);
  if (!op) return scanner.ErrorAt(at, fmt::format("there is no operation '{}'", name));
  place.op = *op;
  if (!scanner.Accept(".")) return scanner.Error("'.' and the number of ranks are missing");
  CHORUS_ASSIGN_OR_RETURN(place.ranks, scanner.TakeCount("the number of ranks"));
  if (!scanner.Accept("]")) return scanner.Error("']' is missing");
  return EndLine(scanner);
}

// "\"32 KiB\" = \"direct\"".
Status TakeRow(Scanner& scanner, Choices::Row& row) {
  std::size_t at = scanner.position();
  CHORUS_ASSIGN_OR_RETURN(const std::string_view size, TakeQuoted(scanner));
  const Result<Bytes> from = ParseBytes(size);
  if (!from.ok()) return scanner.ErrorAt(at, from.status().message());
  row.from = *from;
  if (!scanner.Accept("=")) return scanner.Error("'=' is missing");
  at = scanner.position();
  CHORUS_ASSIGN_OR_RETURN(const std::string_view name, TakeQuoted(scanner));
  Result<std::shared_ptr<const Algorithm>> algorithm = FindAlgorithm(name, row.op);
  if (!algorithm.ok()) return scanner.ErrorAt(at, algorithm.status().message());
  row.algorithm = *std::move(algorithm);
  return EndLine(scanner);
}

}  // namespace

Result<Choices> Choices::Create(const std::vector<Row>& rows) {
  Choices choices;
  for (const Row& row : rows) {
    if (row.algorithm == nullptr || row.algorithm->op != row.op) {
      return InvalidArgument(fmt::format("{}: {} is no algorithm of it", Where(row),
                                         row.algorithm ? row.algorithm->name : "nothing"));
    }
    const Status fits = row.algorithm->Fits(row.ranks);
    if (!fits.ok()) return fits.WithContext(Where(row));
    const Status legal = row.algorithm->Build().FrameFor(row.ranks, 0).status();
    if (!legal.ok()) return legal.WithContext(Where(row));
    if (!choices.rows_[{row.op, row.ranks}].emplace(row.from, row.algorithm).second) {
      return InvalidArgument(fmt::format("{} is there twice", Where(row)));
    }
  }
  for (const auto& [place, by_size] : choices.rows_) {
    const Bytes first = by_size.begin()->first;
    if (first == Bytes(0)) continue;
    return InvalidArgument(fmt::format("{} of {} ranks begins at {}; it must begin at 0 B",
                                       Name(place.first), place.second, chorus::ToString(first)));
  }
  return choices;
}

Result<Choices> Choices::Parse(std::string_view text, std::string_view origin) {
  Scanner scanner(text);
  std::vector<Row> rows;
  std::optional<Row> place;
  while (scanner.Peek() != '\0') {
    if (scanner.Peek() == '#' || scanner.Peek() == '\n' || scanner.Peek() == '\r') {
      scanner.TakeLine();
      continue;
    }
    if (scanner.Accept("[")) {
      place.emplace();
      CHORUS_RETURN_IF_ERROR(TakeHead(scanner, *place));
      continue;
    }
    if (!place) return scanner.Error("an operation and ranks, like [all_reduce.2], are missing");
    Row row = *place;
    CHORUS_RETURN_IF_ERROR(TakeRow(scanner, row));
    rows.push_back(row);
  }
  CHORUS_ASSIGN_OR_RETURN(Choices choices, Create(rows));
  choices.origin_ = origin;
  return choices;
}

std::string Choices::ToString() const {
  std::string out;
  for (const auto& [place, by_size] : rows_) {
    out += fmt::format("{}[{}.{}]\n", out.empty() ? "" : "\n", Name(place.first), place.second);
    for (const auto& [from, algorithm] : by_size) {
      out += fmt::format("\"{}\" = \"{}\"\n", Exactly(from), algorithm->name);
    }
  }
  return out;
}

const Algorithm& Choices::Choose(OpKind op, std::int64_t group_size, Bytes total,
                                 bool rank_order) const {
  const auto found = rows_.find({op, group_size});
  if (found != rows_.end()) {
    auto next = found->second.upper_bound(total);
    const Algorithm& algorithm = *(--next)->second;  // the first begins at 0
    if (!rank_order || algorithm.Build().order() == ReduceOrder::kRank) return algorithm;
  }
  return ChooseAlgorithm(op, group_size, total, rank_order);
}

std::vector<Choices::Row> Choices::rows() const {
  std::vector<Row> all;
  for (const auto& [place, by_size] : rows_) {
    for (const auto& [from, algorithm] : by_size) {
      all.push_back({place.first, place.second, from, algorithm});
    }
  }
  return all;
}

}  // namespace chorus
