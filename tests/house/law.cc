#include "tests/house/law.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/house/text.h"

namespace chorus::house {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

bool IsCpp(const SourceFile& file) {
  return EndsWith(file.path, ".h") || EndsWith(file.path, ".cc");
}
bool IsTest(const SourceFile& file) {
  return EndsWith(file.path, "_test.cc") || EndsWith(file.path, "_test.h");
}

std::string NoSuchRoom(const SourceFile& file, std::string_view room) {
  return fmt::format(
      "{}:1: '{}' is not a room; add it to Rooms() in tests/house/floors.cc with its "
      "floor, or move the file into a room",
      file.path, room);
}

// What thinking code has no word for. Headers are compared whole or by their folder.
const std::set<std::string, std::less<>> kDoingHeaders = {
    "thread",   "mutex",        "shared_mutex", "atomic",  "condition_variable",
    "future",   "semaphore",    "barrier",      "latch",   "stop_token",
    "chrono",   "ctime",        "time.h",       "fstream", "filesystem",
    "iostream", "unistd.h",     "fcntl.h",      "poll.h",  "signal.h",
    "csignal",  "pthread.h",    "sched.h",      "spawn.h", "dlfcn.h",
    "netdb.h",  "fmt/chrono.h", "omp.h"};
const std::vector<std::string> kDoingFolders = {"sys/", "netinet/", "arpa/", "linux/"};
const std::regex kDoingWords(
    R"(\b(getenv|secure_getenv|setenv|system|popen|fork|fopen|freopen|time|clock|clock_gettime|)"
    R"(gettimeofday|rand|srand)\s*\(|\b(std::random_device|std::cout|std::cerr|std::cin|)"
    R"(fmt::print|printf|environ)\b)");

// An outside thing and the folders that may name it, one but for what is only a file format.
struct OutsideThing {
  std::string name;
  std::vector<std::string> folders;  // path prefixes
  std::regex in_includes;            // what its headers begin with
  std::regex in_code;                // how its functions are called
};

const std::vector<OutsideThing>& OutsideThings() {
  static const std::vector<OutsideThing> things = {
      {"UCX",
       {"chorus/transport/ucx/"},
       std::regex(R"(^uc[pst]/)"),
       std::regex(R"(\buc[pst]_\w+)")},
      {"shared memory",
       {"chorus/transport/shm/", "bench/peers/"},  // peers get their memory from no side
       std::regex(R"(^sys/mman\.h$)"),
       std::regex(R"(\b(memfd_create|mmap|munmap|mremap|shm_open|shm_unlink|process_vm_\w+)\b)")},
      {"PyTorch",
       {"chorus/apps/torch/"},
       std::regex(R"(^(torch|c10|ATen)/)"),
       std::regex(R"(\b(torch|c10)::)")},
      {"HTTP", {"chorus/apps/studio/"}, std::regex(R"(^httplib)"), std::regex(R"(\bhttplib\b)")},
      {"Highway", {"chorus/kernel/"}, std::regex(R"(^hwy/)"), std::regex(R"(\bHWY_\w+)")},
      {"oneDNN",
       {"chorus/kernel/"},
       std::regex(R"(^(oneapi/)?dnnl)"),
       std::regex(R"(\bdnnl(::|_))")},
      {"toml++",
       {"chorus/base/toml_table", "chorus/topology/", "chorus/train/"},
       std::regex(R"(^toml)"),
       std::regex(R"(\btoml::)")},
      {"CLI11", {"chorus/apps/cli/"}, std::regex(R"(^CLI/)"), std::regex(R"(\bCLI::)")},
  };
  return things;
}

// Every include of `file`, followed by those of the files that it includes, by path.
void CollectIncludes(const std::map<std::string, const SourceFile*, std::less<>>& by_path,
                     const SourceFile& file, std::map<std::string, std::string>& via) {
  for (const Include& include : IncludesOf(file.text)) {
    if (!via.emplace(include.path, file.path).second) continue;
    const auto found = by_path.find(include.path);
    if (found != by_path.end()) CollectIncludes(by_path, *found->second, via);
  }
}

std::map<std::string, const SourceFile*, std::less<>> ByPath(const std::vector<SourceFile>& files) {
  std::map<std::string, const SourceFile*, std::less<>> by_path;
  for (const SourceFile& file : files) by_path.emplace(file.path, &file);
  return by_path;
}

}  // namespace

