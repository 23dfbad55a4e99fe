#include "chorus/apps/answer/schedule_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/base/counted.h"
#include "chorus/mesh/spec.h"
#include "chorus/schedule/linear_order.h"
#include "chorus/schedule/rounds.h"

namespace chorus::answer {
namespace {

// Sums of many messages of that size still are whole numbers of 64 bits.
constexpr std::int64_t kMostShownBytes = std::int64_t{1} << 40;

Result<std::vector<std::int64_t>> BlockBytes(const ScheduleQuestion& q, const Expansion& e) {
  const Result<Bytes> read = ParseBytes(q.bytes);
  if (!read.ok()) return read.status().WithContext("--bytes");
  if (read->value() > kMostShownBytes) {
    return InvalidArgument(
        fmt::format("--bytes {} is too much to be shown; give at most 1TiB", q.bytes));
  }
  const std::int64_t blocks = e.frames[0].blocks;
  // Of all_to_all nccl-tests counts what one rank sends in all, and blocks are of pairs.
  const std::int64_t pairs = e.op == OpKind::kAllToAll ? e.group_size : 1;
  std::vector<std::int64_t> bytes(blocks);
  for (std::int64_t b = 0; b < blocks; ++b) {
    bytes[b] = SplitEvenly(read->value(), blocks / pairs, b % (blocks / pairs)).size;
  }
  return bytes;
}

// The same steps with other names of blocks: b becomes (b + shift) mod N.
void Relabel(Expansion& e, std::int64_t shift) {
  const auto rename = [&e, shift](std::int64_t block) {
    return (block + shift + e.group_size) % e.group_size;
  };
  for (Frame& frame : e.frames) frame.own = rename(frame.own);
  for (std::vector<Step>& steps : e.ranks) {
    for (Step& step : steps) {
      for (Chunk& chunk : step.chunks) chunk.block = rename(chunk.block);
    }
  }
}

// The steps, built up round by round in an order in which one thread could do them.
class StepByStep {
 public:
  StepByStep(const Expansion& e, const WatchedRun& run,
             const std::vector<std::int64_t>& block_bytes, double accumulator_ratio)
      : e_(e), run_(run), block_bytes_(block_bytes), accumulator_ratio_(accumulator_ratio) {}

  Status Fill(ScheduleAnswer& answer) {
    CHORUS_ASSIGN_OR_RETURN(const auto rounds, Rounds(e_));
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Action> order, LinearOrder(e_, 1, Pick::kFirst));
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      for (const HeldValue& value : run_.start[rank]) {
        answer.start.push_back({rank, value});
        if (Improve(rank, value)) answer.cells.push_back(best_[{rank, value.chunk.block}]);
      }
    }
    // Without work before the first message there is no round 0.
    const std::int64_t first = HasWorkInRoundZero(rounds) ? 0 : 1;
    std::int64_t last = 0;
    for (const auto& of_rank : rounds) {
      for (const std::int64_t round : of_rank) last = std::max(last, round);
    }
    answer.steps.resize(std::max<std::int64_t>(0, last + 1 - first));
    for (const Action& action : order) {
      const std::int64_t round = rounds[action.rank][action.step];
      if (round >= first) Take(action, round - first, rounds, first, answer.steps);
    }
    Sum(answer);
    return OkStatus();
  }

 private:
  bool HasWorkInRoundZero(const std::vector<std::vector<std::int64_t>>& rounds) const {
    for (std::int64_t rank = 0; rank < e_.group_size; ++rank) {
      for (std::size_t i = 0; i < rounds[rank].size(); ++i) {
        if (rounds[rank][i] == 0 && !run_.writes[rank][i].empty()) return true;
      }
    }
    return false;
  }

