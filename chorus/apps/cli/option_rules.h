// The table of option rules (answer/option_rules.h) on a command line of CLI11.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "chorus/apps/answer/option_rules.h"
#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Puts every option that has a rule under a head of --help that says what it goes with.
// REQUIRES: the command has all options of the rules.
void GroupOptions(CLI::App& command, const std::vector<answer::OptionRule>& rules);

// What CLI11 is told of a value that is empty.
class EmptyValue : public CLI::ParseError {
 public:
  explicit EmptyValue(std::string message)
      : CLI::ParseError("EmptyValue", std::move(message), CLI::ExitCodes::InvalidError) {}
};

// Makes every command of `app` refuse, before it does anything (EmptyValue), an option or a word
// that was given with nothing in it, as --plot ''. A shell variable that was not set is no wish.
// REQUIRES: `app` has all its commands.
void RefuseEmptyValues(CLI::App& app);

// Errors: an option that was given and does not go with `question`, or not with
// another that was given, or not without another. REQUIRES: the command line is parsed, the
// question is one of the command.
Status CheckOptions(const CLI::App& command, const std::vector<answer::OptionRule>& rules,
                    const std::string& question);

}  // namespace chorus::cli