Findings CheckFloors(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file) || !StartsWith(file.path, "chorus/")) continue;
    const std::string name = RoomOf(file.path);
    const auto here = Rooms().find(name);
    if (here == Rooms().end()) {
      findings.push_back(NoSuchRoom(file, name));
      continue;
    }
    for (const Include& include : IncludesOf(file.text)) {
      const std::string other = RoomOf(include.path);
      const auto there = Rooms().find(other);
      if (other == name || there == Rooms().end()) continue;
      const int highest = here->second.floor - (IsTest(file) ? 0 : 1);
      if (there->second.floor <= highest) continue;
      findings.push_back(fmt::format(
          "{}:{}: {} (floor {}) includes {} (floor {}); it may include floors up to {}", file.path,
          include.line, name, here->second.floor, include.path, there->second.floor, highest));
    }
  }
  return findings;
}

// The formulas and the simulator answer the same question and are compared: neither may lean on
// the other, so no file of the one includes a header of the other. Tests compare them.
Findings CheckFormulasAndSimulatorAreApart(const std::vector<SourceFile>& files) {
  constexpr std::string_view kFormula = "chorus/cost/formula/", kSimulate = "chorus/cost/simulate/";
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file) || IsTest(file)) continue;
    const bool formula = StartsWith(file.path, kFormula);
    if (!formula && !StartsWith(file.path, kSimulate)) continue;
    const std::string_view other = formula ? kSimulate : kFormula;
    for (const Include& include : IncludesOf(file.text)) {
      if (!StartsWith(include.path, other)) continue;
      findings.push_back(fmt::format(
          "{}:{}: includes {}; the formulas and the simulator know nothing of each other",
          file.path, include.line, include.path));
    }
  }
  return findings;
}

Findings CheckThinkingIsPure(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const std::string name = RoomOf(file.path);
    const auto here = Rooms().find(name);
    if (!IsCpp(file) || here == Rooms().end() || here->second.kind != Kind::kThinking) continue;
    for (const Include& include : IncludesOf(file.text)) {
      const auto there = Rooms().find(RoomOf(include.path));
      if (there != Rooms().end() && there->second.kind == Kind::kDoing) {
        findings.push_back(
            fmt::format("{}:{}: {} is a thinking room and includes {} of a doing room", file.path,
                        include.line, name, include.path));
      }
      if (IsTest(file)) continue;
      const bool doing =
          kDoingHeaders.count(include.path) != 0 ||
          std::any_of(kDoingFolders.begin(), kDoingFolders.end(),
                      [&](const std::string& f) { return StartsWith(include.path, f); });
      if (doing) {
        findings.push_back(
            fmt::format("{}:{}: {} is a thinking room and includes <{}>; it may have no thread, "
                        "lock, clock, file, "
                        "socket or environment",
                        file.path, include.line, name, include.path));
      }
    }
    if (IsTest(file)) continue;
    for (const Word& word : WordsMatching(CodeOnly(file.text), kDoingWords)) {
      findings.push_back(
          fmt::format("{}:{}: {} is a thinking room and says '{}'; return a value and "
                      "let a doing room act on it",
                      file.path, word.line, name, word.text));
    }
  }
  return findings;
}

Findings CheckOneFolderForEach(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!IsCpp(file) || StartsWith(file.path, "tests/house/")) continue;
    const std::vector<Include> includes = IncludesOf(file.text);
    const std::string code = CodeOnly(file.text);
    for (const OutsideThing& thing : OutsideThings()) {
      const auto here = [&](const std::string& folder) { return StartsWith(file.path, folder); };
      if (std::any_of(thing.folders.begin(), thing.folders.end(), here)) continue;
      const auto report = [&](int line, std::string_view what) {
        findings.push_back(fmt::format("{}:{}: names {} ('{}'), which only {} may", file.path, line,
                                       thing.name, what, fmt::join(thing.folders, " and ")));
      };
      for (const Include& include : includes) {
        if (std::regex_search(include.path, thing.in_includes)) report(include.line, include.path);
      }
      for (const Word& word : WordsMatching(code, thing.in_code)) report(word.line, word.text);
    }
  }
  return findings;
}

