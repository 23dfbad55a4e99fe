#include "chorus/schedule/step.h"

#include <fmt/format.h>

namespace chorus {
namespace {

std::string MessageToString(const std::vector<Chunk>& chunks) {
  if (chunks.empty()) return "signal";
  std::string text;
  for (const Chunk& chunk : chunks) {
    if (!text.empty()) text += ", ";
    text += chunk.ToString();
  }
  return text;
}

}  // namespace

std::string_view Name(BufferKind buffer) {
  switch (buffer) {
    case BufferKind::kIn:
      return "in";
    case BufferKind::kOut:
      return "out";
    case BufferKind::kTmp:
      return "tmp";
    case BufferKind::kAcc:
      return "acc";
  }
  return "?";
}

std::string_view Name(Verb verb) {
  switch (verb) {
    case Verb::kSend:
      return "send";
    case Verb::kRecv:
      return "recv";
    case Verb::kReduce:
      return "reduce";
    case Verb::kCopy:
      return "copy";
  }
  return "?";
}

std::string Chunk::ToString() const {
  const std::string_view prefix = scaled ? "scaled " : "";
  if (!IsScratch(buffer)) return fmt::format("{}{}[{}]", prefix, Name(buffer), block);
  return fmt::format("{}{}[{} : {}]", prefix, Name(buffer), slot, block);
}

std::string Step::ToString() const {
  const std::string_view finished = finish ? " finish" : "";
  switch (verb) {
    case Verb::kSend:
      return fmt::format("{}: send {} to {} as {}", label, MessageToString(chunks), peer, message);
    case Verb::kRecv:
      return fmt::format("{}: recv {} from {} as {}", label, MessageToString(chunks), peer,
                         message);
    case Verb::kReduce:
      return fmt::format("{}: reduce {} = {} + {}{}", label, dst().ToString(), a().ToString(),
                         b().ToString(), finished);
    case Verb::kCopy:
      return fmt::format("{}: copy {} = {}{}", label, dst().ToString(), a().ToString(), finished);
  }
  return label;
}

}  // namespace chorus