  void Take(const Action& action, std::int64_t at,
            const std::vector<std::vector<std::int64_t>>& rounds, std::int64_t first,
            std::vector<ShownStep>& steps) {
    const Step& step = e_.ranks[action.rank][action.step];
    ShownStep& shown = steps[at];
    if (step.verb == Verb::kSend) {
      ShownMessage message{action.rank, step.peer, step.message, step.chunks, {}, 0, 0};
      for (const Chunk& chunk : step.chunks) message.bytes += BytesOf(chunk);
      sent_[KeyOf(step, action.rank)] = {at, shown.messages.size()};
      shown.messages.push_back(std::move(message));
      return;
    }
    if (step.verb == Verb::kRecv) {
      const auto [where, index] = sent_.at(KeyOf(step, action.rank));
      ShownMessage& message = steps[where].messages[index];
      message.written = step.chunks;
      message.arrives = rounds[action.rank][action.step] - first;
    } else {
      shown.locals.push_back({action.rank, step});
    }
    for (const HeldValue& value : run_.writes[action.rank][action.step]) {
      shown.writes.push_back({action.rank, value});
    }
  }

  std::int64_t BytesOf(const Chunk& chunk) const {
    const auto bytes = static_cast<double>(block_bytes_[chunk.block]);
    return std::llround(HoldsAccumulators(chunk.buffer) ? bytes * accumulator_ratio_ : bytes);
  }

  // True if `value` is more than the rank has had of the block.
  bool Improve(std::int64_t rank, const HeldValue& value) {
    ShownCell& best = best_[{rank, value.chunk.block}];
    const bool more =
        std::pair(value.promised, value.ranks.size()) > std::pair(best.final, best.ranks.size());
    if (more) best = {rank, value.chunk.block, value.ranks, value.promised};
    return more;
  }

  // What follows from the steps one after another: cells, bytes so far, links.
  void Sum(ScheduleAnswer& answer) {
    std::vector<std::int64_t> sent(e_.group_size), received(e_.group_size);
    for (ShownStep& step : answer.steps) {
      std::set<std::pair<std::int64_t, std::int64_t>> changed;
      for (const ShownWrite& write : step.writes) {
        if (Improve(write.rank, write.value)) changed.emplace(write.rank, write.value.chunk.block);
      }
      for (const auto& place : changed) step.cells.push_back(best_[place]);
      std::set<std::pair<std::int64_t, std::int64_t>> links;
      for (const ShownMessage& message : step.messages) {
        step.bytes += message.bytes;
        sent[message.from] += message.bytes;
        received[message.to] += message.bytes;
        links.emplace(message.from, message.to);
      }
      step.links = static_cast<std::int64_t>(links.size());
      step.sent_bytes = sent;
      step.received_bytes = received;
      answer.total_bytes += step.bytes;
    }
  }

  const Expansion& e_;
  const WatchedRun& run_;
  const std::vector<std::int64_t>& block_bytes_;
  double accumulator_ratio_;
  std::map<MessageKey, std::pair<std::int64_t, std::size_t>> sent_;  // step and index in it
  std::map<std::pair<std::int64_t, std::int64_t>, ShownCell> best_;  // by rank and block
};

// The offset c if rank i ends with chunk (i + c) mod N, alone among its chunks: of reduce_scatter
// in the end, of all_reduce when its first sums are finished.
std::optional<std::int64_t> OffsetOf(const ScheduleAnswer& answer) {
  const Expansion& e = answer.expansion;
  const std::int64_t n = e.group_size;
  if (n < 2 || e.frames[0].blocks != n) return std::nullopt;
  std::vector<std::int64_t> ends(n, -1);
  if (e.op == OpKind::kReduceScatter) {
    for (std::int64_t rank = 0; rank < n; ++rank) ends[rank] = e.frames[rank].own;
  } else if (e.op == OpKind::kAllReduce) {
    for (const ShownStep& step : answer.steps) {
      std::vector<std::int64_t> finished(n, 0);
      for (const ShownCell& cell : step.cells) {
        if (!cell.final) continue;
        ++finished[cell.rank];
        ends[cell.rank] = cell.block;
      }
      if (*std::max_element(finished.begin(), finished.end()) == 0) continue;
      const bool one_each = std::all_of(finished.begin(), finished.end(),
                                        [](std::int64_t count) { return count == 1; });
      if (!one_each) return std::nullopt;
      break;
    }
  }
  if (ends[0] < 0) return std::nullopt;
  for (std::int64_t rank = 0; rank < n; ++rank) {
    if (ends[rank] != (rank + ends[0]) % n) return std::nullopt;
  }
  return ends[0];
}