Findings CheckNoDrawers(const std::vector<SourceFile>& files) {
  static const std::set<std::string, std::less<>> drawers = {
      "util", "utils", "utility", "common", "misc", "helper", "helpers", "lib", "shared", "stuff"};
  std::set<std::string> found;
  for (const SourceFile& file : files) {
    std::size_t begin = 0;
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos;
         begin = slash + 1, slash = file.path.find('/', begin)) {
      const std::string_view folder = std::string_view(file.path).substr(begin, slash - begin);
      if (drawers.count(folder) != 0) found.insert(file.path.substr(0, slash));
    }
  }
  Findings findings;
  for (const std::string& folder : found) {
    findings.push_back(fmt::format(
        "{}:1: a drawer for anything; name the folder after the one thing in it", folder));
  }
  return findings;
}

Findings CheckTypeNamesAreUnique(const std::vector<SourceFile>& files) {
  static const std::regex space_begins("^namespace ([A-Za-z0-9_:]+) \\{");
  static const std::regex type_begins(
      "^(?:class|struct|enum class) (?:alignas\\([^)]*\\) )?([A-Za-z0-9_]+)(?: final)?(?: :.*)? "
      "\\{");
  Findings findings;
  std::map<std::string, std::string> first;  // place, by qualified name
  for (const SourceFile& file : files) {
    if (!IsCpp(file) || file.path.rfind("chorus/", 0) != 0) continue;
    std::string space;
    bool is_unnamed = false;
    int line = 0;
    std::istringstream text(file.text);
    for (std::string each; std::getline(text, each);) {
      ++line;
      std::smatch match;
      if (each == "namespace {") is_unnamed = true;
      if (each == "}  // namespace") is_unnamed = false;
      if (std::regex_search(each, match, space_begins)) space = match[1];
      if (is_unnamed || !std::regex_search(each, match, type_begins)) continue;
      const std::string place = fmt::format("{}:{}", file.path, line);
      const auto [known, is_new] = first.try_emplace(space + "::" + match[1].str(), place);
      if (is_new) continue;
      findings.push_back(fmt::format("{}: {} is also the name of another type, at {}", place,
                                     known->first, known->second));
    }
  }
  return findings;
}

Findings CheckIncludesAreByPath(const std::vector<SourceFile>& files) {
  Findings findings;
  const auto by_path = ByPath(files);
  for (const SourceFile& file : files) {
    if (!IsCpp(file)) continue;
    // NAME-inl.h is Highway's: included once for each instruction set, on purpose.
    const bool once = EndsWith(file.path, ".h") && !EndsWith(file.path, "-inl.h");
    if (once && CodeOnly(file.text).find("#pragma once") == std::string::npos) {
      findings.push_back(fmt::format("{}:1: a header without #pragma once", file.path));
    }
    for (const Include& include : IncludesOf(file.text)) {
      const bool ours = StartsWith(include.path, "chorus/") || StartsWith(include.path, "tests/");
      // Highway's own headers are included with quotes, as its documentation has it.
      const bool outside = !include.quoted || StartsWith(include.path, "hwy/");
      if (outside && !ours) continue;
      if (by_path.count(include.path) == 0) {
        findings.push_back(
            fmt::format("{}:{}: there is no {}; write includes of Chorus as "
                        "\"chorus/ROOM/NAME.h\", others in angle brackets",
                        file.path, include.line, include.path));
      }
    }
  }
  return findings;
}

