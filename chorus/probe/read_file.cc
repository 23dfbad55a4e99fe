#include "chorus/probe/read_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace chorus {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::string_view what,
                             std::string_view right) {
  const auto cannot = [&](int error) {
    return NotFound(fmt::format("{} '{}' cannot be read ({}); {}", what, path,
                                std::generic_category().message(error), right));
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return cannot(errno);
  std::string bytes;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    bytes.append(buffer.data(), n);
  }
  // A directory opens like a file and fails only here.
  if (std::ferror(file.get()) != 0) return cannot(errno);
  return bytes;
}

}  // namespace chorus
