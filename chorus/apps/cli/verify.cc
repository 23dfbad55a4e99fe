#include "chorus/apps/cli/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/probe/read_file.h"
#include "chorus/verify/verify.h"

namespace chorus::cli {
namespace {

// All steps of all ranks are held at once; this many ranks take some seconds.
constexpr std::int64_t kMostRanks = 128;

struct VerifyOptions {
  std::string algorithm = "all";
  std::string operation;
  std::string range = "1..33";
  std::string file;
  bool json = false;
};

struct RankRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
  std::string ToString() const {
    return first == last ? fmt::format("N = {}", first) : fmt::format("N = {}..{}", first, last);
  }
};

// "4" or "1..32".
Result<RankRange> ParseRange(std::string_view text) {
  const Status wrong = InvalidArgument(fmt::format(
      "-n '{}' is no number of ranks; give 1 to {}, or a range such as 1..32", text, kMostRanks));
  const std::size_t dots = text.find("..");
  const auto number = [](std::string_view part, std::int64_t& value) {
    const char* end = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data(), end, value);
    return error == std::errc() && stop == end;
  };
  RankRange range;
  if (!number(text.substr(0, dots), range.first)) return wrong;
  range.last = range.first;
  if (dots != std::string_view::npos && !number(text.substr(dots + 2), range.last)) return wrong;
  if (range.first < 1 || range.last > kMostRanks || range.last < range.first) return wrong;
  return range;
}

// A schedule, and for which groups it is one.
struct Subject {
  Schedule schedule;
  std::shared_ptr<const Algorithm> algorithm;  // null: of a file, for any group

  bool Fits(std::int64_t n) const { return algorithm == nullptr || algorithm->Fits(n).ok(); }
};

Subject SubjectOf(std::shared_ptr<const Algorithm> algorithm) {
  Schedule schedule = algorithm->Build();
  return {std::move(schedule), std::move(algorithm)};
}

// Of the list of all, which lives for ever.
Subject SubjectOf(const Algorithm& algorithm) { return SubjectOf(Unowned(algorithm)); }

// The schedules that the command line means.
Result<std::vector<Subject>> Chosen(const VerifyOptions& o) {
  std::vector<Subject> chosen;
  if (!o.file.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const std::string text,
                            ReadFile(o.file, "schedule", "give the path of a text file"));
    Result<Schedule> schedule = Schedule::Parse(text);
    if (!schedule.ok()) return schedule.status().WithContext(o.file);
    chosen.push_back({*std::move(schedule), nullptr});
    return chosen;
  }
  if (o.algorithm != "all" && !o.operation.empty()) {
    CHORUS_ASSIGN_OR_RETURN(std::shared_ptr<const Algorithm> one,
                            answer::AlgorithmNamed(o.algorithm, o.operation));
    chosen.push_back(SubjectOf(std::move(one)));
    return chosen;
  }
  if (!o.operation.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const OpKind op, answer::OperationNamed(o.operation));
    for (const Algorithm* a : AlgorithmsFor(op)) chosen.push_back(SubjectOf(*a));
    return chosen;
  }
  std::vector<std::string_view> known = {"all"};
  Status wrong_numbers;
  for (const Algorithm& a : AllAlgorithms()) {
    if (std::find(known.begin(), known.end(), a.name) == known.end()) known.push_back(a.name);
    if (o.algorithm == "all") {
      chosen.push_back(SubjectOf(a));
      continue;
    }
    Result<std::shared_ptr<const Algorithm>> one = FindAlgorithm(o.algorithm, a.op);
    const auto base = [](std::string_view name) { return name.substr(0, name.find(':')); };
    if (base(a.name) != base(o.algorithm)) continue;
    if (one.ok()) {
      chosen.push_back(SubjectOf(*std::move(one)));
    } else {
      wrong_numbers = one.status();
    }
  }
  CHORUS_RETURN_IF_ERROR(wrong_numbers);
  if (chosen.empty()) {
    return NotFound(
        fmt::format("no algorithm '{}'; there is {}", o.algorithm, fmt::join(known, ", ")));
  }
  return chosen;
}

