#include "chorus/apps/answer/primitive_answer.h"

#include <fmt/format.h>

#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/answer/operation_words.h"

namespace chorus::answer {
namespace {

constexpr std::int64_t kMostElements = 1'000'000'000;  // of one block

// One block a rank where blocks have owners or there is something to split; of a barrier none.
std::int64_t BlocksOf(OpKind op, std::int64_t ranks) {
  if (op == OpKind::kBarrier) return 0;
  return op == OpKind::kAllToAll ? ranks * ranks : ranks;
}

Status CheckCounts(const PrimitiveQuestion& q, OpKind op, std::int64_t blocks) {
  if (q.counts.empty()) return OkStatus();
  if (WordsOf(op).variant.empty()) {
    return InvalidArgument(
        fmt::format("--counts: {} has no variant with counts; leave them out", q.op));
  }
  if (static_cast<std::int64_t>(q.counts.size()) != blocks) {
    return InvalidArgument(fmt::format("--counts has {} numbers; {} over {} ranks takes {}",
                                       q.counts.size(), WordsOf(op).variant, q.ranks, blocks));
  }
  for (const std::int64_t count : q.counts) {
    if (count >= 0 && count <= kMostElements) continue;
    return InvalidArgument(
        fmt::format("--counts has {}; give 0 to {} elements a block", count, kMostElements));
  }
  return OkStatus();
}

std::string FormulaOf(const PrimitiveBlock& block) {
  if (block.of.first == block.of.last) return fmt::format("x{}[{}]", block.of.first, block.block);
  std::string text;
  for (std::int64_t rank = block.of.first; rank <= block.of.last; ++rank) {
    text += fmt::format("{}x{}[{}]", text.empty() ? "" : " + ", rank, block.block);
  }
  return text;
}

Json BlocksJson(const std::vector<std::vector<PrimitiveBlock>>& ranks) {
  Json json = Json::array();
  for (const std::vector<PrimitiveBlock>& blocks : ranks) {
    Json of_rank = Json::array();
    for (const PrimitiveBlock& block : blocks) {
      Json contributors = Json::array();
      for (std::int64_t r = block.of.first; r <= block.of.last; ++r) contributors.push_back(r);
      of_rank.push_back({{"block", block.block},
                         {"ranks", std::move(contributors)},
                         {"value", FormulaOf(block)}});
    }
    json.push_back(std::move(of_rank));
  }
  return json;
}

}  // namespace

Result<PrimitiveAnswer> Answer(const PrimitiveQuestion& question) {
  PrimitiveAnswer answer;
  CHORUS_ASSIGN_OR_RETURN(answer.op, OperationNamed(question.op));
  if (question.ranks < 1 || question.ranks > kMostPrimitiveRanks) {
    return InvalidArgument(fmt::format("--ranks {} is out of range; give 1 to {}", question.ranks,
                                       kMostPrimitiveRanks));
  }
  CHORUS_RETURN_IF_ERROR(CheckRoot(question.root, question.ranks));
  if (question.root != 0 && !HasRoot(answer.op)) {
    return InvalidArgument(fmt::format("--root: {} has no root; leave it out", question.op));
  }
  answer.ranks = question.ranks;
  answer.root = question.root;
  const std::int64_t blocks = BlocksOf(answer.op, answer.ranks);
  CHORUS_RETURN_IF_ERROR(CheckCounts(question, answer.op, blocks));
  answer.block_elements = question.counts;
  if (question.counts.empty()) answer.block_elements.assign(blocks, 1);
  answer.before.resize(answer.ranks);
  answer.after.resize(answer.ranks);
  for (std::int64_t rank = 0; rank < answer.ranks; ++rank) {
    const Member member{answer.op, answer.ranks, answer.root, rank, rank};
    for (std::int64_t b = 0; b < blocks; ++b) {
      if (InHolds(member, b)) answer.before[rank].push_back({b, {rank, rank}});
      if (OutHolds(member, b)) answer.after[rank].push_back({b, PromisedTo(member, b, b)});
    }
  }
  return answer;
}

Json ToJson(const PrimitiveAnswer& answer) {
  const OperationWords& words = WordsOf(answer.op);
  return {{"operation", Name(answer.op)},
          {"ranks", answer.ranks},
          {"root", answer.root},
          {"promise", words.promise},
          {"names", NamesJson(words)},
          {"blocks", answer.block_elements.size()},
          {"block_elements", answer.block_elements},
          {"before", BlocksJson(answer.before)},
          {"after", BlocksJson(answer.after)}};
}

}  // namespace chorus::answer
