#include "chorus/apps/studio/server/answer_cache.h"

namespace chorus::studio {

std::optional<std::string> AnswerCache::Find(const std::string& question) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(question);
  if (place == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, place->second);
  return entries_.front().second;
}

void AnswerCache::Keep(const std::string& question, const std::string& answer) {
  const std::size_t bytes = 2 * question.size() + answer.size();
  if (bytes > most_bytes_ / 4) return;
  const std::lock_guard lock(mutex_);
  if (places_.contains(question)) return;
  entries_.emplace_front(question, answer);
  places_[question] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    const Entry& last = entries_.back();
    bytes_ -= 2 * last.first.size() + last.second.size();
    places_.erase(last.first);
    entries_.pop_back();
  }
}

}  // namespace chorus::studio
