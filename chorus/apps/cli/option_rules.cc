#include "chorus/apps/cli/option_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorus::cli {
namespace {

template <typename Has>
Questions CollectivesThat(std::string name, Has has) {
  Questions questions{std::move(name), {}};
  for (const OpKind op : kAllOpKinds) {
    if (has(op)) questions.words.emplace_back(Name(op));
  }
  return questions;
}

bool Given(const CLI::App& command, const std::string& option) {
  return command.get_option(option)->count() > 0;
}

}  // namespace

bool Questions::Have(std::string_view word) const {
  return words.empty() || std::find(words.begin(), words.end(), word) != words.end();
}

Questions AnyQuestion() { return {"every question", {}}; }

Questions Collectives() {
  return CollectivesThat("collectives", [](OpKind) { return true; });
}
Questions SizedCollectives() {
  return CollectivesThat("collectives but barrier",
                         [](OpKind op) { return op != OpKind::kBarrier; });
}
Questions RootedCollectives() { return CollectivesThat("collectives with a root", HasRoot); }
Questions ReducingCollectives() { return CollectivesThat("collectives that reduce", Reduces); }

Questions With(Questions questions, const std::vector<std::string>& more) {
  for (const std::string& word : more) {
    questions.name += questions.name.empty() ? word : ", " + word;
    questions.words.push_back(word);
  }
  return questions;
}

void GroupOptions(CLI::App& command, const std::vector<OptionRule>& rules) {
  for (const OptionRule& rule : rules) {
    if (rule.of.words.empty()) continue;
    command.get_option(rule.option)->group("Options of " + rule.of.name);
  }
}

Status CheckNoneEmpty(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& given = option->results();
    if (std::find(given.begin(), given.end(), "") == given.end()) continue;
    return InvalidArgument(
        fmt::format("{} is empty; give a value, or leave it out", option->get_name()));
  }
  return OkStatus();
}

Status CheckOptions(const CLI::App& command, const std::vector<OptionRule>& rules,
                    const std::string& question) {
  CHORUS_RETURN_IF_ERROR(CheckNoneEmpty(command));
  for (const OptionRule& rule : rules) {
    if (!Given(command, rule.option)) continue;
    if (!rule.of.Have(question)) {
      return InvalidArgument(fmt::format("{} is not an option of {}; it goes with {}", rule.option,
                                         question, rule.of.name));
    }
    for (const std::string& other : rule.not_beside) {
      if (!Given(command, other)) continue;
      return InvalidArgument(
          fmt::format("{} and {} contradict each other; leave one out", rule.option, other));
    }
    if (!rule.needs.empty() && !Given(command, rule.needs)) {
      return InvalidArgument(
          fmt::format("{} says nothing without {}; give both", rule.option, rule.needs));
    }
  }
  return OkStatus();
}

}  // namespace chorus::cli
