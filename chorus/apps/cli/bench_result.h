// What `chorus bench` found, as values: how it is printed, written and drawn follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/cli/bench_case.h"

namespace chorus::cli {

// One way to call, out of place or in place.
struct BenchTiming {
  double time_us = 0;       // of one call, over ranks as -a says
  double median_us = 0;     // the same, of the middle one of five parts of the calls
  std::int64_t wrong = -1;  // elements, over all ranks; -1: not checked
};

// The own checks of one size (--strict).
struct BenchChecks {
  bool equal_bits = true;    // what all ranks must have alike they have to the last bit
  double error_ulp = -1;     // largest error against f64; -1: no floats are summed
  double error_allowed = 0;  // what error_ulp may be
  bool uneven = true;        // counts that ranks do not divide, and the v-variants
  bool zero = true;          // no element at all
  bool ok() const { return equal_bits && uneven && zero && !(error_ulp > error_allowed); }
};

struct BenchRow {
  BenchCase what;
  std::string asked;      // the algorithm asked for; empty: the group chose
  std::string algorithm;  // that ran: "ring"
  std::string way;        // what moved its bytes: "mapped or stages"
  std::optional<BenchTiming> out_of_place;
  std::optional<BenchTiming> in_place;
  double bound_us = 0;  // of moving the least bytes, measured beside it; 0: there is none
  std::optional<BenchChecks> checks;

  // GB/s, 1 GB = 1e9 bytes.
  double AlgBandwidth(const BenchTiming& t) const;
  double BusBandwidth(const BenchTiming& t) const;
  // bound / time out of place.
  std::optional<double> FractionOfBound() const;
  std::int64_t wrong() const;
};

struct BenchReport {
  std::vector<BenchRow> rows;

  std::int64_t wrong() const;
  // Plain mean over all timings, as nccl-tests has it, GB/s.
  double AverageBusBandwidth() const;
  bool checks_ok() const;
};

}  // namespace chorus::cli
