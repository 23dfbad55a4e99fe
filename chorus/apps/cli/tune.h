// chorus tune: measures which algorithms are fastest on this machine and stores that.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

void AddTune(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
