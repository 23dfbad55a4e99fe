// Measurements: what logs say about the time of collectives, and which of their rows count.
//
// Thread safety: pure; a log is a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/topology/machine.h"

namespace chorus {

struct Measurement {
  std::string op;  // "all_reduce"
  std::int64_t ranks = 0;
  std::int64_t nodes = 1;
  double bytes = 0;            // as nccl-tests counts them
  double seconds = 0;          // of one call, out of place
  std::string algorithm = {};  // "ring"; empty if the log does not say it
  std::string log = {};        // the file in which it stands
  std::int64_t in_a_node = 0;  // ranks in the fullest; 0 if the log does not say it
  std::int64_t root = -1;      // of an operation that has one; -1 if the log does not say it
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// What logs hold: measurements, and the rows that are none. Every reader of logs hands its rows to
// Take, which alone decides.
class MeasurementLog {
 public:
  struct LeftOut {
    std::string why;    // "its result is wrong (#wrong is not 0)"
    std::string first;  // "my.log:7", where the first of them stands
    std::int64_t rows = 0;
    friend bool operator==(const LeftOut&, const LeftOut&) = default;
  };

  // Keeps the row, or leaves it out with the reason: no operation, a number of ranks or nodes that
  // cannot be, a root that is no rank, no bytes or more than a machine file says, a time that is
  // none, a wrong result. The root of an operation that has none is dropped. `wrong` counts
  // elements, 0 where nothing was checked. `place` is where the row stands.
  void Take(Measurement row, double wrong, const std::string& place);
  // Of a row that cannot be read so far.
  void LeaveOut(std::string why, const std::string& place);
  void Append(const MeasurementLog& other);

  const std::vector<Measurement>& measurements() const { return measurements_; }
  // By reason, in the order in which they were met first.
  const std::vector<LeftOut>& left_out() const { return left_out_; }
  // "left out: 3 rows, the first my.log:7: it has no bytes"; one for each reason.
  std::vector<std::string> Remarks() const;

 private:
  std::vector<Measurement> measurements_;
  std::vector<LeftOut> left_out_;
};

// The middle one; of two the mean. REQUIRES: at least one.
double MedianOf(std::vector<double> values);

// True if the curve is of the question that the row answers: operation, ranks, nodes and root.
bool IsOf(const Measurement& row, const FittedCurve& curve);
// "all_reduce over 2 ranks", "broadcast over 4 ranks from root 3".
std::string QuestionText(std::string_view op, std::int64_t ranks, std::int64_t root);

// One measurement for each operation, ranks, nodes, root and size, in the order in which each came
// first: the median time of all that there are, so that sweeps repeated outweigh a disturbed one.
std::vector<Measurement> Medians(const std::vector<Measurement>& measurements);

// "all_reduce" of "all_reduce_perf", "AllReduce", "alltoall"; "" if it is none.
std::string OperationOfName(std::string_view name);

}  // namespace chorus
