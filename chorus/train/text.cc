#include "chorus/train/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "chorus/probe/read_file.h"

namespace chorus {
namespace {

constexpr std::string_view kInstallBible =
    "the King James Bible is not installed; type: apt-get install bible-kjv bible-kjv-text (or "
    "name a text file in [data] source)";

// Each line is "Ge1:1 In the beginning ...": the reference goes, the verse stays.
std::string WithoutReferences(std::string_view lines) {
  std::string out;
  out.reserve(lines.size());
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1);
    std::string_view line = lines.substr(0, end + 1);
    lines.remove_prefix(end + 1);
    const std::size_t blank = line.find(' ');
    if (blank != std::string_view::npos) line.remove_prefix(blank + 1);
    out += line;
  }
  return out;
}

Result<std::string> ReadBible() {
  // -f: plain lines, one verse each, after its reference.
  struct Close {
    void operator()(std::FILE* file) const { pclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> pipe(popen("bible -f gen1:1-rev22:21 2>/dev/null", "r"));
  if (pipe == nullptr) return NotFound(std::string(kInstallBible));
  std::string lines;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    lines.append(buffer.data(), n);
  }
  // Without its data package the program prints nothing, or a complaint.
  if (lines.rfind("Ge1:1 ", 0) != 0) return NotFound(std::string(kInstallBible));
  return WithoutReferences(lines);
}

}  // namespace

Result<std::string> ReadTextSource(const std::string& source) {
  if (source == kBibleSource) return ReadBible();
  return ReadFile(source, "text file",
                  fmt::format("[data] source is a path to a text file, or \"{}\"", kBibleSource));
}

Result<std::string> ReadTextForAll(const std::string& source, Group& world) {
  Result<std::string> text = std::string();
  std::vector<std::int64_t> size = {0};  // -1: rank 0 could not read it
  if (world.rank() == 0) {
    text = ReadTextSource(source);
    size[0] = text.ok() ? static_cast<std::int64_t>(text->size()) : -1;
  }
  CHORUS_RETURN_IF_ERROR(world.Broadcast(size, 0));
  if (!text.ok()) return text;
  if (size[0] < 0) return NotFound("rank 0 could not read the text; its message says why");
  text->resize(static_cast<std::size_t>(size[0]));
  CHORUS_RETURN_IF_ERROR(world.Broadcast({text->data(), size[0], DType::kU8}, 0));
  return text;
}

Result<Text> Text::Create(std::string_view text, double held_out_fraction, std::int64_t window) {
  if (!(held_out_fraction > 0 && held_out_fraction <= 0.5)) {
    return InvalidArgument(
        fmt::format("held-out fraction {} must be more than 0 and at most 0.5", held_out_fraction));
  }
  Text out;
  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  std::array<std::int32_t, 256> token_of{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    if (!occurs[byte]) continue;
    token_of[byte] = static_cast<std::int32_t>(out.vocabulary_.size());
    out.vocabulary_ += static_cast<char>(byte);
  }
  out.tokens_.reserve(text.size());
  for (const char c : text) out.tokens_.push_back(token_of[static_cast<unsigned char>(c)]);

  const auto held_out =
      static_cast<std::int64_t>(held_out_fraction * static_cast<double>(out.size()));
  out.training_size_ = out.size() - held_out;
  if (held_out <= window || out.training_size_ <= window) {
    return InvalidArgument(fmt::format(
        "a text of {} characters, {} of them held out, is too short for a window of {}; each part "
        "needs more than {}",
        out.size(), held_out, window, window));
  }
  return out;
}

Result<std::vector<std::int32_t>> Text::Encode(std::string_view words) const {
  std::vector<std::int32_t> tokens;
  for (const char c : words) {
    tokens.push_back(TokenOf(c));
    if (tokens.back() < 0) {
      return InvalidArgument(
          fmt::format("\"{}\" has the byte {} ('{}'), which the text does not have", words,
                      static_cast<int>(static_cast<unsigned char>(c)), c));
    }
  }
  return tokens;
}

std::int32_t Text::TokenOf(char byte) const {
  const auto at = std::lower_bound(
      vocabulary_.begin(), vocabulary_.end(), byte,
      [](char a, char b) { return static_cast<unsigned char>(a) < static_cast<unsigned char>(b); });
  if (at == vocabulary_.end() || *at != byte) return -1;
  return static_cast<std::int32_t>(at - vocabulary_.begin());
}

}  // namespace chorus
