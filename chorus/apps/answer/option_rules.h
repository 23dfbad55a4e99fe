// Which options of a command go with which of its questions, which contradict each other, and which
// say nothing alone: one table a command, from which its refusals and the heads of its --help come,
// and the refusals of the pages that ask the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/op_kind.h"
#include "chorus/base/status.h"

namespace chorus::answer {

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

// Errors: an option that was given and does not go with `question`, or not with another that was
// given, or not without another. `given` tells of an option ("--plot") whether it was.
Status CheckGiven(const std::vector<OptionRule>& rules,
                  const std::function<bool(const std::string&)>& given,
                  const std::string& question);

}  // namespace chorus::answer
