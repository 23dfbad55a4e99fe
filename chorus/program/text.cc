// The text of a StepProgram and back.
//
//   program    = "bound" line {value line} "operations" line {operation line} "outputs" names line
//   value      = spec ["holds" chunks] ["so_far" chunks] ":" dtype storage
//   chunks     = dim "_" axes turn turn {turn}      a turn is digits 0 and 1, one a chunk
//   operation  = [value "="] call ["into" name] [provenance]
//   call       = "shift" "(" name "," axes "," ("1" | "-1") ")" | compute "(" operands ")" |
//   "constant" "(" number ")" | "slice" "(" name "," move
//   ")" | ...
//   move       = dim "_" axes (slice, all_gather, reduce_scatter) | axes (all_reduce, permute)
//              | dim "_" axes "," dim (all_to_all)
//   provenance = "# " source " | " row " | " rule
//                {" | not " what " (" bytes " B, " flops " FLOP" [", holds " bytes " B"] ")"}
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <map>
#include <utility>

#include "chorus/base/scanner.h"
#include "chorus/mesh/notation.h"
#include "chorus/program/program.h"

namespace chorus {
namespace {

std::string ValueText(const ProgramValue& value) {
  std::string text = value.spec.ToString();
  if (value.holds) text += " holds " + value.holds->ToString();
  if (value.so_far) text += " so_far " + value.so_far->ToString();
  return fmt::format("{}: {} {}", text, Name(value.dtype), Name(value.storage));
}

std::string ProvenanceText(const Provenance& why) {
  if (why == Provenance{}) return "";
  std::string text = fmt::format("  # {} | {} | {}", why.source, why.row, why.rule);
  for (const Alternative& other : why.rejected) {
    text += fmt::format(" | not {} ({} B, {} FLOP", other.what, other.bytes_sent.value(),
                        other.flops.value());
    if (other.peak > Bytes(0)) text += fmt::format(", holds {} B", other.peak.value());
    text += ")";
  }
  return text;
}

std::string Names(const StepProgram& program, const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", program.value(id).name());
  }
  return text;
}

// "constant, contract, ..., slice, ..., free"
std::string AllOperations() {
  std::string names;
  const auto add = [&names](std::string_view name) {
    names.append(names.empty() ? "" : ", ").append(name);
  };
  for (int op = 0; op <= static_cast<int>(GraphOp::kCrossEntropyGrad); ++op) {
    const auto compute = static_cast<GraphOp>(op);
    if (compute != GraphOp::kInput && compute != GraphOp::kParameter) add(Name(compute));
  }
  for (int kind = static_cast<int>(ProgramOpKind::kSlice);
       kind <= static_cast<int>(ProgramOpKind::kFree); ++kind) {
    add(Name(static_cast<ProgramOpKind>(kind)));
  }
  return names;
}

// True for moves along one dimension.
bool NamesDim(ProgramOpKind kind) {
  return kind != ProgramOpKind::kAllReduce && kind != ProgramOpKind::kPermute &&
         kind != ProgramOpKind::kShift;
}

// Reads one program line by line.
class ProgramParser {
 public:
  explicit ProgramParser(std::string_view text) : scanner_(text) {}

  Result<StepProgram> Run() {
    CHORUS_RETURN_IF_ERROR(Heading("bound"));
    while (!scanner_.Accept("operations")) {
      CHORUS_RETURN_IF_ERROR(ParseValue());
      CHORUS_RETURN_IF_ERROR(EndLine());
    }
    CHORUS_RETURN_IF_ERROR(EndLine());
    while (!scanner_.Accept("outputs")) CHORUS_RETURN_IF_ERROR(ParseOp());
    std::vector<ValueId> outputs;
    while (scanner_.Peek() != '\n' && !scanner_.AtEnd()) {
      if (!outputs.empty() && !scanner_.Accept(",")) return scanner_.Error("',' is missing here");
      CHORUS_ASSIGN_OR_RETURN(const ValueId id, ParseName());
      outputs.push_back(id);
    }
    CHORUS_RETURN_IF_ERROR(EndLine());
    if (!scanner_.AtEnd()) return scanner_.Error("the program ends with its outputs");
    return StepProgram::Create(std::move(values_), std::move(ops_), std::move(outputs));
  }

 private:
  Status Heading(std::string_view word) {
    if (!scanner_.Accept(word)) {
      return scanner_.Error(fmt::format("a line '{}' is expected here", word));
    }
    return EndLine();
  }

  Status EndLine() {
    if (scanner_.AtEnd() || scanner_.Accept("\n")) return OkStatus();
    return scanner_.Error("the line should end here");
  }

  Status Expect(std::string_view token) {
    if (scanner_.Accept(token)) return OkStatus();
    return scanner_.Error(fmt::format("'{}' is missing here", token));
  }

  std::string_view Word() {
    scanner_.Peek();
    return scanner_.TakeWhile([](char c) { return IsAlnum(c) || c == '_'; });
  }

