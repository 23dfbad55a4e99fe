#include "chorus/probe/write_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace chorus {
namespace {

// 0, or why not.
int WriteAll(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return errno;
  int error = 0;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size()) error = errno;
  if (std::fflush(file) != 0 && error == 0) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

int WriteWhole(const std::string& path, std::string_view text) {
  std::error_code unknown;
  const std::filesystem::file_status there = std::filesystem::status(path, unknown);
  if (std::filesystem::is_directory(there)) return EISDIR;
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    return WriteAll(path, text);
  }
  if (std::filesystem::exists(there) && access(path.c_str(), W_OK) != 0) return errno;
  // Where a link points, so that the link stays one.
  std::filesystem::path target = std::filesystem::weakly_canonical(path, unknown);
  if (unknown || path.ends_with('/')) target = path;
  const std::string beside = fmt::format("{}.part-{}", target.string(), getpid());
  int error = WriteAll(beside, text);
  if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error != 0) std::remove(beside.c_str());
  // A file in a folder in which no other may be made.
  if (error == EACCES && std::filesystem::exists(there)) return WriteAll(path, text);
  return error;
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view text, std::string_view what) {
  const int error = WriteWhole(path, text);
  if (error == 0) return OkStatus();
  const std::string why = fmt::format("{} '{}' cannot be written ({})", what, path,
                                      std::generic_category().message(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO) {
    return ResourceExhausted(why);
  }
  return InvalidArgument(why + "; give the path of a file in a folder that is there");
}

}  // namespace chorus
