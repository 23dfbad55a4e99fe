// chorus studio: see chorus/apps/studio/server/studio.h.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

void AddStudio(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
