#include "chorus/apps/answer/option_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace chorus::answer {
namespace {

template <typename Has>
Questions CollectivesThat(std::string name, Has has) {
  Questions questions{std::move(name), {}};
  for (const OpKind op : kAllOpKinds) {
    if (has(op)) questions.words.emplace_back(Name(op));
  }
  return questions;
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

Status CheckGiven(const std::vector<OptionRule>& rules,
                  const std::function<bool(const std::string&)>& given,
                  const std::string& question) {
  for (const OptionRule& rule : rules) {
    if (!given(rule.option)) continue;
    if (!rule.of.Have(question)) {
      return InvalidArgument(fmt::format("{} is not an option of {}; it goes with {}", rule.option,
                                         question, rule.of.name));
    }
    for (const std::string& other : rule.not_beside) {
      if (!given(other)) continue;
      return InvalidArgument(
          fmt::format("{} and {} contradict each other; leave one out", rule.option, other));
    }
    if (!rule.needs.empty() && !given(rule.needs)) {
      return InvalidArgument(
          fmt::format("{} says nothing without {}; give both", rule.option, rule.needs));
    }
  }
  return OkStatus();
}

}  // namespace chorus::answer
