// Writing what catalogues hold.
#pragma once

#include <string>

#include "chorus/topology/hardware.h"

namespace chorus {

// The section [hardware.NAME] of a catalogue: Catalogue::Parse of it gives the same hardware again.
// Thread safety: pure.
std::string HardwareText(const Hardware& hardware);

}  // namespace chorus
