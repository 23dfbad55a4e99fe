// Text: what a language model is trained on, as numbers.
//
//   bytes of the text:   I n   t h e   b e g i n n i n g ...
//   vocabulary:          the bytes that occur, ascending; a token is a position in it
//   |<------------------- training ------------------->|<- held out ->|
//
// Thread safety: Text is an immutable value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/collective/group.h"

namespace chorus {

// Name of the text that Debian's bible-kjv prints: one verse a line, without its reference.
inline constexpr std::string_view kBibleSource = "bible-kjv";

// The whole text of `source`: kBibleSource, or a path to a file.
// Errors: kNotFound; the message says what to install, or which file is not there.
Result<std::string> ReadTextSource(const std::string& source);

// ReadTextSource on rank 0, handed to all: one process reads, and all have the same bytes. A
// collective call. Errors: those of ReadTextSource on rank 0; on the others, that rank 0 failed.
Result<std::string> ReadTextForAll(const std::string& source, Group& world);

class Text {
 public:
  // Errors: held_out_fraction outside (0, 0.5]; no more than `window` characters in either part.
  static Result<Text> Create(std::string_view text, double held_out_fraction, std::int64_t window);

  // Bytes that occur, ascending.
  const std::string& vocabulary() const { return vocabulary_; }
  std::int64_t vocabulary_size() const { return static_cast<std::int64_t>(vocabulary_.size()); }
  // All tokens; the first training_size() are for training, the rest are held out.
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  std::int64_t training_size() const { return training_size_; }

  // The tokens of `words`. Errors: a byte that the text does not have, named.
  Result<std::vector<std::int32_t>> Encode(std::string_view words) const;

 private:
  Text() = default;

  // -1 if the text has no such byte.
  std::int32_t TokenOf(char byte) const;

  std::string vocabulary_;
  std::vector<std::int32_t> tokens_;
  std::int64_t training_size_ = 0;
};

}  // namespace chorus