Status FillSteps(const ScheduleQuestion& q, ScheduleAnswer& answer) {
  CHORUS_ASSIGN_OR_RETURN(const WatchedRun run, Watch(answer.expansion));
  answer.start.clear();
  answer.cells.clear();
  answer.steps.clear();
  answer.total_bytes = 0;
  return StepByStep(answer.expansion, run, answer.block_bytes, q.accumulator_ratio).Fill(answer);
}

std::string ProofText(const ScheduleAnswer& answer) {
  const Expansion& e = answer.expansion;
  const std::string of =
      fmt::format("N = {}{}", e.group_size, HasRoot(e.op) ? fmt::format(", root {}", e.root) : "");
  if (!answer.verdict.ok()) {
    return fmt::format("wrong for {}: {}", of, answer.verdict.fault->ToString());
  }
  const Proof& p = answer.verdict.proof;
  return fmt::format(
      "proved for {}, {}: {} and {} carried out on formulas; every rank ends with what is "
      "promised, no deadlock, no race",
      of, p.cases > 1 ? "out of place and in place" : "out of place", Counted(p.steps, "step"),
      Counted(p.messages, "message"));
}

Json ChunkNames(const std::vector<Chunk>& chunks) {
  Json names = Json::array();
  for (const Chunk& chunk : chunks) names.push_back(chunk.ToString());
  return names;
}

Json WriteJson(const ShownWrite& write) {
  const HeldValue& v = write.value;
  Json json = {{"rank", write.rank}, {"buffer", Name(v.chunk.buffer)}};
  if (IsScratch(v.chunk.buffer)) json["slot"] = v.chunk.slot;
  json["block"] = v.chunk.block;
  json["count"] = v.ranks.size();
  json["ranks"] = v.ranks;
  json["final"] = v.promised;
  json["value"] = v.formula;
  return json;
}

Json CellJson(const ShownCell& cell) {
  return {{"rank", cell.rank},
          {"block", cell.block},
          {"count", cell.ranks.size()},
          {"ranks", cell.ranks},
          {"final", cell.final}};
}

Json MessageJson(const ShownMessage& m) {
  Json blocks = Json::array();
  bool accumulators = false;
  for (const Chunk& chunk : m.read) {
    blocks.push_back(chunk.block);
    accumulators = accumulators || HoldsAccumulators(chunk.buffer);
  }
  return {{"from", m.from},
          {"to", m.to},
          {"message", m.message},
          {"blocks", std::move(blocks)},
          {"read", ChunkNames(m.read)},
          {"written", ChunkNames(m.written)},
          {"accumulators", accumulators},
          {"bytes", m.bytes},
          {"arrives", m.arrives}};
}

Json StepJson(const ShownStep& step) {
  Json json = {{"messages", Json::array()},     {"locals", Json::array()},
               {"writes", Json::array()},       {"cells", Json::array()},
               {"bytes", step.bytes},           {"links", step.links},
               {"sent_bytes", step.sent_bytes}, {"received_bytes", step.received_bytes}};
  for (const ShownMessage& message : step.messages)
    json["messages"].push_back(MessageJson(message));
  for (const ShownLocal& local : step.locals) {
    json["locals"].push_back(
        {{"rank", local.rank}, {"verb", Name(local.step.verb)}, {"text", local.step.ToString()}});
  }
  for (const ShownWrite& write : step.writes) json["writes"].push_back(WriteJson(write));
  for (const ShownCell& cell : step.cells) json["cells"].push_back(CellJson(cell));
  return json;
}

Json ConventionJson(const ScheduleAnswer& answer) {
  if (!answer.convention) return nullptr;
  const std::string ends = answer.convention->offset == 0 ? "i" : "i+1";
  const bool phase = answer.expansion.op == OpKind::kAllReduce;
  return {{"ends_with", ends},
          {"offset", answer.convention->offset},
          {"relabelled", answer.convention->relabelled},
          {"says", fmt::format("rank i ends {}with chunk {}{}", phase ? "the summing phase " : "",
                               ends == "i" ? "i" : "i + 1",
                               answer.convention->relabelled
                                   ? "; chunks are renamed, the text is of the schedule as it is"
                                   : "")}};
}

}  // namespace

