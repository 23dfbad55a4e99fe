// chorus bench: how long the collectives take here.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

void AddBench(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
