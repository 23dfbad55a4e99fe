// chorus hardware: what the catalogue knows, figure by figure, with sources.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddHardware(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
