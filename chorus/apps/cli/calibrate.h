// chorus calibrate: makes a machine file of measurements.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddCalibrate(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
