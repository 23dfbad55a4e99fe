// AnswerCache: the last answers, so that a question that was asked before costs nothing.
//
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace chorus::studio {

class AnswerCache {
 public:
  // Keeps at most `most_bytes` of questions and answers together.
  explicit AnswerCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<std::string> Find(const std::string& question);
  // Drops those that were not found for the longest time. An answer of more than a quarter of all
  // is not kept.
  void Keep(const std::string& question, const std::string& answer);

 private:
  using Entry = std::pair<std::string, std::string>;

  const std::size_t most_bytes_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace chorus::studio
