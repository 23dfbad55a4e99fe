#include "chorus/cost/simulate/waiting.h"

#include <algorithm>

namespace chorus {
namespace {

// A proof that takes more looks than this is given up: simulating each rank may be quicker.
constexpr std::int64_t kMostVisits = 100'000'000;

std::size_t Mix(std::size_t seed, std::int64_t value) {
  return (seed ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15U + (seed >> 29U);
}

}  // namespace

std::size_t Waiting::LabelHash::operator()(const Label& label) const {
  std::size_t seed = label.size();
  for (std::int32_t number : label) seed = Mix(seed, number);
  return seed;
}

std::size_t Waiting::MotionHash::operator()(const Motion& motion) const {
  std::size_t seed = Mix(static_cast<std::size_t>(motion.kind), motion.a);
  seed = Mix(seed, motion.b);
  return Mix(Mix(seed, motion.modulus), motion.offset);
}

std::int32_t Waiting::NumberOf(std::string_view name) {
  const auto next = static_cast<std::int32_t>(families_.size());
  const auto [found, is_new] = names_.emplace(name, next);
  if (is_new) families_.emplace_back();
  return found->second;
}

std::int32_t Waiting::LabelOf(std::string_view name, std::span<const Motion> index) {
  Label label = {NumberOf(name)};
  for (const Motion& motion : index) {
    const auto next = static_cast<std::int32_t>(motions_.size());
    const auto [found, is_new] = motion_numbers_.emplace(motion, next);
    if (is_new) motions_.push_back(motion);
    label.push_back(found->second);
  }
  const auto next = static_cast<std::int32_t>(labels_.size());
  const auto [found, is_new] = label_numbers_.emplace(std::move(label), next);
  if (is_new) {
    labels_.push_back(&found->first);
    step_of_label_.push_back(-1);
  }
  return found->second;
}

void Waiting::Add(std::string_view name, std::span<const Motion> index, bool is_message) {
  const auto number = static_cast<std::int32_t>(steps_.size());
  const auto reference = static_cast<std::int32_t>(references_.size());
  const std::int32_t label = LabelOf(name, index);
  steps_.push_back({label, reference, reference, is_message});
  step_of_label_[label] = number;
  families_[labels_[label]->front()].push_back(number);
}

void Waiting::WaitsFor(std::string_view name, std::span<const Motion> index) {
  references_.push_back({LabelOf(name, index), 0, 0});
  ++steps_.back().end;
}

void Waiting::WaitsForEvery(std::string_view name) {
  const std::int32_t family = NumberOf(name);
  auto count = static_cast<std::int32_t>(families_[family].size());
  if (labels_[steps_.back().label]->front() == family) --count;  // not for itself
  references_.push_back({-1, family, count});
  ++steps_.back().end;
}

bool Waiting::IsAlike(const OrbitFormulas& formulas, bool local_takes_time) {
  formulas_ = &formulas;
  ListForms();
  is_visited_.assign(steps_.size(), 0);
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    if (!step.is_message && !local_takes_time) return true;
    for (std::int32_t i = step.begin; i < step.end; ++i) {
      const Reference& reference = references_[i];
      const bool clear = reference.label < 0 || Find(reference.label) != Found::kUnclear;
      if (clear && local_takes_time) continue;
      if (local_takes_time || !IsProved(reference)) return false;
    }
    return true;
  });
}

bool Waiting::HaveOneForm(const Label& x, const Label& y) const {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const Motion& a = IndexOf(x, i);
    const Motion& b = IndexOf(y, i);
    if (a.kind != b.kind || a.a != b.a || a.modulus != b.modulus || a.offset != b.offset) {
      return false;
    }
  }
  return true;
}

void Waiting::ListForms() {
  forms_.assign(families_.size(), {});
  for (std::size_t family = 0; family < families_.size(); ++family) {
    for (std::int32_t step : families_[family]) {
      const Label& label = *labels_[steps_[step].label];
      auto form = std::find_if(forms_[family].begin(), forms_[family].end(), [&](const Form& f) {
        return HaveOneForm(*labels_[f.label], label);
      });
      if (form == forms_[family].end()) {
        form = forms_[family].insert(form, {steps_[step].label, {}});
      }
      form->spans.resize(label.size() - 1, {INT64_MAX, INT64_MIN, 1});
      for (std::size_t i = 0; i + 1 < label.size(); ++i) {
        const OrbitFormulas::Span span = formulas_->Range(IndexOf(label, i));
        form->spans[i].low = std::min(form->spans[i].low, span.low);
        form->spans[i].high = std::max(form->spans[i].high, span.high);
      }
    }
  }
}

// The same step for all q, none for all q, or neither.
Waiting::Found Waiting::Find(std::int32_t label) const {
  if (step_of_label_[label] >= 0) return Found::kStep;
  const Label& wanted = *labels_[label];
  // Labels of one form that are not equal are so for no q; nor are those of other ranges.
  const std::vector<Form>& forms = forms_[wanted[0]];
  const bool none = std::all_of(forms.begin(), forms.end(), [&](const Form& form) {
    if (form.spans.size() + 1 != wanted.size() || HaveOneForm(*labels_[form.label], wanted)) {
      return true;
    }
    for (std::size_t i = 0; i < form.spans.size(); ++i) {
      const OrbitFormulas::Span span = formulas_->Range(IndexOf(wanted, i));
      if (span.high < form.spans[i].low || form.spans[i].high < span.low) return true;
    }
    return false;
  });
  return none ? Found::kNone : Found::kUnclear;
}