// The first N that fails, or the proof of all that the schedule is for.
Result<Verdict> VerifyRange(const Subject& subject, const RankRange& range) {
  Verdict all;
  for (std::int64_t n = range.first; n <= range.last; ++n) {
    if (!subject.Fits(n)) continue;
    CHORUS_ASSIGN_OR_RETURN(Verdict verdict, Verify(subject.schedule, n));
    verdict.proof += all.proof;
    all = std::move(verdict);
    if (!all.ok()) break;
  }
  return all;
}

std::string Case(const Schedule& schedule, const Verdict& v) {
  return fmt::format("N = {}{}{}", v.group_size,
                     HasRoot(schedule.op()) ? fmt::format(", root {}", v.root) : "",
                     v.in_place ? ", in place" : "");
}

nlohmann::ordered_json ToJson(const Schedule& schedule, const RankRange& range, const Verdict& v) {
  nlohmann::ordered_json json = {{"name", schedule.name()},
                                 {"operation", Name(schedule.op())},
                                 {"first", range.first},
                                 {"last", range.last},
                                 {"proved", v.ok()},
                                 {"cases", v.proof.cases},
                                 {"steps", v.proof.steps},
                                 {"messages", v.proof.messages},
                                 {"ordered_pairs", v.proof.pairs},
                                 {"values", v.proof.terms}};
  if (v.ok()) return json;
  json["fault"] = {{"group_size", v.group_size},   {"root", v.root},
                   {"in_place", v.in_place},       {"rank", v.fault->rank},
                   {"step", v.fault->step},        {"why", v.fault->why},
                   {"expected", v.fault->expected}};
  return json;
}

Status RunVerify(const VerifyOptions& o, int& exit_code) {
  CHORUS_ASSIGN_OR_RETURN(const RankRange range, ParseRange(o.range));
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Subject> subjects, Chosen(o));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  Proof total;
  std::int64_t wrong = 0;
  std::int64_t idle = 0;  // for no N of the range
  for (const Subject& subject : subjects) {
    const Schedule& schedule = subject.schedule;
    CHORUS_ASSIGN_OR_RETURN(const Verdict v, VerifyRange(subject, range));
    if (v.ok() && v.proof.cases == 0) {
      if (subjects.size() == 1) return subject.algorithm->Fits(range.first);
      ++idle;
      continue;
    }
    total += v.proof;
    wrong += v.ok() ? 0 : 1;
    if (o.json) {
      json.push_back(ToJson(schedule, range, v));
      continue;
    }
    const std::string name = fmt::format("{} {}", schedule.name(), Name(schedule.op()));
    if (v.ok()) {
      fmt::print("{:<28} {}  proved: {} cases, {} steps, {} messages\n", name, range.ToString(),
                 v.proof.cases, v.proof.steps, v.proof.messages);
    } else {
      fmt::print("{:<28} {}  WRONG: {}\n", name, Case(schedule, v), v.fault->ToString());
    }
  }
  if (o.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print(
        "{} of {} schedules proved, {}, every root, in place and not, any number of tiles: {} "
        "steps, {} messages, {} pairs of steps in order\n",
        std::ssize(subjects) - wrong - idle, std::ssize(subjects) - idle, range.ToString(),
        total.steps, total.messages, total.pairs);
  }
  exit_code = wrong == 0 ? 0 : 1;
  return OkStatus();
}

}  // namespace

void AddVerify(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* verify = app.add_subcommand("verify", "Prove schedules");
  CLI::Option* algorithm = verify->add_option("ALGORITHM", o->algorithm,
                                              "ring, direct, knomial:4, ..., or all (default)");
  verify->add_option("OPERATION", o->operation, "all_reduce, broadcast, ... (default: every one)");
  verify->add_option("-n", o->range, "Ranks: 4, or a range 1..32 (default 1..33)");
  verify->add_option("--file", o->file, "Prove the schedule text in this file instead")
      ->excludes(algorithm);
  verify->add_flag("--json", o->json, "JSON instead of lines");
  verify->footer(
      "Exit code 1 if a schedule is wrong; its first wrong step is printed.\n"
      "Examples:\n"
      "  chorus verify all -n 1..32\n"
      "  chorus verify ring all_gather -n 4\n"
      "  chorus show ring all_reduce --text > my.schedule; chorus verify --file my.schedule -n 4");
  verify->callback([o, &outcome] { outcome.status = RunVerify(*o, outcome.exit_code); });
}

}  // namespace chorus::cli
