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

#include "chorus/apps/studio/server/json_depth.h"
#include "chorus/base/nearest.h"

namespace chorus::studio {
namespace {

using answer::Json;

constexpr int kMostRowDepth = 64;         // what is deeper was written by something else
constexpr std::size_t kHeadBytes = 4096;  // by which a file's kind is seen

struct RunFile {
  std::string name;
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
    files.push_back({name, at->file_size(ignored), at->last_write_time(ignored)});
  }
  std::sort(files.begin(), files.end(), [](const RunFile& a, const RunFile& b) {
    return a.time != b.time ? a.time > b.time : a.name < b.name;
  });
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  return files;
}

// Discarded if it is no JSON, or nested too deep.
Json ParseRow(std::string_view text) {
  if (IsDeeperThan(kMostRowDepth, text)) return Json(Json::value_t::discarded);
  return Json::parse(text, nullptr, false);
}

// True for an event of a trace that neither lasts nor names a thread: most are such, and no page
// draws them.
bool IsInstant(const Json& row) {
  if (!row.is_object() || !row.contains("ph")) return false;
  return row["ph"] != "X" && row["ph"] != "M";
}

// Adds the documents of `text` to `rows`; says how many lines were none.
std::int64_t TakeRows(std::string_view text, Json& rows) {
  Json whole = ParseRow(text);
  if (!whole.is_discarded()) {
    if (whole.is_object() && whole.contains("traceEvents")) whole = whole["traceEvents"];
    if (whole.is_array()) {
      std::int64_t too_many = 0;
      for (Json& row : whole) {
        if (IsInstant(row)) continue;
        if (rows.size() >= kMostRows) {
          ++too_many;
        } else {
          rows.push_back(std::move(row));
        }
      }
      return too_many;
    }
    rows.push_back(std::move(whole));
    return 0;
  }
  std::int64_t skipped = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Json row = rows.size() < kMostRows ? ParseRow(line) : Json(Json::value_t::discarded);
    if (row.is_discarded()) {
      ++skipped;
    } else {
      rows.push_back(std::move(row));
    }
  }
  return skipped;
}

}  // namespace

Result<Json> ListRuns(const std::string& folder) {
  Json json = {{"folder", !folder.empty()}, {"files", Json::array()}};
  if (folder.empty()) return json;
  for (const RunFile& file : FilesOf(folder)) {
    json["files"].push_back({{"file", file.name},
                             {"bytes", file.bytes},
                             {"kind", KindOf(HeadOf(folder + "/" + file.name, kHeadBytes))}});
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
    return InvalidArgument(fmt::format("--file '{}' has {} bytes; at most {} are read", file,
                                       found->bytes, kMostFileBytes));
  }
  const std::string text = HeadOf(folder + "/" + file, kMostFileBytes);
  Json json = {{"file", file},
               {"kind", KindOf(std::string_view(text).substr(0, kHeadBytes))},
               {"rows", Json::array()}};
  json["skipped"] = TakeRows(text, json["rows"]);
  if (json["rows"].empty()) {
    return InvalidArgument(fmt::format(
        "--file '{}' holds no JSON; it reads what chorus bench -J, chorus train --json and --trace "
        "write",
        file));
  }
  return json;
}

}  // namespace chorus::studio
