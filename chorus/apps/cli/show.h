// chorus show: prints a schedule step by step.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddShow(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
