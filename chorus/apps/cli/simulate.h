// chorus simulate: carries out a schedule on a machine, event by event.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddSimulate(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
