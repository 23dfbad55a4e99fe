#include "chorus/launch/environment.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace chorus {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kLastPort = 65535;

Result<int> Needed(const char* name, std::optional<int> given, int least, int most) {
  if (given.has_value()) {
    if (*given >= least && *given <= most) return *given;
    return InvalidArgument(
        fmt::format("{} is {}; it must be from {} to {}", name, *given, least, most));
  }
  CHORUS_ASSIGN_OR_RETURN(const std::optional<int> value, NumberFromEnvironment(name, least, most));
  if (value.has_value()) return *value;
  return InvalidArgument(
      fmt::format("{} is not set: start the program with `chorus run -n 2 PROGRAM`, or set RANK, "
                  "WORLD_SIZE and "
                  "MASTER_PORT for each process",
                  name));
}

}  // namespace

Result<std::optional<int>> NumberFromEnvironment(const char* name, int least, int most) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody here sets it
  if (text == nullptr) return std::optional<int>();
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    return InvalidArgument(
        fmt::format("{}='{}' is not a whole number from {} to {}", name, text, least, most));
  }
  return std::optional<int>(value);
}

Result<JobPlace> PlaceInJob(std::optional<int> rank, std::optional<int> size,
                            std::optional<int> port) {
  JobPlace place;
  CHORUS_ASSIGN_OR_RETURN(place.size, Needed("WORLD_SIZE", size, 1, kMost));
  CHORUS_ASSIGN_OR_RETURN(place.rank, Needed("RANK", rank, 0, kMost));
  if (place.rank >= place.size) {
    return InvalidArgument(fmt::format("RANK is {} but WORLD_SIZE is {}; ranks are 0 to {}",
                                       place.rank, place.size, place.size - 1));
  }
  if (place.size > 1) {
    CHORUS_ASSIGN_OR_RETURN(place.port, Needed("MASTER_PORT", port, 1, kLastPort));
  }
  const char* const job = std::getenv("CHORUS_JOB");  // NOLINT(concurrency-mt-unsafe): as above
  if (job != nullptr) place.job = job;
  return place;
}

}  // namespace chorus
