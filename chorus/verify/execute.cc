#include "chorus/verify/execute.h"

#include <fmt/format.h>

#include "chorus/verify/locations.h"
#include "chorus/verify/terms.h"

namespace chorus {
namespace {

constexpr Terms::Id kNothing = -1;

// The state while all ranks are carried out: what every location holds, and which step wrote it.
class SymbolicRun {
 public:
  SymbolicRun(const Expansion& e, const StepGraph& graph, bool in_place, WatchedRun* watched)
      : e_(e),
        graph_(graph),
        watched_(watched),
        terms_(e.op, e.group_size, e.order),
        messages_(graph.size()) {
    if (watched_ != nullptr) {
      watched_->start.resize(e.group_size);
      watched_->writes.resize(e.group_size);
      for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
        watched_->writes[rank].resize(e.ranks[rank].size());
      }
    }
    for (std::int64_t rank = 0; rank < e.group_size; ++rank) {
      locations_.emplace_back(e.frames[rank], in_place);
      memory_.emplace_back(locations_.back().count(), kNothing);
      writer_.emplace_back(locations_.back().count(), -1);
      for (std::int64_t b = 0; b < e.frames[rank].blocks; ++b) {
        if (!InHolds(e.MemberOf(rank), b)) continue;
        const Chunk in{BufferKind::kIn, 0, b, false};
        const Terms::Id raw = terms_.Raw(rank, b);
        memory_[rank][locations_[rank].Of(in)] = raw;
        if (watched_ != nullptr) watched_->start[rank].push_back(Held(rank, in, raw));
      }
    }
  }

  std::optional<Fault> Run() {
    for (std::int64_t node : graph_.order()) {
      if (auto fault = Do(node)) return fault;
    }
    return CheckEnd();
  }

  std::int64_t terms() const { return terms_.count(); }

 private:
  // One step: takes its values in, makes one of them, writes it. The order of nodes puts every recv
  // after its send, so the message is there.
  std::optional<Fault> Do(std::int64_t node) {
    const Step& step = graph_.step(node);
    if (locations_[graph_.rank(node)].IsIdle(step)) return std::nullopt;
    if (!Reduces(e_.op)) {
      bool scaled = false;
      for (const Chunk& chunk : step.chunks) scaled = scaled || chunk.scaled;
      if (step.verb == Verb::kReduce || step.finish || scaled) {
        return graph_.FaultAt(node, fmt::format("{} reduces nothing", Name(e_.op)),
                              "send, recv and copy without scaled and finish");
      }
    }
    std::vector<Terms::Id> values;
    if (step.verb == Verb::kRecv) {
      values = messages_[graph_.partner(node)];
    } else {
      for (const Chunk& chunk : Locations::Reads(step)) {
        Terms::Id value = kNothing;
        if (auto fault = Read(node, chunk, value)) return fault;
        values.push_back(value);
      }
    }
    if (step.verb == Verb::kSend) {
      messages_[node] = std::move(values);
      return std::nullopt;
    }
    if (step.verb == Verb::kReduce) {
      const Result<Terms::Id> sum = terms_.Sum(values[0], values[1]);
      if (!sum.ok()) return Wrong(node, sum.status());
      values = {*sum};
    }
    if (step.finish) {
      const Result<Terms::Id> finished = terms_.Finish(values[0]);
      if (!finished.ok()) return Wrong(node, finished.status());
      values = {*finished};
    }
    const std::vector<Chunk> written = Locations::Writes(step);
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (auto fault = Write(node, written[i], values[i])) return fault;
    }
    return std::nullopt;
  }

  std::optional<Fault> Wrong(std::int64_t node, const Status& status) const {
    return graph_.FaultAt(node, status.message(),
                          fmt::format("every contribution scaled once, added once in {} order, and "
                                      "the whole sum finished once",
                                      Name(e_.order)));
  }

  // `value` becomes what the chunk holds. A slot that holds another block is as wrong as an empty
  // one: it would have another size.
  std::optional<Fault> Read(std::int64_t node, const Chunk& chunk, Terms::Id& value) {
    const std::int64_t rank = graph_.rank(node);
    value = memory_[rank][locations_[rank].Of(chunk)];
    if (value == kNothing) {
      return graph_.FaultAt(node, fmt::format("{} holds nothing yet", chunk.ToString()),
                            "memory that was written before");
    }
    if (terms_.block(value) != chunk.block) {
      return graph_.FaultAt(node,
                            fmt::format("{} holds {}", chunk.ToString(), terms_.ToString(value)),
                            fmt::format("something of block {}", chunk.block));
    }
    if (!chunk.scaled) return std::nullopt;
    const Result<Terms::Id> scaled = terms_.Scale(value);
    if (!scaled.ok()) return Wrong(node, scaled.status());
    value = *scaled;
    return std::nullopt;
  }

