// The text form of schedules: reading. text.cc is its inverse. The grammar:
//
//   schedule = "schedule" NAME OP "blocks" expr ["owns" expr] ["order" ORDER] ["tmp" expr]
//              ["acc" expr] ["tiles" NUMBER] "begin" body "end"
//   body     = { step | "let" NAME "=" expr | "for" NAME "in" expr ".." expr body "end" }
//   step     = label ":" verb ["finish"] ["after" label { "," label }] ["if" expr]
//   verb     = "send" message "to" expr "as" expr | "recv" message "from" expr "as" expr
//            | "reduce" chunk "=" chunk "+" chunk | "copy" chunk "=" chunk
//   message  = "signal" | part { "," part }
//   part     = chunk | "for" NAME "in" expr ".." expr ["if" expr] ":" part
//   chunk    = ["scaled"] ("in" | "out") "[" expr "]"
//            | ["scaled"] ("tmp" | "acc") "[" expr ":" expr "]"
//            | "(" expr "?" part ":" part ")"; a range only in a message
//   label    = NAME [ "[" expr { "," expr } "]" ]; after "after" also NAME "[" "*" "]"
#include <fmt/format.h>

#include "chorus/schedule/lexer.h"
#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

constexpr int kDeepestNesting = 100;

class ScheduleParser {
 public:
  explicit ScheduleParser(std::string_view text) : lexer_(text) {}