Findings CheckOwnHeaderComesFirst(const std::vector<SourceFile>& files) {
  Findings findings;
  const auto by_path = ByPath(files);
  for (const SourceFile& file : files) {
    if (!EndsWith(file.path, ".cc")) continue;
    const std::string header = file.path.substr(0, file.path.size() - 2) + "h";
    if (by_path.count(header) == 0) continue;
    const std::vector<Include> includes = IncludesOf(file.text);
    if (!includes.empty() && includes[0].path == header) continue;
    findings.push_back(fmt::format("{}:{}: its first include must be its own header, {}", file.path,
                                   includes.empty() ? 1 : includes[0].line, header));
  }
  return findings;
}

Findings CheckPublicHeadersAreLean(const std::vector<SourceFile>& files,
                                   const std::vector<std::string>& public_headers) {
  Findings findings;
  const auto by_path = ByPath(files);
  for (const std::string& header : public_headers) {
    const auto found = by_path.find(header);
    if (found == by_path.end()) {
      findings.push_back(fmt::format("{}:1: a public header that is not there", header));
      continue;
    }
    std::map<std::string, std::string> via;
    CollectIncludes(by_path, *found->second, via);
    for (const auto& [include, includer] : via) {
      if (!StartsWith(include, "fmt/") && include != "span" && include != "concepts") continue;
      findings.push_back(
          fmt::format("{}:1: a public header, and gets <{}> through {}; users on C++17 "
                      "and without fmt must be able to include it",
                      header, include, includer));
    }
  }
  return findings;
}

Findings CheckEveryRoomHasItsPage(const std::vector<SourceFile>& files) {
  Findings findings;
  const auto by_path = ByPath(files);
  std::set<std::string> rooms;
  for (const SourceFile& file : files) {
    if (EndsWith(file.path, ".cc") && Rooms().count(RoomOf(file.path)) != 0) {
      rooms.insert(RoomOf(file.path));
    }
  }
  const auto index = by_path.find(std::string_view("docs/README.md"));
  const std::string_view links =
      index == by_path.end() ? "" : std::string_view(index->second->text);
  for (const std::string& room : rooms) {
    const std::string page = room.substr(room.find('/') + 1) + ".md";
    if (by_path.count("docs/" + page) == 0) {
      findings.push_back(fmt::format("docs/{}:1: room {} has no page", page, room));
    } else if (links.find("(" + page + ")") == std::string_view::npos) {
      findings.push_back(fmt::format("docs/README.md:1: no link to {}", page));
    }
  }
  return findings;
}

Findings CheckLinksLead(const std::vector<SourceFile>& files,
                        const std::function<bool(const std::string&)>& exists) {
  static const std::regex link(R"(\]\(([^)#:\s]+)(#[^)]*)?\))");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!EndsWith(file.path, ".md")) continue;
    const std::size_t slash = file.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : file.path.substr(0, slash + 1);
    int number = 0;
    for (const std::string& line : LinesOf(file.text)) {
      ++number;
      for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
        if (exists(folder + it->str(1))) continue;
        findings.push_back(
            fmt::format("{}:{}: the link to {} leads nowhere", file.path, number, it->str(1)));
      }
    }
  }
  return findings;
}

Findings CheckBuildListsTheSameFloors(std::string_view cmake_lists) {
  Findings findings;
  static const std::regex floor_line(R"(^# floor (\d+)\s*$)");
  static const std::regex room_line(R"(^chorus_room\((\w+))");
  int floor = -1;
  int number = 0;
  for (const std::string& line : LinesOf(cmake_lists)) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, floor_line)) floor = std::stoi(match[1]);
    if (!std::regex_search(line, match, room_line)) continue;
    const std::string name = match[1];
    const auto room = Rooms().find(name);
    if (room == Rooms().end()) {
      findings.push_back(
          fmt::format("CMakeLists.txt:{}: room {} is not in tests/house/floors.cc", number, name));
    } else if (room->second.floor != floor) {
      findings.push_back(
          fmt::format("CMakeLists.txt:{}: room {} stands on floor {} here and on floor "
                      "{} in tests/house/floors.cc",
                      number, name, floor, room->second.floor));
    }
  }
  return findings;
}

}  // namespace chorus::house
