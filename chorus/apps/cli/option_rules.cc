#include "chorus/apps/cli/option_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorus::cli {

void GroupOptions(CLI::App& command, const std::vector<answer::OptionRule>& rules) {
  for (const answer::OptionRule& rule : rules) {
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

Status CheckOptions(const CLI::App& command, const std::vector<answer::OptionRule>& rules,
                    const std::string& question) {
  CHORUS_RETURN_IF_ERROR(CheckNoneEmpty(command));
  const auto given = [&command](const std::string& option) {
    return command.get_option(option)->count() > 0;
  };
  return answer::CheckGiven(rules, given, question);
}

}  // namespace chorus::cli