  // name[dims]: dtype storage
  Status ParseValue() {
    const std::size_t begin = scanner_.position();
    CHORUS_ASSIGN_OR_RETURN(Spec spec, ScanSpec(scanner_));
    std::optional<ChunkSet> holds;
    std::optional<ChunkSet> so_far;
    if (scanner_.Accept("holds ")) {
      CHORUS_ASSIGN_OR_RETURN(holds, ScanChunkSet(scanner_));
    }
    if (scanner_.Accept("so_far ")) {
      CHORUS_ASSIGN_OR_RETURN(so_far, ScanChunkSet(scanner_));
    }
    CHORUS_RETURN_IF_ERROR(Expect(":"));
    const std::size_t at_dtype = scanner_.position();
    const std::optional<DType> dtype = ParseDType(Word());
    if (!dtype) return scanner_.ErrorAt(at_dtype, "a dtype is expected here, like f32");
    const std::size_t at_storage = scanner_.position();
    const std::string_view word = Word();
    for (int i = 0; i <= static_cast<int>(StorageClass::kWorkspace); ++i) {
      const auto storage = static_cast<StorageClass>(i);
      if (Name(storage) != word) continue;
      if (!ids_.emplace(spec.name(), static_cast<ValueId>(values_.size())).second) {
        return scanner_.ErrorAt(begin, fmt::format("value {} is defined twice", spec.name()));
      }
      values_.push_back({std::move(spec), *dtype, storage, std::move(holds), std::move(so_far)});
      return OkStatus();
    }
    return scanner_.ErrorAt(at_storage,
                            "a storage class is expected here: input, parameter, optimizer_state, "
                            "gradient, activation or workspace");
  }

  Result<ValueId> ParseName() {
    const std::size_t begin = scanner_.position();
    const std::string name(ScanValueName(scanner_));
    const auto id = ids_.find(name);
    if (id == ids_.end()) {
      return scanner_.ErrorAt(begin, fmt::format("'{}' is no value defined above", name));
    }
    return id->second;
  }

  Status ParseOp() {
    ProgramOp op;
    Scanner ahead = scanner_;  // "name[" starts a result, "name(" a call
    ScanValueName(ahead);
    const bool has_result = ahead.Peek() == '[';
    if (has_result) {
      CHORUS_RETURN_IF_ERROR(ParseValue());
      CHORUS_RETURN_IF_ERROR(Expect("="));
      op.result = static_cast<ValueId>(values_.size()) - 1;
      // An operation may not name its own result.
      ids_.erase(values_.back().name());
    }
    CHORUS_RETURN_IF_ERROR(ParseCall(op));
    if (scanner_.Accept("into ")) {
      CHORUS_ASSIGN_OR_RETURN(op.into, ParseName());
    }
    if (scanner_.Accept("# ")) {
      CHORUS_RETURN_IF_ERROR(ParseProvenance(op.why));
    } else {
      CHORUS_RETURN_IF_ERROR(EndLine());
    }
    if (has_result) ids_.emplace(values_.back().name(), op.result);
    ops_.push_back(std::move(op));
    return OkStatus();
  }

  Status ParseCall(ProgramOp& op) {
    const std::size_t begin = scanner_.position();
    const std::string_view word = Word();
    if (const std::optional<GraphOp> compute = ParseGraphOp(word)) {
      op.kind = ProgramOpKind::kCompute;
      op.compute = *compute;
    } else {
      int kind = static_cast<int>(ProgramOpKind::kSlice);
      while (kind <= static_cast<int>(ProgramOpKind::kFree) &&
             Name(static_cast<ProgramOpKind>(kind)) != word) {
        ++kind;
      }
      if (kind > static_cast<int>(ProgramOpKind::kFree)) {
        return scanner_.ErrorAt(
            begin, fmt::format("'{}' is no operation; there are {}", word, AllOperations()));
      }
      op.kind = static_cast<ProgramOpKind>(kind);
    }
    CHORUS_RETURN_IF_ERROR(Expect("("));
    if (op.kind == ProgramOpKind::kCompute && op.compute == GraphOp::kConstant) {
      CHORUS_RETURN_IF_ERROR(ParseNumber(op.number));
      return Expect(")");
    }
    const bool moves = op.kind == ProgramOpKind::kSlice || SendsBytes(op.kind);
    while (!scanner_.Accept(")")) {
      if (!op.operands.empty()) CHORUS_RETURN_IF_ERROR(Expect(","));
      if (moves && !op.operands.empty()) {
        CHORUS_RETURN_IF_ERROR(ParseMove(op));
        return Expect(")");
      }
      CHORUS_ASSIGN_OR_RETURN(const ValueId id, ParseName());
      op.operands.push_back(id);
    }
    return OkStatus();
  }

