// Hardware: what is known of an accelerator and of what joins it to others, figure by figure.
//
// Every figure says where it comes from. Where sources differ all stand: one is the default, the
// others are `also`, and `chorus hardware` prints them. Bandwidth is per direction.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/base/units.h"
#include "chorus/topology/topology.h"

namespace chorus {

struct Figure {
  struct Other {
    double value = 0;
    std::string source;
    friend bool operator==(const Other&, const Other&) = default;
  };
  double value = 0;  // in the unit of its key: B, B/s, s, FLOP/s, or a count
  std::string source;
  std::string note;
  std::vector<Other> also;  // what other sources say
  friend bool operator==(const Figure&, const Figure&) = default;
};

// The unit a figure is written in: a catalogue says "450 GB/s", and a number alone is refused.
enum class FigureUnit : std::uint8_t { kCount, kBytes, kBandwidth, kSeconds, kFlopRate };

struct FigureKey {
  std::string_view key;
  FigureUnit unit;
  std::string_view means;
};
// Every figure there can be, in the order in which they are printed.
const std::vector<FigureKey>& FigureKeys();
// Reads a figure of one key: "450 GB/s", "8". Errors: as base/rate.h and ParseBytes.
Result<double> ParseFigure(const FigureKey& key, std::string_view text);
// "450 GB/s".
std::string FigureText(FigureUnit unit, double value);

// Which axes of a slice of a torus get the link from the last device back to the first.
enum class WrapRule : std::uint8_t {
  kAlways,
  kNever,
  kWholeAxis,  // an axis of full length (`whole_axis` devices) only
  kCubes,  // every axis, if all are multiples of 4: whole 4x4x4 cubes joined by optical switches
};
std::string_view Name(WrapRule rule);  // "always", "never", "whole_axis", "cubes"

struct Hardware {
  std::string name;  // "h100"
  std::string title;
  std::string note;
  Fabric fabric = Fabric::kSwitch;
  std::int64_t node_size = 1;         // devices in a whole node; of a torus unused
  std::int64_t torus_axes = 0;        // the most axes a slice has
  std::int64_t whole_axis = 0;        // the longest axis
  WrapRule wrap = WrapRule::kAlways;  // of a torus
  bool switch_reduces = false;
  std::string nccl;  // generation in NCCL's tuning tables: "volta", "ampere", "hopper", "blackwell"
  std::map<std::string, Figure, std::less<>> figures;  // by key
  friend bool operator==(const Hardware&, const Hardware&) = default;

  const Figure* Find(std::string_view key) const;  // null if there is none
  double ValueOr(std::string_view key, double otherwise) const;
  // Errors: not found, naming the hardware and the key.
  Result<double> Value(std::string_view key) const;
};

class Catalogue {
 public:
  // What Chorus knows by itself. Valid for ever.
  static const Catalogue& BuiltIn();
  // Reads a catalogue: [hardware.NAME] sections. `origin` names it in errors, which say the line
  // and what would be right.
  static Result<Catalogue> Parse(std::string_view text, const std::string& origin);

  // Adds all of `other`; what has the same name is replaced.
  void Merge(const Catalogue& other);
  // Errors: not found, with the nearest name. Case and a leading "tpu-" or "tpu_" do not matter.
  Result<const Hardware*> Find(std::string_view name) const;
  std::vector<std::string> Names() const;
  const std::vector<Hardware>& all() const { return hardware_; }

 private:
  std::vector<Hardware> hardware_;  // in the order of the file
};

}  // namespace chorus
