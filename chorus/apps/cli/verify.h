// chorus verify: proves schedules, built in or from a file.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddVerify(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
