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

void RefuseEmptyValues(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    command->parse_complete_callback([command] {
      for (const CLI::Option* option : command->get_options()) {
        const std::vector<std::string>& given = option->results();
        if (std::find(given.begin(), given.end(), "") == given.end()) continue;
        throw EmptyValue(fmt::format("{} is empty; give a value{}", option->get_name(),
                                     option->get_required() ? "" : ", or leave it out"));
      }
    });
  }
}

Status CheckOptions(const CLI::App& command, const std::vector<answer::OptionRule>& rules,
                    const std::string& question) {
  const auto given = [&command](const std::string& option) {
    return command.get_option(option)->count() > 0;
  };
  return answer::CheckGiven(rules, given, question);
}

}  // namespace chorus::cli
