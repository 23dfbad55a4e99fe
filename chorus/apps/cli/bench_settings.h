// What the command line of `chorus bench` asks for, checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/apps/cli/bench_buffers.h"
#include "chorus/apps/cli/bench_case.h"
#include "chorus/schedule/schedule.h"

namespace chorus::cli {

// How the ranks' times become one: -a 0, 1, 2, 3.
enum class BenchAverage : std::uint8_t { kRankZero, kAverage, kMinimum, kMaximum };

// How the -m calls of an iteration are made.
enum class BenchCalls : std::uint8_t {
  kSync,        // one: its synchronous form; several: as kAsync
  kAsync,       // all in flight, then waited for
  kList,        // a CallList of them
  kPersistent,  // PersistentCalls of them, prepared before
};
// "sync", "async", "list", "persistent".
std::string_view Name(BenchCalls calls);

struct BenchSettings {
  std::vector<OpKind> ops;
  std::vector<DType> dtypes;
  std::vector<ReduceOp> reduces;  // empty: all of each dtype
  std::vector<std::int64_t> sizes;
  std::int64_t maximum = 0;  // for the head, as the next two
  std::int64_t step = 0;
  double factor = 1;
  int ranks = 2;
  int iterations = 20;
  int warmup = 1;
  int aggregated = 1;
  int cycles = 1;  // 0: for ever
  BenchAverage average = BenchAverage::kAverage;
  int checks = 1;
  bool all_roots = false;
  int root = 0;
  int unaligned = 0;  // elements
  std::chrono::milliseconds timeout{0};
  BenchMemory memory = BenchMemory::kOrdinary;
  BenchCalls calls = BenchCalls::kSync;
  bool strict = false;
  std::vector<std::string> algorithms = {""};  // that are compared; "": what the group chooses
  std::shared_ptr<const Schedule> schedule;

  std::vector<ReduceOp> ReducesOf(OpKind op, DType dtype) const;
  std::vector<int> RootsOf(OpKind op) const;
};

}  // namespace chorus::cli
