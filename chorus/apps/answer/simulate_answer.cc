#include "chorus/apps/answer/simulate_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>

#include "chorus/apps/answer/about.h"
#include "chorus/apps/answer/choose_schedule.h"
#include "chorus/base/rate.h"
#include "chorus/cost/formula/formula.h"
#include "chorus/probe/read_file.h"

namespace chorus::answer {
namespace {

// Steps, chunks and dependencies of each schedule that is compared with others, over all sizes.
constexpr std::int64_t kMostHeldOfComparison = 12'000'000;

// A schedule and what it was called: "two_level:4".
struct Named {
  std::string name;
  Schedule schedule;
};

Result<Schedule> ReadSchedule(const SimulateQuestion& o) {
  CHORUS_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(o.file, "schedule", "give the path of a text file"));
  Result<Schedule> schedule = Schedule::Parse(text);
  if (!schedule.ok()) return schedule.status().WithContext(o.file);
  if (Name(schedule->op()) == o.op) return schedule;
  return InvalidArgument(fmt::format("{} is a schedule of {}; write chorus simulate {} --file {}",
                                     o.file, Name(schedule->op()), Name(schedule->op()), o.file));
}

// What is simulated: one schedule, or all of the operation.
Result<std::vector<Named>> Chosen(const SimulateQuestion& o, const Machine& machine,
                                  std::int64_t ranks, Bytes bytes) {
  if (!o.file.empty()) {
    CHORUS_ASSIGN_OR_RETURN(Schedule schedule, ReadSchedule(o));
    return std::vector<Named>{{schedule.name(), std::move(schedule)}};
  }
  if (!o.algorithm.empty()) {
    CHORUS_ASSIGN_OR_RETURN(const std::shared_ptr<const Algorithm> named,
                            AlgorithmNamed(o.algorithm, o.op));
    CHORUS_RETURN_IF_ERROR(About("--algorithm", named->Fits(ranks)));
    return std::vector<Named>{{o.algorithm, named->Build()}};
  }
  CHORUS_ASSIGN_OR_RETURN(const OpKind op, OperationNamed(o.op));
  std::vector<Named> all;
  if (o.compare) {
    const Wiring wiring = WiringOf(machine, ranks);
    for (const Algorithm* algorithm : AlgorithmsFor(op)) {
      // Of those with numbers the one that estimate compares.
      std::string name(algorithm->name);
      if (algorithm->parameter != nullptr) {
        name = ComparedName(name.substr(0, name.find(':') + 1), wiring);
      }
      if (name.empty()) continue;
      CHORUS_ASSIGN_OR_RETURN(const std::shared_ptr<const Algorithm> named,
                              FindAlgorithm(name, op));
      if (named->Fits(ranks).ok()) all.push_back({name, named->Build()});
    }
    return all;
  }
  const Algorithm& usual = UsualAlgorithm(op, ranks, bytes);
  all.push_back({std::string(usual.name), usual.Build()});
  return all;
}

// "3:2": device 3, twice as slow.
Result<SlowDevice> ParseSlow(const std::string& text) {
  SlowDevice slow;
  const char* end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, slow.device);
  if (error == std::errc() && colon != end && *colon == ':') {
    const auto [stop, second] = std::from_chars(colon + 1, end, slow.factor);
    if (second == std::errc() && stop == end) return slow;
  }
  return InvalidArgument(
      fmt::format("--slow '{}' is no DEVICE:FACTOR; write for example 3:2", text));
}

