#include "chorus/apps/studio/server/runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include "chorus/apps/studio/server/run_rows.h"
#include "chorus/base/nearest.h"

namespace chorus::studio {
namespace {

using answer::Json;

constexpr std::size_t kHeadBytes = 4096;  // by which a file's kind is seen

struct RunFile {
  std::string name;   // as it is shown and asked for
  std::string plain;  // as it is in the folder
  std::size_t bytes = 0;
  std::filesystem::file_time_type time;
};

// At most `most` bytes of a plain file; empty if it is none, or a link.
std::string HeadOf(const std::string& path, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "";
  struct stat status {};
  std::string text;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    text.resize(std::min(most, static_cast<std::size_t>(status.st_size)));
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t some = read(fd, text.data() + have, text.size() - have);
      if (some <= 0) break;
      have += static_cast<std::size_t>(some);
    }
    text.resize(have);
  }
  close(fd);
  return text;
}

// True if a value of `text` is written NaN or Infinity, as some writers of JSON do.
bool HoldsNaN(std::string_view text) {
  for (const std::string_view word : {"NaN", "Infinity"}) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const std::string_view before = text.substr(0, at);
      if (!before.empty() &&
          std::string_view(" :,[-").find(before.back()) != std::string_view::npos &&
          (end == text.size() ||
           std::string_view(" ,]}\r\n").find(text[end]) != std::string_view::npos)) {
        return true;
      }
    }
  }
  return false;
}

// What the keys near the beginning say.
std::string_view KindOf(std::string_view head) {
  const auto has = [head](std::string_view key) {
    return head.find(key) != std::string_view::npos;
  };
  if (has("\"traceEvents\"") || has("\"ph\":")) return "trace";
  for (const char* of_bench : {"\"out_of_place\"", "\"busbw", "\"sides\"", "\"measured_us\""}) {
    if (has(of_bench)) return "bench";
  }
  if (has("\"loss") || has("\"held_out")) return "training";
  return "unknown";
}

// The bytes of the character of UTF-8 that `text` begins with; 0 if it begins with none.
std::size_t CharacterSize(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xc2 && first < 0xe0   ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90);
  return wrong ? 0 : size;
}

// A file may have any name, JSON only UTF-8: other bytes as "\\xE9".
std::string ShownName(std::string_view name) {
  std::string shown;
  while (!name.empty()) {
    const std::size_t size = CharacterSize(name);
    if (size == 0) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(name[0]));
    } else {
      shown += name.substr(0, size);
    }
    name.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

std::vector<RunFile> FilesOf(const std::string& folder) {
  std::vector<RunFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    const std::string name = at->path().filename().string();
    if (name.empty() || name.front() == '.' || at->is_symlink(ignored) ||
        !at->is_regular_file(ignored)) {
      continue;
    }
    files.push_back({ShownName(name), name, at->file_size(ignored), at->last_write_time(ignored)});
  }
  std::sort(files.begin(), files.end(), [](const RunFile& a, const RunFile& b) {
    return a.time != b.time ? a.time > b.time : a.name < b.name;
  });
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  return files;
}

}  // namespace

Result<Json> ListRuns(const std::string& folder) {
  Json json = {{"folder", !folder.empty()}, {"files", Json::array()}};
  if (folder.empty()) return json;
  for (const RunFile& file : FilesOf(folder)) {
    json["files"].push_back({{"file", file.name},
                             {"bytes", file.bytes},
                             {"kind", KindOf(HeadOf(folder + "/" + file.plain, kHeadBytes))}});
  }
  return json;
}

Result<Json> ReadRun(const std::string& folder, const std::string& file) {
  if (folder.empty()) {
    return NotFound("--file: there is no folder of runs; start chorus studio --runs FOLDER");
  }
  const std::vector<RunFile> files = FilesOf(folder);
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&file](const RunFile& f) { return f.name == file; });
  if (found == files.end()) {
    std::vector<std::string> names;
    for (const RunFile& f : files) names.push_back(f.name);
    if (names.empty()) return NotFound("--file: the folder of runs is empty");
    if (names.size() > 20) names.resize(20);
    return NotFound(fmt::format("--file '{}' is not in the folder of runs; {}", file,
                                NearestAdvice(file, names)));
  }
  if (found->bytes > kMostFileBytes) {
    return InvalidArgument(
        fmt::format("--file '{}' has {} bytes; files of up to {} are read, so keep a part of it",
                    file, found->bytes, kMostFileBytes));
  }
  const std::string text = HeadOf(folder + "/" + found->plain, kMostFileBytes);
  RunRows rows = ReadRows(text);
  Json json = {{"file", file},
               {"kind", KindOf(std::string_view(text).substr(0, kHeadBytes))},
               {"rows", std::move(rows.rows)},
               {"skipped", rows.skipped},
               {"every", rows.every}};
  if (json["rows"].empty()) {
    if (rows.skipped > rows.unread && json["kind"] != "unknown") {
      return InvalidArgument(fmt::format(
          "--file '{}' has more in one row than is shown; give results a line each", file));
    }
    if (HoldsNaN(text)) {
      return InvalidArgument(fmt::format(
          "--file '{}' holds NaN or Infinity, which are no numbers of JSON; write null", file));
    }
    return InvalidArgument(fmt::format(
        "--file '{}' holds no JSON; it reads what chorus bench -J, chorus train --json and --trace "
        "write",
        file));
  }
  return json;
}

}  // namespace chorus::studio
