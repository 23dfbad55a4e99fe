#include "chorus/run/lowered_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace chorus {
namespace {

std::string List(const std::vector<Chunk>& chunks) {
  std::vector<std::string> texts;
  texts.reserve(chunks.size());
  for (const Chunk& chunk : chunks) texts.push_back(chunk.ToString());
  return texts.empty() ? "signal" : fmt::format("{}", fmt::join(texts, ", "));
}

std::string List(const std::vector<Operand>& operands) {
  std::vector<std::string> texts;
  texts.reserve(operands.size());
  for (const Operand& operand : operands) {
    texts.push_back(operand.is_message
                        ? fmt::format("message {} from {}", operand.message, operand.peer)
                        : operand.chunk.ToString());
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::string Instruction::ToString() const {
  std::string text;
  switch (kind) {
    case Kind::kSend:
      text = fmt::format("send {} to {} as {}", List(chunks), peer, message);
      break;
    case Kind::kRecv:
      text = fmt::format("recv {} from {} as {}", List(chunks), peer, message);
      break;
    case Kind::kReduce:
      text = fmt::format("reduce {} = {}{}", dst().ToString(), List(operands),
                         finish ? "; finish" : "");
      break;
  }
  if (!after.empty()) text += fmt::format(" after {}", fmt::join(after, ", "));
  return text;
}

std::string LoweredPlan::ToString() const {
  std::string text = fmt::format("plan {} {} rank {} of {} root {} tiles {}\n", algorithm, Name(op),
                                 rank, group_size, root, frame.tiles);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    text += fmt::format("  {}: {}\n", i, instructions[i].ToString());
  }
  return text;
}

}  // namespace chorus