Result<SimulateOptions> OptionsOf(const SimulateQuestion& o) {
  SimulateOptions options;
  options.symmetry = !o.no_symmetry;
  options.jitter = o.jitter;
  if (!(o.jitter >= 0 && o.jitter <= 10)) {
    return InvalidArgument(fmt::format("--jitter {}; give 0 (none) to 10", o.jitter));
  }
  if (!o.seed.empty()) {
    const char* end = o.seed.data() + o.seed.size();
    const auto [rest, error] = std::from_chars(o.seed.data(), end, options.seed);
    if (error != std::errc() || rest != end) {
      return InvalidArgument(
          fmt::format("--seed '{}'; give a whole number from 0 to 2^64 - 1", o.seed));
    }
  }
  options.trace = o.trace;
  options.most_held = o.most_held;
  for (const std::string& text : o.slow) {
    CHORUS_ASSIGN_OR_RETURN(const SlowDevice slow, ParseSlow(text));
    for (const SlowDevice& other : options.slow_devices) {
      if (other.device != slow.device) continue;
      return InvalidArgument(
          fmt::format("--slow names device {} twice; give each once", slow.device));
    }
    options.slow_devices.push_back(slow);
  }
  if (!o.local.empty()) {
    const Result<BytesPerSecond> rate = ParseBandwidth(o.local);
    if (!rate.ok()) return rate.status().WithContext("--local");
    if (rate->value() <= 0) return InvalidArgument("--local must be above 0, as 1TB/s");
    options.local_seconds_per_byte = 1 / rate->value();
  }
  return options;
}

// The keys that estimate has as well are called the same there.
Json SimulationJson(const Machine& machine, const Simulated& one) {
  const Simulation& s = one.result;
  Json json = {{"operation", Name(one.op)},
               {"algorithm", one.name},
               {"bytes", one.bytes.value()},
               {"ranks", one.call.group_size},
               {"seconds", s.seconds},
               {"algbw_bytes_per_second", one.Algbw().value()},
               {"busbw_bytes_per_second", one.Busbw().value()},
               {"orbit_shift", s.shift},
               {"messages", s.messages},
               {"events", s.events},
               {"finish_seconds", s.finish[0]},
               {"links", Json::array()},
               {"critical_path", Json::array()}};
  for (const LinkUse& use : s.links) {
    json["links"].push_back(
        {{"link", machine.topology.LinkName(use.link)}, {"bytes", use.bytes}, {"busy", use.busy}});
  }
  for (const TimedStep& t : s.critical_path) {
    json["critical_path"].push_back({{"verb", Name(t.verb)},
                                     {"rank", t.rank},
                                     {"peer", t.peer},
                                     {"bytes", t.bytes},
                                     {"begin_seconds", t.begin},
                                     {"end_seconds", t.end}});
  }
  return json;
}

Result<SimulatedCall> CallOf(const SimulateQuestion& o, OpKind op, std::int64_t ranks,
                             Bytes bytes) {
  SimulatedCall call;
  call.group_size = ranks;
  call.root = o.root;
  CHORUS_RETURN_IF_ERROR(CheckAccumulatorRatio(o.accumulator_ratio));
  call.payload.accumulator_ratio = o.accumulator_ratio;
  // Sizes are those of nccl-tests: of all_to_all what one rank sends, whose blocks are of pairs.
  const bool pairs = op == OpKind::kAllToAll;
  call.payload.bytes =
      static_cast<double>(bytes.value()) * (pairs ? static_cast<double>(ranks) : 1);
  if (!o.tile.empty()) {
    const Result<Bytes> tile = ParseBytes(o.tile);
    if (!tile.ok()) return tile.status().WithContext("--tile");
    if (tile->value() == 0) return InvalidArgument("--tile must be above 0, as 1MiB");
    call.payload.tile_bytes = static_cast<double>(tile->value());
  }
  return call;
}

