// Which options of a command go with which of its questions, which contradict each other, and which
// say nothing alone: one table a command, from which its refusals and the heads of its --help come.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chorus/apps/cli/command.h"
#include "chorus/base/op_kind.h"

namespace chorus::cli {

// Questions that take the same options: the words on the command line, and how to speak of them.
struct Questions {
  std::string name;                // "collectives with a root"
  std::vector<std::string> words;  // "broadcast", "reduce", ...; empty: whatever is asked

  bool Have(std::string_view word) const;
};

Questions AnyQuestion();
Questions Collectives();
Questions SizedCollectives();     // all that move bytes: not barrier
Questions RootedCollectives();    // broadcast, reduce, gather, scatter
Questions ReducingCollectives();  // all_reduce, ..., scan
// Both, and `more` words.
Questions With(Questions questions, const std::vector<std::string>& more);

struct OptionRule {
  std::string option;  // "--plot"
  Questions of;
  std::vector<std::string> not_beside = {};  // options that contradict it
  std::string needs = {};                    // the option that it says nothing without
};

// Puts every option that has a rule under a head of --help that says what it goes with.
// REQUIRES: the command has all options of the rules.
void GroupOptions(CLI::App& command, const std::vector<OptionRule>& rules);

// Errors: an option that was given with nothing in it, as --plot ''. A shell variable that was not
// set is no wish. REQUIRES: the command line is parsed.
Status CheckNoneEmpty(const CLI::App& command);

// Errors: as CheckNoneEmpty; an option that was given and does not go with `question`, or not with
// another that was given, or not without another. REQUIRES: the command line is parsed, the
// question is one of the command.
Status CheckOptions(const CLI::App& command, const std::vector<OptionRule>& rules,
                    const std::string& question);

}  // namespace chorus::cli
