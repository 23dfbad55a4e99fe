// The text form of schedules: printing. parse.cc is its inverse.
#include <fmt/format.h>

#include "chorus/schedule/schedule.h"

namespace chorus {
namespace {

template <typename T>
std::string Join(const std::vector<T>& parts) {
  std::string text;
  for (const T& part : parts) {
    if (!text.empty()) text += ", ";
    text += part.ToString();
  }
  return text;
}

void Print(const Body& body, int indent, std::string& text) {
  const std::string margin(indent, ' ');
  for (const BodyNode& node : body) {
    if (const auto* step = std::get_if<StepFamily>(&node.value)) {
      text += margin + step->ToString() + "\n";
    } else if (const auto* let = std::get_if<Let>(&node.value)) {
      text += fmt::format("{}let {} = {}\n", margin, let->name, let->value.ToString());
    } else {
      const auto& loop = std::get<Loop>(node.value);
      text += fmt::format("{}for {} in {} .. {}\n", margin, loop.variable, loop.first.ToString(),
                          loop.last.ToString());
      Print(loop.body, indent + 2, text);
      text += margin + "end\n";
    }
  }
}

}  // namespace

std::string ChunkExpr::ToString() const {
  if (choice != nullptr) {
    // As Select prints: a condition that is itself a ?: needs parentheses.
    std::string condition = choice->condition.ToString();
    if (choice->condition.kind() == Expr::Kind::kSelect) condition = "(" + condition + ")";
    return fmt::format("({} ? {} : {})", condition, choice->then.ToString(),
                       choice->otherwise.ToString());
  }
  if (range != nullptr) {
    const std::string condition =
        range->condition == Expr(1) ? "" : " if " + range->condition.ToString();
    return fmt::format("for {} in {} .. {}{}: {}", range->variable, range->first.ToString(),
                       range->last.ToString(), condition, range->chunk.ToString());
  }
  const std::string_view prefix = scaled ? "scaled " : "";
  if (!IsScratch(buffer)) return fmt::format("{}{}[{}]", prefix, Name(buffer), block.ToString());
  return fmt::format("{}{}[{} : {}]", prefix, Name(buffer), slot.ToString(), block.ToString());
}

std::string LabelExpr::ToString() const {
  if (every) return name + "[*]";
  return index.empty() ? name : fmt::format("{}[{}]", name, Join(index));
}

std::string StepFamily::ToString() const {
  std::string text = label.ToString() + ": " + std::string(Name(verb)) + " ";
  switch (verb) {
    case Verb::kSend:
    case Verb::kRecv:
      text += chunks.empty() ? "signal" : Join(chunks);
      text += fmt::format(" {} {} as {}", verb == Verb::kSend ? "to" : "from", peer.ToString(),
                          message.ToString());
      break;
    case Verb::kReduce:
      text += fmt::format("{} = {} + {}", chunks[0].ToString(), chunks[1].ToString(),
                          chunks[2].ToString());
      break;
    case Verb::kCopy:
      text += fmt::format("{} = {}", chunks[0].ToString(), chunks[1].ToString());
      break;
  }
  if (finish) text += " finish";
  if (!after.empty()) text += " after " + Join(after);
  if (guard.has_value()) text += " if " + guard->ToString();
  return text;
}

std::string Schedule::ToString() const {
  const Definition& d = definition_;
  std::string text =
      fmt::format("schedule {} {}\n  blocks {}\n", d.name, chorus::Name(d.op), d.blocks.ToString());
  if (HasOwners(d.op)) text += fmt::format("  owns {}\n", d.owns.ToString());
  if (Reduces(d.op)) text += fmt::format("  order {}\n", chorus::Name(d.order));
  if (d.tmp_slots != Expr(0)) text += fmt::format("  tmp {}\n", d.tmp_slots.ToString());
  if (d.acc_slots != Expr(0)) text += fmt::format("  acc {}\n", d.acc_slots.ToString());
  if (d.tiles != 1) text += fmt::format("  tiles {}\n", d.tiles);
  text += "begin\n";
  Print(d.body, 2, text);
  return text + "end\n";
}

}  // namespace chorus