Result<ScheduleAnswer> Answer(const ScheduleQuestion& question) {
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(question.op));
  if (question.ranks < 1 || question.ranks > kMostScheduleRanks) {
    return InvalidArgument(fmt::format("--ranks {} is out of range; give 1 to {}", question.ranks,
                                       kMostScheduleRanks));
  }
  CHORUS_RETURN_IF_ERROR(CheckRoot(question.root, question.ranks));
  if (question.root != 0 && !HasRoot(op)) {
    return InvalidArgument(fmt::format("--root: {} has no root; leave it out", Name(op)));
  }
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(question.accumulator_ratio));
  ScheduleAnswer answer;
  if (question.algorithm.empty()) {
    answer.algorithm = Unowned(UsualAlgorithm(op, question.ranks, Bytes(0)));
  } else {
    CHORUS_ASSIGN_OR_RETURN(answer.algorithm,
                            About("--algorithm", FindAlgorithm(question.algorithm, op)));
  }
  CHORUS_RETURN_IF_ERROR(About("--algorithm", answer.algorithm->Fits(question.ranks)));
  const Schedule schedule = answer.algorithm->Build();
  answer.text = schedule.ToString();
  CHORUS_ASSIGN_OR_RETURN(answer.expansion, Expand(schedule, question.ranks, question.root));
  CHORUS_ASSIGN_OR_RETURN(answer.block_bytes, BlockBytes(question, answer.expansion));
  CHORUS_RETURN_IF_ERROR(FillSteps(question, answer));
  const std::optional<std::int64_t> offset = OffsetOf(answer);
  if (offset && *offset <= 1) answer.convention = ChunkConvention{*offset, false};
  if (question.relabel) {
    if (!answer.convention) {
      return InvalidArgument(
          fmt::format("--relabel: {} {} over {} does not end with one chunk a rank; leave it out",
                      answer.algorithm->name, Name(op), Counted(question.ranks, "rank")));
    }
    Relabel(answer.expansion, *offset == 0 ? 1 : -1);
    answer.convention = ChunkConvention{1 - *offset, true};
    CHORUS_RETURN_IF_ERROR(FillSteps(question, answer));
  }
  answer.verdict = Prove(answer.expansion, false);
  if (answer.verdict.ok() && HasInPlace(op)) {
    Verdict in_place = Prove(answer.expansion, true);
    in_place.proof += answer.verdict.proof;
    answer.verdict = std::move(in_place);
  }
  return answer;
}

Json ToJson(const ScheduleAnswer& answer) {
  const Algorithm& a = *answer.algorithm;
  const Expansion& e = answer.expansion;
  const Proof& proof = answer.verdict.proof;
  Json json = {{"operation", Name(a.op)},
               {"algorithm", a.name},
               {"idea", a.idea},
               {"cost", a.cost},
               {"picture", a.picture},
               {"text", answer.text},
               {"ranks", e.group_size},
               {"root", e.root},
               {"order", Name(e.order)},
               {"blocks", e.frames[0].blocks},
               {"owns", HasOwners(e.op) ? Json::array() : Json()},
               {"tmp_slots", e.frames[0].tmp_slots},
               {"acc_slots", e.frames[0].acc_slots},
               {"block_bytes", answer.block_bytes},
               {"convention", ConventionJson(answer)},
               {"proof",
                {{"proved", answer.verdict.ok()},
                 {"cases", proof.cases},
                 {"steps", proof.steps},
                 {"messages", proof.messages},
                 {"pairs", proof.pairs},
                 {"terms", proof.terms},
                 {"text", ProofText(answer)}}},
               {"start", Json::array()},
               {"cells", Json::array()},
               {"steps", Json::array()},
               {"total_bytes", answer.total_bytes},
               {"links_in_all", e.group_size * (e.group_size - 1)}};
  for (const Frame& frame : e.frames) {
    if (HasOwners(e.op)) json["owns"].push_back(frame.own);
    json["tmp_slots"] = std::max(json["tmp_slots"].get<std::int64_t>(), frame.tmp_slots);
    json["acc_slots"] = std::max(json["acc_slots"].get<std::int64_t>(), frame.acc_slots);
  }
  for (const ShownWrite& write : answer.start) json["start"].push_back(WriteJson(write));
  for (const ShownCell& cell : answer.cells) json["cells"].push_back(CellJson(cell));
  for (const ShownStep& step : answer.steps) json["steps"].push_back(StepJson(step));
  return json;
}

}  // namespace chorus::answer
