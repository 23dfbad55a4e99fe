// chorus explain: what a sharded matrix product costs and why.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddExplain(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
