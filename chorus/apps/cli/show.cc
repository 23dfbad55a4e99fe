#include "chorus/apps/cli/show.h"

#include <fmt/format.h>

#include <memory>

#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/apps/answer/schedule_json.h"
#include "chorus/apps/cli/schedule_table.h"

namespace chorus::cli {
namespace {

// Beyond this all ranks together are no longer something to look at; one rank still is.
constexpr std::int64_t kMostRanksShown = 64;
constexpr std::size_t kTableWidth = 120;

struct ShowOptions {
  std::string algorithm;
  std::string operation;
  std::int64_t group_size = 4;
  std::int64_t rank = -1;  // all
  std::int64_t root = 0;
  bool text = false;
  bool json = false;
};

Status CheckRange(std::string_view option, std::int64_t value, std::int64_t first,
                  std::int64_t last) {
  if (value >= first && value <= last) return OkStatus();
  return InvalidArgument(
      fmt::format("{} {} is out of range; give {} to {}", option, value, first, last));
}

Status CheckNumbers(const ShowOptions& o, OpKind op) {
  CHORUS_RETURN_IF_ERROR(CheckRange("-n", o.group_size, 1, kMostRanks));
  CHORUS_RETURN_IF_ERROR(CheckRange("--root", o.root, 0, o.group_size - 1));
  if (o.root != 0 && !HasRoot(op)) {
    return InvalidArgument(fmt::format("{} has no root; leave --root out", Name(op)));
  }
  if (o.rank != -1) return CheckRange("--rank", o.rank, 0, o.group_size - 1);
  if (o.group_size > kMostRanksShown && !o.text) {
    return InvalidArgument(
        fmt::format("{} ranks are too many to show together (at most {}); add "
                    "--rank R for one of them, or --text",
                    o.group_size, kMostRanksShown));
  }
  return OkStatus();
}

void PrintHead(const Algorithm& algorithm, const Schedule& schedule) {
  fmt::print("{} {}: {}\n", algorithm.name, Name(algorithm.op), algorithm.idea);
  fmt::print("{}\n\n{}\n{}\n", algorithm.cost, algorithm.picture, schedule.ToString());
}

Status PrintJson(const ShowOptions& o, const Algorithm& algorithm, const Schedule& schedule) {
  nlohmann::ordered_json json = {{"name", algorithm.name},       {"operation", Name(algorithm.op)},
                                 {"idea", algorithm.idea},       {"cost", algorithm.cost},
                                 {"picture", algorithm.picture}, {"text", schedule.ToString()},
                                 {"group_size", o.group_size},   {"root", o.root}};
  if (o.rank >= 0) {
    CHORUS_ASSIGN_OR_RETURN(const auto steps, schedule.ForRank(o.group_size, o.rank, o.root));
    json["rank"] = o.rank;
    json["steps"] = nlohmann::ordered_json::array();
    for (const Step& step : steps) json["steps"].push_back(answer::ToJson(step));
  } else if (!o.text) {
    CHORUS_ASSIGN_OR_RETURN(const Expansion e, Expand(schedule, o.group_size, o.root));
    json["expansion"] = answer::ToJson(e);
  }
  fmt::print("{}\n", json.dump(2));
  return OkStatus();
}

Status RunShow(const ShowOptions& o) {
  CHORUS_ASSIGN_OR_RETURN(const std::shared_ptr<const Algorithm> algorithm,
                          answer::AlgorithmNamed(o.algorithm, o.operation));
  CHORUS_RETURN_IF_ERROR(CheckNumbers(o, algorithm->op));
  CHORUS_RETURN_IF_ERROR(algorithm->Fits(o.group_size));
  const Schedule schedule = algorithm->Build();
  if (o.json) return PrintJson(o, *algorithm, schedule);
  if (o.text) {
    fmt::print("{}", schedule.ToString());
    return OkStatus();
  }
  const std::string of_root = HasRoot(algorithm->op) ? fmt::format(", root {}", o.root) : "";
  if (o.rank >= 0) {
    CHORUS_ASSIGN_OR_RETURN(const auto steps, schedule.ForRank(o.group_size, o.rank, o.root));
    PrintHead(*algorithm, schedule);
    fmt::print("Rank {} of {}{}, one tile; it sends {}.\n\n{}", o.rank, o.group_size, of_root,
               SentSummary(steps), StepTable(steps));
    return OkStatus();
  }
  CHORUS_ASSIGN_OR_RETURN(const Expansion e, Expand(schedule, o.group_size, o.root));
  CHORUS_ASSIGN_OR_RETURN(const std::string table, MessageTable(e, kTableWidth));
  PrintHead(*algorithm, schedule);
  fmt::print("N = {}{}: who sends what to whom\n\n{}\n", o.group_size, of_root, table);
  fmt::print("Rank 0 sends {}. See --rank R for every step of one rank.\n",
             SentSummary(e.ranks[0]));
  return OkStatus();
}

}  // namespace

void AddShow(CLI::App& app, Outcome& outcome) {
  auto o = std::make_shared<ShowOptions>();
  CLI::App* show = app.add_subcommand("show", "Print a schedule step by step");
  show->add_option("ALGORITHM", o->algorithm, "ring, direct, knomial:4, torus:2x2, ...")
      ->required();
  show->add_option("OPERATION", o->operation, "all_reduce, all_gather, broadcast, ...")->required();
  show->add_option("-n", o->group_size, "Ranks (default 4)");
  show->add_option("--rank", o->rank, "Show every step of this rank");
  show->add_option("--root", o->root, "Root of broadcast, reduce, gather, scatter (default 0)");
  show->add_flag("--text", o->text, "Only the schedule's text, as chorus verify --file reads it");
  show->add_flag("--json", o->json, "JSON instead of tables");
  show->footer(
      "Examples:\n"
      "  chorus show ring all_reduce -n 4\n"
      "  chorus show binomial broadcast -n 8 --root 3 --rank 3");
  show->callback([o, &outcome] { outcome.status = RunShow(*o); });
}

}  // namespace chorus::cli
