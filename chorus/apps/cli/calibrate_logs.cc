#include "chorus/apps/cli/calibrate_logs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "chorus/probe/read_file.h"

namespace chorus::cli {
namespace {

using Json = nlohmann::ordered_json;

// The number of a key, nan if there is none.
double NumberOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::numeric_limits<double>::quiet_NaN();
  return found->get<double>();
}

// -1 if the row does not say it.
std::int64_t RootOf(const Json& row) {
  const Json root = row.value("root", Json());
  return root.is_number_integer() ? root.get<std::int64_t>() : -1;
}

// {"operation", "size_bytes", "root", "algorithm", "out_of_place": {"time_us", "median_us",
// "wrong"}}. The median is taken where it is there: a disturbance leaves it alone.
Status ReadBenchRow(const Json& row, std::int64_t ranks, const LogDefaults& given,
                    const std::string& origin, const std::string& place, MeasurementLog& log) {
  const Json timing = row.is_object() ? row.value("out_of_place", Json()) : Json();
  if (!timing.is_object()) {
    log.LeaveOut("it has no time out of place", place);
    return OkStatus();
  }
  const Json operation = row.value("operation", Json());
  const std::string op =
      operation.is_string() ? OperationOfName(operation.get<std::string>()) : std::string();
  const Json named = row.value("algorithm", Json());
  const std::string algorithm = named.is_string() ? named.get<std::string>() : std::string();
  const double time = NumberOf(timing, timing.contains("median_us") ? "median_us" : "time_us");
  // null says that nothing was checked.
  const bool unchecked = !timing.contains("wrong") || timing["wrong"].is_null();
  log.Take({op, ranks, 1, NumberOf(row, "size_bytes"), time * 1e-6,
            algorithm.empty() ? given.algorithm : algorithm, origin, 0, RootOf(row)},
           unchecked ? 0 : NumberOf(timing, "wrong"), place);
  return CheckAgrees(given, {op, ranks, 1, algorithm}, place);
}

// The JSON of chorus bench: {"ranks", "rows": [...]}.
Result<MeasurementLog> ReadBenchJson(const std::string& text, const std::string& origin,
                                     const LogDefaults& given) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array() ||
      !json.contains("ranks") || !json["ranks"].is_number_integer()) {
    return InvalidArgument(
        origin + ": this is no JSON of chorus bench; make one with chorus bench all -J FILE");
  }
  MeasurementLog log;
  std::int64_t number = 0;
  for (const Json& row : json["rows"]) {
    const std::string place = fmt::format("{}: row {}", origin, ++number);
    CHORUS_RETURN_IF_ERROR(ReadBenchRow(row, json["ranks"], given, origin, place, log));
  }
  return log;
}

}  // namespace

Result<MeasurementLog> ReadLogs(const std::vector<std::string>& paths,
                                const LogDefaults& defaults) {
  MeasurementLog all;
  for (const std::string& path : paths) {
    CHORUS_ASSIGN_OR_RETURN(
        const std::string text,
        ReadFile(path, "log", "give the output of nccl-tests, or chorus bench's JSON"));
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    const bool is_json = first != std::string::npos && text[first] == '{';
    CHORUS_ASSIGN_OR_RETURN(
        const MeasurementLog some,
        is_json ? ReadBenchJson(text, path, defaults) : ParseNcclTestsLog(text, path, defaults));
    all.Append(some);
  }
  if (!all.measurements().empty()) return all;
  if (!all.left_out().empty()) {
    return InvalidArgument(fmt::format("no row counts; {}", fmt::join(all.Remarks(), "; ")));
  }
  return InvalidArgument(fmt::format(
      "{}: there is no row of measurements; give a log of nccl-tests or of chorus bench",
      fmt::join(paths, ", ")));
}

}  // namespace chorus::cli
