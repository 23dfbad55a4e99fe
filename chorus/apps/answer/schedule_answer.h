// A schedule carried out step by step: who sends what to whom, and what every rank holds after each
// step, as the proof found it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chorus/algorithm/algorithm.h"
#include "chorus/apps/answer/json.h"
#include "chorus/verify/verify.h"
#include "chorus/verify/watch.h"

namespace chorus::answer {

// All ranks are carried out side by side.
inline constexpr std::int64_t kMostScheduleRanks = 64;

struct ScheduleQuestion {
  std::string op;
  std::string algorithm;  // empty: the usual one
  std::int64_t ranks = 4;
  std::int64_t root = 0;
  std::string bytes = "1MiB";  // as nccl-tests counts it
  double accumulator_ratio = 1;
  bool relabel = false;  // name blocks so that rank i ends with the other chunk: i + 1, or i
};

struct ShownMessage {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t message = 0;
  std::vector<Chunk> read;     // of the sender
  std::vector<Chunk> written;  // of the receiver, one for one
  std::int64_t bytes = 0;
  std::int64_t arrives = 0;  // the step after which it has been received
};

struct ShownLocal {
  std::int64_t rank = 0;
  Step step;
};

// What one rank has of one block at most so far.
struct ShownCell {
  std::int64_t rank = 0;
  std::int64_t block = 0;
  std::vector<std::int64_t> ranks;  // whose contributions, ascending
  bool final = false;               // it is what the rank must end with
};

struct ShownWrite {
  std::int64_t rank = 0;
  HeldValue value;
};

// One round: the messages that may be under way at once, then what is done with what came.
struct ShownStep {
  std::vector<ShownMessage> messages;
  std::vector<ShownLocal> locals;
  std::vector<ShownWrite> writes;            // in the order in which they happen
  std::vector<ShownCell> cells;              // those that changed
  std::vector<std::int64_t> sent_bytes;      // by rank, all steps so far
  std::vector<std::int64_t> received_bytes;  // the same
  std::int64_t bytes = 0;                    // of its messages
  std::int64_t links = 0;                    // pairs (from, to) that have a message
};

// Rank i ends (a phase) with chunk (i + offset) mod N.
struct ChunkConvention {
  std::int64_t offset = 0;
  bool relabelled = false;
};

struct ScheduleAnswer {
  std::shared_ptr<const Algorithm> algorithm;
  std::string text;  // of the schedule as it is written
  Expansion expansion;
  std::vector<std::int64_t> block_bytes;
  std::optional<ChunkConvention> convention;
  Verdict verdict;  // of this N and root, out of place and in place
  std::vector<ShownWrite> start;
  std::vector<ShownCell> cells;  // before the first step
  std::vector<ShownStep> steps;
  std::int64_t total_bytes = 0;
};

Result<ScheduleAnswer> Answer(const ScheduleQuestion& question);
Json ToJson(const ScheduleAnswer& answer);

}  // namespace chorus::answer
