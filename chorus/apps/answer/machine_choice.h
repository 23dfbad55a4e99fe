// What estimate, simulate, hardware and calibrate share: the machine that a question means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/topology/machine.h"

namespace chorus::answer {

struct MachineOptions {
  std::string on;                       // a name or a file
  std::vector<std::string> catalogues;  // files that add hardware
  std::string bandwidth;                // of the fabric's link, instead of the catalogue's
  std::string latency;
  bool wrap = false;  // every axis must wrap
};

// The built-in catalogue and those of the files. Errors: a file that is none or cannot be read.
Result<Catalogue> ReadCatalogue(const std::vector<std::string>& files);
// What stands after --on, --like or `hardware`: a word that has a dot or a slash is a file, another
// a name. Errors: as MachineNamed and ParseMachine.
Result<Machine> MachineOn(const std::string& on, const Catalogue& catalogue);
// The machine of --on, with what the other options change. Errors: as MachineOn.
Result<Machine> ChosenMachine(const MachineOptions& options);

// Error if options change a machine and --on names none. For questions that may do without.
Status CheckMachineIsNamed(const MachineOptions& options);

// What --ranks says: all devices where it is not given. Errors: none of 1 to the devices there are.
Result<std::int64_t> RanksOn(const Machine& machine, std::optional<std::int64_t> ranks);

// Of --root: one of the ranks.
Status CheckRoot(std::int64_t root, std::int64_t ranks);
// The option that changes a link of the machine, for refusals of what follows from it; `otherwise`
// if none does.
std::string_view LinkOption(const MachineOptions& options, std::string_view otherwise);

// The sizes of the slice of a torus that has as nearly as many devices as `ranks`, as like a cube
// as there is. REQUIRES: a torus.
std::vector<std::int64_t> NearestSlice(const Topology& torus, std::int64_t ranks);

// "1KiB..1GiB" as powers of two of the first up to the last, "16GB" as itself, "1KB,2KB" as those.
// Errors name what would be right; more than `most` sizes are one.
inline constexpr std::size_t kMostSizes = 256;
Result<std::vector<Bytes>> ParseByteRange(const std::string& text, std::size_t most = kMostSizes);

// Of --accumulator-ratio: a partial sum has 1 to 8 times the bytes of an element.
Status CheckAccumulatorRatio(double ratio);

// The nearest whole number of bytes from 0 to 2^63 - 1: formulas and sums of many messages are of
// doubles, which hold more.
Bytes WholeBytes(double bytes);

// "16 GB", "1 MiB": the size as people write it, whichever kind of unit is whole.
std::string SizeText(Bytes bytes);

}  // namespace chorus::answer