// All schedules with all sizes, of each size the fastest first. Where several are compared those
// that are too much to simulate are left out, and named in `left_out`.
Result<std::vector<Simulated>> SimulateAll(const SimulateQuestion& o, const Machine& machine,
                                           std::vector<std::string>& left_out) {
  CHORUS_ASSIGN_OR_RETURN(const std::int64_t ranks, RanksOn(machine, o.ranks));
  if (ranks > o.most_ranks) {
    return InvalidArgument(fmt::format(
        "{} ranks are more than the {} that are simulated; add --ranks {}, or ask chorus estimate",
        ranks, o.most_ranks, o.most_ranks));
  }
  CHORUS_RETURN_IF_ERROR(CheckRoot(o.root, ranks));
  const char* usual_size = o.op == Name(OpKind::kBarrier) ? "0" : "1MiB";
  CHORUS_ASSIGN_OR_RETURN(const std::vector<Bytes> sizes,
                          About("--bytes", ParseByteRange(o.bytes.empty() ? usual_size : o.bytes)));
  CHORUS_ASSIGN_OR_RETURN(SimulateOptions options, OptionsOf(o));
  CHORUS_RETURN_IF_ERROR(About("--slow", CheckSimulateOptions(machine.topology, options)));
  // So that all of a comparison together take seconds.
  if (o.compare) options.most_held = kMostHeldOfComparison / std::ssize(sizes);
  std::vector<Simulated> all;
  const auto begin = std::chrono::steady_clock::now();
  for (const Bytes bytes : sizes) {
    CHORUS_ASSIGN_OR_RETURN(const std::vector<Named> schedules, Chosen(o, machine, ranks, bytes));
    std::vector<Simulated> of_size;
    for (const auto& [name, schedule] : schedules) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (o.most_seconds > 0 && took.count() > o.most_seconds) {
        return ResourceExhausted(fmt::format(
            "this takes more than {:g} s; give fewer --bytes, or one --algorithm", o.most_seconds));
      }
      CHORUS_ASSIGN_OR_RETURN(SimulatedCall call, CallOf(o, schedule.op(), ranks, bytes));
      call.schedule = &schedule;
      Result<Simulation> s = Simulate(machine.topology, {call}, options);
      call.schedule = nullptr;
      const bool too_much = s.status().code() == StatusCode::kResourceExhausted;
      // A question that is too large is wrong as any other: by its tiles, else by its ranks.
      if (too_much && schedules.size() == 1) {
        const std::string_view by = !o.tile.empty() ? "--tile" : o.ranks ? "--ranks" : "--on";
        return About(by, InvalidArgument(s.status().message()));
      }
      if (!s.ok() && schedules.size() == 1) {
        return About(o.tile.empty() ? LinkOption(o.machine, "--algorithm") : "--tile", s.status());
      }
      if (!s.ok()) {
        std::string line = fmt::format("{} is left out: {}{}", name, s.status().message(),
                                       too_much ? ", or simulate it alone" : "");
        if (std::find(left_out.begin(), left_out.end(), line) == left_out.end()) {
          left_out.push_back(std::move(line));
        }
        continue;
      }
      of_size.push_back({name, schedule.op(), std::move(call), bytes, *std::move(s)});
    }
    std::stable_sort(of_size.begin(), of_size.end(), [](const auto& a, const auto& b) {
      return a.result.seconds < b.result.seconds;
    });
    for (Simulated& one : of_size) all.push_back(std::move(one));
  }
  if (all.empty()) {
    return About("--compare", InvalidArgument(fmt::format("{}", fmt::join(left_out, "; "))));
  }
  return all;
}

}  // namespace

BytesPerSecond Simulated::Algbw() const {
  return result.seconds > 0 ? bytes / Seconds(result.seconds) : BytesPerSecond(0);
}

BytesPerSecond Simulated::Busbw() const {
  return BytesPerSecond(Algbw().value() * BusFactor(Name(op), call.group_size));
}

const std::vector<OptionRule>& SimulateRules() {
  static const std::vector<OptionRule> rules = {
      {"--bytes", SizedCollectives()},
      {"--root", RootedCollectives()},
      {"--accumulator-ratio", ReducingCollectives()},
      {"--tile", SizedCollectives()},
      {"--compare", AnyQuestion(), {"--algorithm", "--file"}},
      {"--file", AnyQuestion(), {"--algorithm"}},
      {"--seed", AnyQuestion(), {}, "--jitter"},
  };
  return rules;
}

Result<SimulateAnswer> Answer(const SimulateQuestion& question) {
  CHORUS_RETURN_IF_ERROR(OperationNamed(question.op).status());
  CHORUS_ASSIGN_OR_RETURN(Machine machine, ChosenMachine(question.machine));
  SimulateAnswer answer(std::move(machine));
  CHORUS_ASSIGN_OR_RETURN(answer.simulations,
                          SimulateAll(question, answer.machine, answer.left_out));
  return answer;
}

Json ToJson(const SimulateAnswer& answer) {
  Json json = {{"machine", answer.machine.name},
               {"topology", answer.machine.topology.ToString()},
               {"simulations", Json::array()}};
  for (const Simulated& one : answer.simulations) {
    json["simulations"].push_back(SimulationJson(answer.machine, one));
  }
  json["left_out"] = answer.left_out;
  return json;
}

}  // namespace chorus::answer