bool Waiting::IsProved(const Reference& reference) {
  const auto known = proved_.find(reference);
  if (known != proved_.end()) return known->second;
  Closure closure;
  const bool proved = Gather(reference, closure);
  proved_.emplace(reference, proved);
  return proved;
}

bool Waiting::Gather(const Reference& reference, Closure& closure) {
  const std::vector<std::int32_t> outer_visited = std::move(visited_);
  const std::vector<std::int32_t> outer_pending = std::move(pending_);
  visited_.clear();
  pending_.clear();
  bool proved = Visit(reference, closure);
  while (proved && !pending_.empty()) {
    const Step step = steps_[pending_.back()];
    pending_.pop_back();
    for (std::int32_t i = step.begin; i < step.end && proved; ++i) {
      proved = Visit(references_[i], closure);
    }
  }
  for (std::int32_t step : visited_) is_visited_[step] = 0;
  visited_ = outer_visited;
  pending_ = outer_pending;
  for (std::int32_t step : visited_) is_visited_[step] = 1;
  return proved && CompletesNumbered(closure);
}

bool Waiting::Visit(const Reference& reference, Closure& closure) {
  if (++visits_ > kMostVisits) return false;
  if (reference.label < 0) {
    for (std::int32_t i = 0; i < reference.count; ++i) {
      if (!VisitStep(families_[reference.family][i], closure)) return false;
    }
    return true;
  }
  switch (Find(reference.label)) {
    case Found::kStep:
      return VisitStep(step_of_label_[reference.label], closure);
    case Found::kNone:
      return true;
    default:
      return VisitUnclear(reference.label, closure);
  }
}

bool Waiting::VisitStep(std::int32_t step, Closure& closure) {
  if (++visits_ > kMostVisits) return false;
  if (steps_[step].is_message) {
    closure.messages.insert(step);
  } else if (is_visited_[step] == 0) {
    is_visited_[step] = 1;
    visited_.push_back(step);
    pending_.push_back(step);
  }
  return true;
}

bool Waiting::VisitUnclear(std::int32_t label, Closure& closure) {
  const Label& wanted = *labels_[label];
  const std::vector<std::int32_t>& family = families_[wanted[0]];
  if (!steps_[family.front()].is_message) {
    const std::optional<std::int32_t> step = OneOfAlike(label);
    return step.has_value() && VisitStep(*step, closure);
  }
  if (wanted.size() != 2 || !IndexOf(wanted, 0).IsConstant()) return false;
  closure.numbered[wanted[0]].insert(IndexOf(wanted, 0).constant());
  return true;
}

// The index that moves names local steps which all wait for the same: one stands for all.
std::optional<std::int32_t> Waiting::OneOfAlike(std::int32_t label) {
  Label wanted = *labels_[label];
  const Label& listed = *labels_[steps_[families_[wanted[0]].front()].label];
  if (listed.size() != wanted.size()) return std::nullopt;
  std::size_t moving = wanted.size();
  for (std::size_t i = 0; i + 1 < wanted.size(); ++i) {
    if (HaveOneForm({0, wanted[i + 1]}, {0, listed[i + 1]})) continue;
    if (moving != wanted.size() || !IndexOf(listed, i).IsConstant()) return std::nullopt;
    moving = i + 1;
  }
  if (moving == wanted.size()) return std::nullopt;
  const OrbitFormulas::Span span = formulas_->Range(motions_[wanted[moving]]);
  wanted[moving] = -1;
  std::vector<std::int64_t> key(wanted.begin(), wanted.end());
  key.insert(key.end(), {span.low, span.high, span.grid});
  if (const auto known = alike_.find(key); known != alike_.end()) return known->second;
  std::optional<std::int32_t>& one = alike_[key];  // none while it is worked out
  std::optional<std::int32_t> first;
  Closure first_closure;
  for (std::int64_t value = span.low; value <= span.high; value += span.grid) {
    const auto motion = motion_numbers_.find(formulas_->Of(Expr(value)));
    if (motion == motion_numbers_.end()) return std::nullopt;
    wanted[moving] = motion->second;
    const auto found = label_numbers_.find(wanted);
    if (found == label_numbers_.end()) return std::nullopt;
    const std::int32_t step = step_of_label_[found->second];
    Closure closure;
    if (step < 0 || steps_[step].is_message || !Gather({found->second, 0, 0}, closure)) {
      return std::nullopt;
    }
    if (!first.has_value()) {
      first = step;
      first_closure = std::move(closure);
    } else if (closure.messages != first_closure.messages) {
      return std::nullopt;
    }
  }
  return one = first;
}

// All messages of a name, whichever is which, are the same for all q.
bool Waiting::CompletesNumbered(Closure& closure) const {
  for (const auto& [family, numbers] : closure.numbered) {
    closure.messages.insert(families_[family].begin(), families_[family].end());
    if (forms_[family].size() != 1 || forms_[family][0].spans.size() != 1) return false;
    const auto [low, high, grid] = forms_[family][0].spans[0];
    // Numbers are a sorted set: as many as there are between two of them are all.
    const auto first = numbers.lower_bound(low), last = numbers.upper_bound(high);
    if (std::distance(first, last) != high - low + 1) return false;
  }
  closure.numbered.clear();
  return true;
}

}  // namespace chorus