  Result<Schedule> Run() {
    Schedule::Definition d;
    CHORUS_RETURN_IF_ERROR(ParseHeader(d));
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("begin", "before the steps"));
    CHORUS_ASSIGN_OR_RETURN(d.body, ParseBody("the schedule"));
    if (!lexer_.AtEnd()) {
      return lexer_.Error("the text should end after the last 'end', found " + lexer_.Found());
    }
    return Schedule::Make(std::move(d));
  }

 private:
  Status ParseHeader(Schedule::Definition& d) {
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("schedule", "at the beginning"));
    CHORUS_ASSIGN_OR_RETURN(d.name, lexer_.ExpectName("the algorithm"));
    const std::optional<OpKind> op = ParseOpKind(lexer_.token().text);
    if (!op.has_value()) {
      std::string known;
      for (OpKind kind : kAllOpKinds) known += fmt::format(" {}", Name(kind));
      return lexer_.Error(
          fmt::format("expected an operation (one of{}), found {}", known, lexer_.Found()));
    }
    d.op = *op;
    lexer_.Advance();
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("blocks", "after the operation"));
    CHORUS_ASSIGN_OR_RETURN(d.blocks, lexer_.ParseExpr());
    if (HasOwners(d.op)) {
      CHORUS_RETURN_IF_ERROR(lexer_.Expect("owns", "(the block a rank owns)"));
      CHORUS_ASSIGN_OR_RETURN(d.owns, lexer_.ParseExpr());
    }
    if (Reduces(d.op)) {
      CHORUS_RETURN_IF_ERROR(lexer_.Expect("order", "(of the sum: rank or any)"));
      const std::optional<ReduceOrder> order = ParseReduceOrder(lexer_.token().text);
      if (!order.has_value() || *order == ReduceOrder::kNone) {
        return lexer_.Error("expected the order 'rank' or 'any', found " + lexer_.Found());
      }
      d.order = *order;
      lexer_.Advance();
    }
    if (lexer_.Accept("tmp")) {
      CHORUS_ASSIGN_OR_RETURN(d.tmp_slots, lexer_.ParseExpr());
    }
    if (lexer_.Accept("acc")) {
      CHORUS_ASSIGN_OR_RETURN(d.acc_slots, lexer_.ParseExpr());
    }
    if (lexer_.Accept("tiles")) {
      const Lexer::Token start = lexer_.token();
      CHORUS_ASSIGN_OR_RETURN(const Expr tiles, lexer_.ParseExpr());
      if (tiles.kind() != Expr::Kind::kLiteral) {
        return lexer_.ErrorAt(start, "the number of tiles in flight must be a plain number");
      }
      d.tiles = tiles.literal();
    }
    return OkStatus();
  }

  // Reads up to and including the "end" of `owner`.
  Result<Body> ParseBody(std::string_view owner) {
    if (++depth_ > kDeepestNesting) return lexer_.Error("loops are nested too deeply");
    Body body;
    while (!lexer_.Accept("end")) {
      if (lexer_.AtEnd()) {
        return lexer_.Error(fmt::format("expected a step or the 'end' of {}", owner));
      }
      if (lexer_.Accept("let")) {
        CHORUS_ASSIGN_OR_RETURN(Let let, ParseLet());
        body.push_back({std::move(let)});
      } else if (lexer_.Accept("for")) {
        CHORUS_ASSIGN_OR_RETURN(Loop loop, ParseLoop());
        body.push_back({std::move(loop)});
      } else {
        CHORUS_ASSIGN_OR_RETURN(StepFamily step, ParseStep());
        body.push_back({std::move(step)});
      }
    }
    --depth_;
    return body;
  }

  Result<Let> ParseLet() {
    Let let;
    CHORUS_ASSIGN_OR_RETURN(let.name, lexer_.ExpectName("a value"));
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("=", "after 'let " + let.name + "'"));
    CHORUS_ASSIGN_OR_RETURN(let.value, lexer_.ParseExpr());
    return let;
  }

  Result<Loop> ParseLoop() {
    Loop loop;
    CHORUS_ASSIGN_OR_RETURN(loop.variable, lexer_.ExpectName("a loop variable"));
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("in", "after 'for " + loop.variable + "'"));
    CHORUS_ASSIGN_OR_RETURN(loop.first, lexer_.ParseExpr());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("..", "between the ends of the loop"));
    CHORUS_ASSIGN_OR_RETURN(loop.last, lexer_.ParseExpr());
    CHORUS_ASSIGN_OR_RETURN(loop.body, ParseBody("'for " + loop.variable + "'"));
    return loop;
  }

  Result<StepFamily> ParseStep() {
    StepFamily step;
    CHORUS_ASSIGN_OR_RETURN(step.label, ParseLabel());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect(":", "after the name of a step"));
    if (lexer_.At("send") || lexer_.At("recv")) {
      CHORUS_RETURN_IF_ERROR(ParseMessage(step));
    } else if (lexer_.At("reduce") || lexer_.At("copy")) {
      CHORUS_RETURN_IF_ERROR(ParseLocal(step));
    } else {
      return lexer_.Error("expected send, recv, reduce or copy, found " + lexer_.Found());
    }
    if (lexer_.Accept("after")) {
      do {
        CHORUS_ASSIGN_OR_RETURN(LabelExpr label, ParseLabel());
        step.after.push_back(std::move(label));
      } while (lexer_.Accept(","));
    }
    if (lexer_.Accept("if")) {
      CHORUS_ASSIGN_OR_RETURN(step.guard, lexer_.ParseExpr());
    }
    return step;
  }

  Status ParseMessage(StepFamily& step) {
    step.verb = lexer_.At("send") ? Verb::kSend : Verb::kRecv;
    lexer_.Advance();
    if (!lexer_.Accept("signal")) {
      do {
        CHORUS_ASSIGN_OR_RETURN(ChunkExpr chunk, ParseChunk());
        step.chunks.push_back(std::move(chunk));
      } while (lexer_.Accept(","));
    }
    const bool send = step.verb == Verb::kSend;
    CHORUS_RETURN_IF_ERROR(lexer_.Expect(send ? "to" : "from", "and the peer"));
    CHORUS_ASSIGN_OR_RETURN(step.peer, lexer_.ParseExpr());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("as", "and the number of the message"));
    CHORUS_ASSIGN_OR_RETURN(step.message, lexer_.ParseExpr());
    return OkStatus();
  }

  Status ParseLocal(StepFamily& step) {
    step.verb = lexer_.At("reduce") ? Verb::kReduce : Verb::kCopy;
    lexer_.Advance();
    CHORUS_ASSIGN_OR_RETURN(ChunkExpr dst, ParseChunk());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("=", "after the chunk that is written"));
    CHORUS_ASSIGN_OR_RETURN(ChunkExpr a, ParseChunk());
    step.chunks = {std::move(dst), std::move(a)};
    if (step.verb == Verb::kReduce) {
      CHORUS_RETURN_IF_ERROR(lexer_.Expect("+", "between the operands of reduce"));
      CHORUS_ASSIGN_OR_RETURN(ChunkExpr b, ParseChunk());
      step.chunks.push_back(std::move(b));
    }
    step.finish = lexer_.Accept("finish");
    return OkStatus();
  }

  Result<ChunkExpr> ParseRange() {
    if (++depth_ > kDeepestNesting) return lexer_.Error("ranges are nested too deeply");
    ChunkExpr::Range range;
    CHORUS_ASSIGN_OR_RETURN(range.variable, lexer_.ExpectName("a range's variable"));
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("in", "after 'for " + range.variable + "'"));
    CHORUS_ASSIGN_OR_RETURN(range.first, lexer_.ParseExpr());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("..", "between the ends of the range"));
    CHORUS_ASSIGN_OR_RETURN(range.last, lexer_.ParseExpr());
    if (lexer_.Accept("if")) {
      CHORUS_ASSIGN_OR_RETURN(range.condition, lexer_.ParseExpr());
    }
    CHORUS_RETURN_IF_ERROR(lexer_.Expect(":", "before the chunk of a range"));
    CHORUS_ASSIGN_OR_RETURN(range.chunk, ParseChunk());
    ChunkExpr chunk;
    chunk.range = std::make_shared<const ChunkExpr::Range>(std::move(range));
    --depth_;
    return chunk;
  }

  Result<ChunkExpr> ParseChunk() {
    ChunkExpr chunk;
    if (lexer_.Accept("for")) return ParseRange();
    if (lexer_.Accept("(")) {
      if (++depth_ > kDeepestNesting) return lexer_.Error("choices are nested too deeply");
      CHORUS_ASSIGN_OR_RETURN(Expr condition, lexer_.ParseCondition());
      CHORUS_RETURN_IF_ERROR(lexer_.Expect("?", "after the condition of a choice"));
      CHORUS_ASSIGN_OR_RETURN(ChunkExpr then, ParseChunk());
      CHORUS_RETURN_IF_ERROR(lexer_.Expect(":", "between the two chunks of a choice"));
      CHORUS_ASSIGN_OR_RETURN(ChunkExpr otherwise, ParseChunk());
      CHORUS_RETURN_IF_ERROR(lexer_.Expect(")", "after a choice"));
      chunk.choice = std::make_shared<const ChunkExpr::Choice>(
          ChunkExpr::Choice{std::move(condition), std::move(then), std::move(otherwise)});
      --depth_;
      return chunk;
    }
    chunk.scaled = lexer_.Accept("scaled");
    bool known = false;
    for (BufferKind buffer :
         {BufferKind::kIn, BufferKind::kOut, BufferKind::kTmp, BufferKind::kAcc}) {
      if (!lexer_.At(Name(buffer))) continue;
      chunk.buffer = buffer;
      known = true;
    }
    if (!known) {
      return lexer_.Error("expected a chunk: in[..], out[..], tmp[.. : ..], acc[.. : ..]; found " +
                          lexer_.Found());
    }
    lexer_.Advance();
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("[", "after the name of a buffer"));
    if (IsScratch(chunk.buffer)) {
      CHORUS_ASSIGN_OR_RETURN(chunk.slot, lexer_.ParseExpr());
      CHORUS_RETURN_IF_ERROR(lexer_.Expect(":", "between slot and block"));
    }
    CHORUS_ASSIGN_OR_RETURN(chunk.block, lexer_.ParseExpr());
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("]", "after the block"));
    return chunk;
  }

  Result<LabelExpr> ParseLabel() {
    LabelExpr label;
    CHORUS_ASSIGN_OR_RETURN(label.name, lexer_.ExpectName("a step"));
    if (!lexer_.Accept("[")) return label;
    if (lexer_.Accept("*")) {
      label.every = true;
      CHORUS_RETURN_IF_ERROR(lexer_.Expect("]", "after '*'"));
      return label;
    }
    do {
      CHORUS_ASSIGN_OR_RETURN(Expr index, lexer_.ParseExpr());
      label.index.push_back(std::move(index));
    } while (lexer_.Accept(","));
    CHORUS_RETURN_IF_ERROR(lexer_.Expect("]", "after the index of a step"));
    return label;
  }

  Lexer lexer_;
  int depth_ = 0;  // of loops and choices, so that hostile text cannot exhaust the stack
};

}  // namespace

Result<Schedule> Schedule::Parse(std::string_view text) { return ScheduleParser(text).Run(); }

}  // namespace chorus
