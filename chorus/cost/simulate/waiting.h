// Waiting: what the steps of one orbit wait for, proved to be the same for all of its ranks.
//
// A step y[(q - 1) mod 4] that waits for v[(q - 1) mod 4] does so for all q. One that waits for
// v[3] does so as well, but v[3] is another step for each q. That is no matter if the step is local
// and takes no time, and if what waits for it waits for all of v in the end; or if v[3] is one of
// several local steps which all wait for the same. Thread safety: none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chorus/cost/simulate/motion.h"

namespace chorus {

class Waiting {
 public:
  // Lists a step. Its indices are kLinear or kCyclic.
  void Add(std::string_view name, std::span<const Motion> index, bool is_message);
  // The step listed last waits for that one, if there is such a one; for all of the name before it.
  void WaitsFor(std::string_view name, std::span<const Motion> index);
  void WaitsForEvery(std::string_view name);

  // With `local_takes_time` every step must wait for the same, else only messages.
  bool IsAlike(const OrbitFormulas& formulas, bool local_takes_time);

 private:
  using Label = std::vector<std::int32_t>;  // number of the name, numbers of the indices
  struct LabelHash {
    std::size_t operator()(const Label& label) const;
  };
  struct MotionHash {
    std::size_t operator()(const Motion& motion) const;
  };
  struct Reference {
    std::int32_t label = -1;             // into labels_; -1: every
    std::int32_t family = 0, count = 0;  // every: so many steps of the family
    friend auto operator<=>(const Reference&, const Reference&) = default;
  };
  struct Step {
    std::int32_t label = 0;
    std::int32_t begin = 0, end = 0;  // into references_
    bool is_message = false;
  };
  // The messages that a step waits for in the end.
  struct Closure {
    std::set<std::int32_t> messages;                          // steps
    std::map<std::int32_t, std::set<std::int64_t>> numbered;  // by family: v[3], another for each q
  };
  // Labels of a family whose indices differ in b only, and the range of each index over all of
  // them.
  struct Form {
    std::int32_t label = 0;  // one of them
    std::vector<OrbitFormulas::Span> spans;
  };
  enum class Found : std::uint8_t { kStep, kNone, kUnclear };

  std::int32_t NumberOf(std::string_view name);
  std::int32_t LabelOf(std::string_view name, std::span<const Motion> index);
  const Motion& IndexOf(const Label& label, std::size_t i) const { return motions_[label[i + 1]]; }

  void ListForms();
  bool HaveOneForm(const Label& x, const Label& y) const;
  Found Find(std::int32_t label) const;
  bool IsProved(const Reference& reference);
  bool Gather(const Reference& reference, Closure& closure);
  bool Visit(const Reference& reference, Closure& closure);
  bool VisitStep(std::int32_t step, Closure& closure);
  bool VisitUnclear(std::int32_t label, Closure& closure);
  std::optional<std::int32_t> OneOfAlike(std::int32_t label);
  bool CompletesNumbered(Closure& closure) const;

  std::unordered_map<std::string, std::int32_t> names_;
  std::vector<std::vector<std::int32_t>> families_;  // steps by name
  std::unordered_map<Motion, std::int32_t, MotionHash> motion_numbers_;
  std::vector<Motion> motions_;
  std::unordered_map<Label, std::int32_t, LabelHash> label_numbers_;
  std::vector<const Label*> labels_;
  std::vector<std::int32_t> step_of_label_;  // -1: none
  std::vector<Step> steps_;
  std::vector<Reference> references_;

  const OrbitFormulas* formulas_ = nullptr;
  std::vector<std::vector<Form>> forms_;  // by family
  std::map<Reference, bool> proved_;
  std::map<std::vector<std::int64_t>, std::optional<std::int32_t>> alike_;
  std::vector<std::int32_t> visited_, pending_;  // local steps of one Gather
  std::vector<char> is_visited_;
  std::int64_t visits_ = 0;
};

}  // namespace chorus
