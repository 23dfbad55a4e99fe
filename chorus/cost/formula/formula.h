// Formula: the time of a collective in closed form, as terms that say where they come from.
//
// Start here. A formula is found by operation and algorithm, is given the numbers of a machine
// (wiring.h), and returns phases: so many rounds, in each of which the busiest link of the way that
// decides carries so many bytes. A latency model makes seconds of them:
//
//   sum    a round of n bytes takes latency + n / bandwidth; this is what the simulator does
//   max    a round takes max(latency, n / bandwidth): what the roofline-minded write
//   nccl   launch + hops x latency of a hop + bytes / bandwidth, each by protocol (nccl_model.h)
//
// It knows nothing of the simulator. Thread safety: pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/cost/formula/wiring.h"

namespace chorus {

enum class LatencyModel : std::uint8_t { kSum, kMax, kNccl };
std::string_view Name(LatencyModel model);  // "sum", "max", "nccl"
// Errors: not found, with the names.
Result<LatencyModel> ParseLatencyModel(std::string_view name);

// Bytes are those of nccl-tests: of all_gather and reduce_scatter the whole array, of all_to_all,
// gather and scatter what one rank (the root) sends or receives in all, else what a rank holds.
struct Question {
  std::string op;  // "all_reduce"
  double bytes = 0;
  std::int64_t root = 0;
  double accumulator_ratio = 1;  // bytes of a partial sum on the wire / bytes of an element
  // Those of the algorithm's name: 4 of "knomial:4". EstimateBySize fills them in.
  std::vector<std::int64_t> numbers;
};

// Rounds one after another in which the deciding link carries `bytes` each.
struct Phase {
  std::string factor;  // what is moved in all its rounds, of V: "2(N - 1)/N"
  double rounds = 0;
  double bytes = 0;          // a round
  BytesPerSecond bandwidth;  // of the deciding link, per direction
  Seconds latency;           // of a round
  std::string link;          // which link that is: "a port", "the ports of a node"
  bool between_nodes = false;
};

// How the phases of a formula follow each other.
enum class Together : std::uint8_t {
  kOneAfterAnother,
  kOverlapped,  // in pipeline: the slowest decides
};

class Timetable;

// What a formula finds: phases, or messages of which it depends on the size how they overlap.
struct Phases {
  std::vector<Phase> phases;
  Together together = Together::kOneAfterAnother;
  std::shared_ptr<const Timetable> messages = {};  // then there are no phases yet

  // Of these, which are of V = 1, those of V = `bytes`. Model max: latency hides behind bytes, so
  // which messages overlap is worked out without it.
  Phases At(double bytes, bool hides_latency) const;
};

struct Term {
  std::string reason;  // "2(N - 1)/N x 16 GB / 450 GB/s per direction = 62.2 ms"
  Seconds bandwidth;
  Seconds latency;
};

struct Estimate {
  std::string op;
  std::string algorithm;
  std::string protocol;  // of model nccl: "LL", "LL128", "Simple"
  LatencyModel model = LatencyModel::kSum;
  double bytes = 0;
  std::int64_t ranks = 1;
  Seconds time;
  Seconds bandwidth;  // its part
  Seconds latency;    // its part
  std::vector<Term> terms;
  BytesPerSecond algbw;  // bytes / time, as nccl-tests
  BytesPerSecond busbw;  // algbw x BusFactor: comparable with a link, for ring-like algorithms

