// Reading quantities with their units: "450 GB/s", "400 Gbit/s", "1.2 us", "989 TFLOP/s".
//
// A number without a unit is refused: a table that mixes bits and bytes is the commonest fault of
// bandwidth figures. Bandwidth is of one direction. Thread safety: pure.
#pragma once

#include <string>
#include <string_view>

#include "chorus/base/status.h"
#include "chorus/base/units.h"

namespace chorus {

// Errors: no number, no unit, a unit of something else or unknown (the units that exist are named);
// negative or not finite.
Result<BytesPerSecond> ParseBandwidth(std::string_view text);  // B/s, KB/s ... TiB/s, Gbit/s
Result<Seconds> ParseSeconds(std::string_view text);           // ns, us, ms, s
Result<FlopsPerSecond> ParseFlopRate(std::string_view text);   // GFLOP/s, TFLOP/s, PFLOP/s

// "450 GB/s", "62.5 MB/s"; powers of 1000, as data sheets have them.
std::string ToString(BytesPerSecond bandwidth);
// "140 GB", "231.2 MB", "8 B": powers of 1000, of sizes that need not be whole.
std::string DecimalBytes(double bytes);
// "989 TFLOP/s".
std::string ToString(FlopsPerSecond rate);

}  // namespace chorus