  // D_XY, XY for an all_reduce and a permute, or D_XY, F for an all_to_all
  Status ParseMove(ProgramOp& op) {
    if (NamesDim(op.kind)) {
      op.dim = std::string(ScanDimName(scanner_));
      CHORUS_RETURN_IF_ERROR(Expect("_"));
    }
    CHORUS_ASSIGN_OR_RETURN(op.axes, ScanAxes(scanner_));
    if (op.kind == ProgramOpKind::kAllToAll) {
      CHORUS_RETURN_IF_ERROR(Expect(","));
      scanner_.Peek();
      op.to = std::string(ScanDimName(scanner_));
    }
    if (op.kind == ProgramOpKind::kShift) {
      CHORUS_RETURN_IF_ERROR(Expect(","));
      op.by = scanner_.Accept("-") ? -1 : 1;
      return Expect("1");
    }
    return OkStatus();
  }

  Status ParseNumber(double& number) {
    const std::size_t begin = scanner_.position();
    const std::string_view text =
        scanner_.TakeWhile([](char c) { return IsAlnum(c) || c == '.' || c == '-' || c == '+'; });
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) {
      return OkStatus();
    }
    return scanner_.ErrorAt(begin, "a number is expected here");
  }

  // source | row | rule | not what (12 B, 34 FLOP) | ...   up to the end of the line
  Status ParseProvenance(Provenance& why) {
    const std::size_t begin = scanner_.position();
    std::string_view line = scanner_.TakeLine();
    const auto next = [&line] {
      const std::size_t end = line.find(" | ");
      std::string field(line.substr(0, end));
      line = end == std::string_view::npos ? std::string_view() : line.substr(end + 3);
      return field;
    };
    why.source = next();
    why.row = next();
    why.rule = next();
    while (!line.empty()) {
      CHORUS_ASSIGN_OR_RETURN(Alternative other, ParseRejected(next(), begin));
      why.rejected.push_back(std::move(other));
    }
    return OkStatus();
  }

  // not what (12 B, 34 FLOP, holds 56 B)   of a line that begins at `begin`
  Result<Alternative> ParseRejected(const std::string& field, std::size_t begin) const {
    const Status wrong = scanner_.ErrorAt(
        begin,
        "a rejected way is written 'not what (12 B, 34 FLOP)' or '(12 B, 34 FLOP, holds 56 B)'");
    const std::size_t cost = field.rfind(" (");
    if (field.rfind("not ", 0) != 0 || cost == std::string::npos || cost < 4) return wrong;
    Scanner numbers(std::string_view(field).substr(cost + 2));
    Alternative other;
    other.what = field.substr(4, cost - 4);
    const Result<std::int64_t> bytes = numbers.TakeCount("bytes");
    if (!bytes.ok() || !numbers.Accept("B,")) return wrong;
    const Result<std::int64_t> flops = numbers.TakeCount("flops");
    if (!flops.ok() || !numbers.Accept("FLOP")) return wrong;
    other.bytes_sent = Bytes(*bytes);
    other.flops = Flops(*flops);
    if (numbers.Accept(", holds ")) {
      const Result<std::int64_t> peak = numbers.TakeCount("peak");
      if (!peak.ok() || !numbers.Accept("B")) return wrong;
      other.peak = Bytes(*peak);
    }
    if (!numbers.Accept(")") || !numbers.AtEnd()) return wrong;
    return other;
  }

  Scanner scanner_;
  std::vector<ProgramValue> values_;
  std::vector<ProgramOp> ops_;
  std::map<std::string, ValueId> ids_;
};

}  // namespace

std::string ToString(const StepProgram& program, const ProgramOp& op) {
  std::string text;
  if (op.result != kNoValue) text = ValueText(program.value(op.result)) + " = ";
  text += op.kind == ProgramOpKind::kCompute ? Name(op.compute) : Name(op.kind);
  text += "(" + Names(program, op.operands);
  if (op.kind == ProgramOpKind::kCompute && op.compute == GraphOp::kConstant) {
    text += fmt::format("{}", op.number);
  }
  if (op.kind == ProgramOpKind::kSlice || SendsBytes(op.kind)) {
    text += NamesDim(op.kind) ? fmt::format(", {}_", op.dim) : ", ";
    text += JoinAxes(op.axes);
    if (op.kind == ProgramOpKind::kAllToAll) text += ", " + op.to;
    if (op.kind == ProgramOpKind::kShift) text += fmt::format(", {}", op.by);
  }
  text += ")";
  if (op.into != kNoValue) text += " into " + program.value(op.into).name();
  return text;
}

std::string StepProgram::ToString() const {
  std::string text = "bound\n";
  for (ValueId id = 0; id < bound_; ++id) text += "  " + ValueText(value(id)) + "\n";
  text += "operations\n";
  for (const ProgramOp& op : ops_) {
    text += "  " + chorus::ToString(*this, op) + ProvenanceText(op.why) + "\n";
  }
  return text + "outputs" + (outputs_.empty() ? "" : " ") + Names(*this, outputs_) + "\n";
}

Result<StepProgram> StepProgram::Parse(std::string_view text) { return ProgramParser(text).Run(); }

}  // namespace chorus