  // "bandwidth bound", "latency bound", or both within a factor of 2.
  std::string Bound() const;
  // All terms and what bounds it, as one line.
  std::string Reason() const;
};

// A formula and what it is of. A name that ends in a colon takes numbers: "knomial:" of knomial:4.
struct Formula {
  std::string_view op;
  std::string_view algorithm;
  std::string_view idea;  // of a bound also of what
  // Of V = question.bytes = 1. Errors: kUnsupported where the machine has not what the algorithm
  // needs.
  Result<Phases> (*phases)(const Wiring& wiring, const Question& question);
};

const std::vector<Formula>& AllFormulas();
// Errors: not found, with the nearest name; kUnsupported if there is an algorithm but no formula.
Result<const Formula*> FindFormula(std::string_view op, std::string_view algorithm);
// The operations that have formulas, each once.
std::vector<std::string> FormulaOps();

// The estimates of one algorithm on a machine, for every size: what it takes long to list is listed
// once. Thread safety: a value.
class EstimateBySize {
 public:
  // question.bytes do not count. Errors: as FindFormula and the formula's own; no ranks, a root
  // that is none.
  static Result<EstimateBySize> Of(const Wiring& wiring, const Question& question,
                                   std::string_view algorithm, LatencyModel model);
  // Errors: a size that is negative; a time that never ends.
  Result<Estimate> At(double bytes) const;
  const std::string& algorithm() const { return algorithm_; }

 private:
  EstimateBySize(Wiring wiring, Question question, std::string algorithm, LatencyModel model)
      : wiring_(std::move(wiring)),
        question_(std::move(question)),
        algorithm_(std::move(algorithm)),
        model_(model) {}

  Wiring wiring_;
  Question question_;
  std::string algorithm_;
  LatencyModel model_;
  Phases phases_;  // of V = 1; not of model nccl, which has its own
};

// The same at one size.
Result<Estimate> EstimateCollective(const Wiring& wiring, const Question& question,
                                    std::string_view algorithm, LatencyModel model);

// The estimates of every formula of an operation that the machine allows, for every size.
class ComparisonBySize {
 public:
  // question.bytes do not count. Errors: an operation without formulas; none that the machine
  // allows.
  static Result<ComparisonBySize> Of(const Wiring& wiring, const Question& question,
                                     LatencyModel model);
  // Fastest first. Errors: as EstimateBySize.
  Result<std::vector<Estimate>> At(double bytes) const;
  // A whole number of bytes from which on `now` is faster than `before`, which is as fast with one
  // byte less; the least if it is the only one. REQUIRES: `before` is as fast with `low`, `now` is
  // faster with `high`; low < high. Errors: not found.
  Result<Bytes> FasterFrom(Bytes low, Bytes high, std::string_view before,
                           std::string_view now) const;

 private:
  Result<const EstimateBySize*> Find(std::string_view algorithm) const;

  std::vector<EstimateBySize> all_;
};

// The same at one size.
Result<std::vector<Estimate>> CompareAlgorithms(const Wiring& wiring, const Question& question,
                                                LatencyModel model);

// How an algorithm that takes numbers is called where all are compared on a machine: "knomial:" as
// knomial:4, "two_level:" as two_level:8 between nodes of 8 and "hierarchical:" alike, "torus:" as
// torus:4x8 on such a torus. Empty if there are no numbers that suggest themselves.
std::string ComparedName(std::string_view family, const Wiring& wiring);

// 2(n - 1)/n of all_reduce, (n - 1)/n of all_gather, reduce_scatter, all_to_all, gather, scatter,
// 1 of all others: what makes busbw of algbw in nccl-tests.
double BusFactor(std::string_view op, std::int64_t ranks);

// The least time that any algorithm needs on that machine: by the bytes that must cross the border
// of some set of devices (one device, a node, the nodes below a leaf switch, half of a torus),
// whichever takes longest, and by the latency of the messages that there must be. Where switches
// reduce an all_reduce need not leave a device twice, so the bound is below what messages alone can
// reach. Neither part is ever above an estimate of model sum or max, nor the bandwidth above one of
// nccl.
struct LowerBound {
  Seconds bandwidth;
  Seconds latency;
  std::string reason;  // "V / 450 GB/s per direction, its port: 35.6 ms"
};
LowerBound LowerBoundOf(const Wiring& wiring, const Question& question);

// The size at which two algorithms take the same time, found between 1 B and 2^50 B; empty if one
// is faster throughout.
std::optional<double> Crossover(const Wiring& wiring, const Question& question,
                                std::string_view algorithm, std::string_view other,
                                LatencyModel model);
// V* = N x latency x bandwidth: where latency and bandwidth of a ring all_reduce are equal.
double RingKnee(const Wiring& wiring);

}  // namespace chorus