  // The rules of writing: not into `in`, not into an `out` that the operation does not give to this
  // rank, the right block, and no partial sum where elements lie.
  std::optional<Fault> Write(std::int64_t node, const Chunk& chunk, Terms::Id value) {
    const std::int64_t rank = graph_.rank(node);
    if (chunk.buffer == BufferKind::kIn) {
      return graph_.FaultAt(node, fmt::format("{} is the caller's", chunk.ToString()),
                            "that nothing is written into in");
    }
    if (chunk.buffer == BufferKind::kOut && !OutHolds(e_.MemberOf(rank), chunk.block)) {
      return graph_.FaultAt(node, fmt::format("this rank has no {}", chunk.ToString()),
                            fmt::format("a block that {} gives to this rank", Name(e_.op)));
    }
    if (terms_.block(value) != chunk.block) {
      return graph_.FaultAt(
          node, fmt::format("{} is written into block {}", terms_.ToString(value), chunk.block),
          fmt::format("block {}", terms_.block(value)));
    }
    if (terms_.IsPartial(value) && !HoldsAccumulators(chunk.buffer)) {
      return graph_.FaultAt(
          node, fmt::format("{} would be rounded before it is finished", terms_.ToString(value)),
          "partial sums in acc only, or finish");
    }
    const std::int64_t location = locations_[rank].Of(chunk);
    memory_[rank][location] = value;
    writer_[rank][location] = node;
    if (watched_ != nullptr) {
      watched_->writes[rank][node - graph_.first(rank)].push_back(Held(rank, chunk, value));
    }
    return std::nullopt;
  }

  // What out[b] must hold on every rank that has it, and how that reads.
  std::optional<Fault> CheckEnd() {
    const std::int64_t blocks = e_.frames[0].blocks;
    std::vector<Terms::Id> same(blocks, kNothing);  // as the first rank holds it
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      const Member member = e_.MemberOf(rank);
      for (std::int64_t b = 0; b < blocks; ++b) {
        if (!OutHolds(member, b)) continue;
        const std::int64_t location = locations_[rank].Of({BufferKind::kOut, 0, b, false});
        const Terms::Id value = memory_[rank][location];
        const std::string held = value == kNothing ? "nothing" : terms_.ToString(value);
        if (value == kNothing || !IsPromised(rank, value, b)) {
          return EndFault(rank, b, location, held, Promise(rank, b));
        }
        if (IsScan(e_.op)) continue;  // each rank has a result of its own
        if (same[b] == kNothing) same[b] = value;
        if (same[b] != value) {
          return EndFault(rank, b, location, held,
                          terms_.ToString(same[b]) + ", as on other ranks, bit for bit");
        }
      }
    }
    return std::nullopt;
  }

  // A wrong result is shown at the step that wrote it last; if there is none, at the end.
  Fault EndFault(std::int64_t rank, std::int64_t b, std::int64_t location, const std::string& held,
                 std::string expected) const {
    const std::int64_t writer = writer_[rank][location];
    const std::string step = writer < 0 ? "the end" : graph_.step(writer).ToString();
    return Fault{rank, step, fmt::format("out[{}] ends with {}", b, held), std::move(expected)};
  }

  // Whose contributions rank `rank` must end with in block b.
  Contributors PromisedIn(std::int64_t rank, std::int64_t b) const {
    std::int64_t owner = -1;
    for (std::int64_t q = 0; q < e_.group_size && owner < 0 && HasOwners(e_.op); ++q) {
      if (e_.frames[q].own == b) owner = q;
    }
    return PromisedTo(e_.MemberOf(rank), b, owner);
  }

  bool IsPromised(std::int64_t rank, Terms::Id value, std::int64_t b) {
    const Contributors promised = PromisedIn(rank, b);
    // Only a sum of ranks 0 .. k, each once and in order, can be finished.
    if (Reduces(e_.op)) {
      return terms_.IsFinished(value) && terms_.block(value) == b &&
             terms_.highest(value) == promised.last;
    }
    return promised.first >= 0 && value == terms_.Raw(promised.first, b);
  }

  std::string Promise(std::int64_t rank, std::int64_t b) const {
    const Contributors promised = PromisedIn(rank, b);
    if (!Reduces(e_.op)) return fmt::format("x{}[{}]", promised.first, b);
    return fmt::format("the finished sum of x0[{0}] .. x{1}[{0}]", b, promised.last);
  }

  HeldValue Held(std::int64_t rank, const Chunk& chunk, Terms::Id value) {
    const bool promised =
        OutHolds(e_.MemberOf(rank), chunk.block) && IsPromised(rank, value, chunk.block);
    return {chunk, terms_.Contributors(value), promised, terms_.ToString(value)};
  }

  const Expansion& e_;
  const StepGraph& graph_;
  WatchedRun* watched_;
  Terms terms_;
  std::vector<Locations> locations_;               // by rank
  std::vector<std::vector<Terms::Id>> memory_;     // by rank and location
  std::vector<std::vector<std::int64_t>> writer_;  // by rank and location: the last node to write
  std::vector<std::vector<Terms::Id>> messages_;   // by node of a send
};

}  // namespace

std::optional<Fault> ExecuteOnTerms(const Expansion& e, const StepGraph& graph, bool in_place,
                                    std::int64_t& terms, WatchedRun* watched) {
  SymbolicRun run(e, graph, in_place, watched);
  std::optional<Fault> fault = run.Run();
  terms = run.terms();
  return fault;
}

}  // namespace chorus
