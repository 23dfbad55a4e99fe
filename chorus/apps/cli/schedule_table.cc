#include "chorus/apps/cli/schedule_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "chorus/schedule/rounds.h"

namespace chorus::cli {
namespace {

// "in[3], acc[1..4]": slots left out, they say nothing about what travels; neighbours together.
std::string Payload(const Step& step) {
  if (step.chunks.empty()) return "signal";
  std::string text;
  for (std::size_t i = 0; i < step.chunks.size();) {
    const Chunk& first = step.chunks[i];
    std::int64_t last = first.block;
    for (++i; i < step.chunks.size() && step.chunks[i].buffer == first.buffer &&
              step.chunks[i].block == last + 1;
         ++i) {
      ++last;
    }
    text += text.empty() ? "" : ", ";
    text += last == first.block ? fmt::format("{}[{}]", Name(first.buffer), last)
                                : fmt::format("{}[{}..{}]", Name(first.buffer), first.block, last);
  }
  return text;
}

// cells[round - 1][rank]: what the rank sends in that round.
using Cells = std::vector<std::vector<std::vector<std::string>>>;

std::string Columns(const Cells& cells, std::size_t column) {
  std::string text = "round";
  for (std::size_t rank = 0; rank < cells.front().size(); ++rank) {
    text += fmt::format("  {:<{}}", fmt::format("rank {} sends", rank), column);
  }
  text += "\n";
  for (std::size_t round = 0; round < cells.size(); ++round) {
    std::size_t lines = 0;
    for (const auto& cell : cells[round]) lines = std::max(lines, cell.size());
    for (std::size_t line = 0; line < lines; ++line) {
      text += line == 0 ? fmt::format("{:>5}", round + 1) : std::string(5, ' ');
      for (const auto& cell : cells[round]) {
        text += fmt::format("  {:<{}}", line < cell.size() ? cell[line] : "", column);
      }
      text += "\n";
    }
  }
  return text;
}

// What one rank sends in one round; one payload to many peers as "in[0] -> 1, 2, 3".
std::vector<std::string> Merged(const std::vector<std::string>& cells) {
  std::vector<std::string> groups;
  std::string payload;
  for (const std::string& cell : cells) {
    const std::size_t arrow = cell.find(" -> ");
    if (!groups.empty() && cell.substr(0, arrow) == payload) {
      groups.back() += ", " + cell.substr(arrow + 4);
    } else {
      groups.push_back(cell);
      payload = cell.substr(0, arrow);
    }
  }
  return groups;
}

// One message after the other, as many a line as fit.
std::string List(const Cells& cells, std::size_t width) {
  std::string text;
  for (std::size_t round = 0; round < cells.size(); ++round) {
    const std::string margin = fmt::format("round {}:", round + 1);
    std::string line = margin;
    for (std::size_t rank = 0; rank < cells[round].size(); ++rank) {
      for (const std::string& group : Merged(cells[round][rank])) {
        const std::string item = fmt::format("  {}: {}", rank, group);
        if (line.size() + item.size() > width && line.size() > margin.size()) {
          text += line + "\n";
          line = std::string(margin.size(), ' ');
        }
        line += item;
      }
    }
    text += line + "\n";
  }
  return text;
}

std::string WithoutTrailingBlanks(const std::string& text) {
  std::string trimmed;
  for (char c : text) {
    while (c == '\n' && !trimmed.empty() && trimmed.back() == ' ') trimmed.pop_back();
    trimmed += c;
  }
  return trimmed;
}

}  // namespace

Result<std::string> MessageTable(const Expansion& expansion, std::size_t width) {
  CHORUS_ASSIGN_OR_RETURN(const auto rounds, Rounds(expansion));
  Cells cells;
  std::size_t column = std::string_view("rank 0 sends").size();
  for (std::int64_t rank = 0; rank < expansion.group_size; ++rank) {
    for (std::size_t i = 0; i < expansion.ranks[rank].size(); ++i) {
      const Step& step = expansion.ranks[rank][i];
      if (step.verb != Verb::kSend) continue;
      const std::int64_t round = rounds[rank][i];
      if (std::ssize(cells) < round) cells.resize(round);
      std::string cell = fmt::format("{} -> {}", Payload(step), step.peer);
      column = std::max(column, cell.size());
      cells[round - 1].resize(expansion.group_size);
      cells[round - 1][rank].push_back(std::move(cell));
    }
  }
  if (cells.empty()) return std::string("no messages\n");
  const std::size_t needed = 5 + static_cast<std::size_t>(expansion.group_size) * (column + 2);
  return WithoutTrailingBlanks(needed <= width ? Columns(cells, column) : List(cells, width));
}

std::string StepTable(const std::vector<Step>& steps) {
  std::vector<std::string> texts;
  std::size_t column = 0;
  for (const Step& step : steps) {
    texts.push_back(step.ToString());
    column = std::max(column, texts.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::string after;
    for (std::int64_t before : steps[i].after) {
      after += fmt::format("{}{}", after.empty() ? "after " : ", ", steps[before].label);
    }
    text += fmt::format("{:>4}  {:<{}}  {}\n", i, texts[i], column, after);
  }
  return WithoutTrailingBlanks(text);
}

std::string SentSummary(const std::vector<Step>& steps) {
  std::int64_t messages = 0, elements = 0, accumulators = 0;
  for (const Step& step : steps) {
    if (step.verb != Verb::kSend) continue;
    ++messages;
    for (const Chunk& chunk : step.chunks) {
      ++(HoldsAccumulators(chunk.buffer) ? accumulators : elements);
    }
  }
  std::string text = fmt::format("{} message{}", messages, messages == 1 ? "" : "s");
  if (elements > 0)
    text += fmt::format(", {} block{} of elements", elements, elements == 1 ? "" : "s");
  if (accumulators > 0) {
    text += fmt::format(", {} block{} of partial sums", accumulators, accumulators == 1 ? "" : "s");
  }
  return text;
}

}  // namespace chorus::cli
