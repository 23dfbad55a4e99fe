// chorus hardware: what is known of accelerators and links, with sources.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/apps/answer/machine_choice.h"

namespace chorus::answer {

struct HardwareQuestion {
  std::string name;                     // hardware, a machine, or a file; empty: all there is
  std::vector<std::string> catalogues;  // files that add hardware
};

struct HardwareAnswer {
  Catalogue catalogue;
  std::optional<Hardware> one;     // of a bare name, "h100"
  std::optional<Machine> machine;  // of a machine, "h100-8", or a file
};

Result<HardwareAnswer> Answer(const HardwareQuestion& question);
// An object of one, an array of all.
Json ToJson(const HardwareAnswer& answer);
Json HardwareJson(const Hardware& hardware);

}  // namespace chorus::answer
