// `chorus train`: trains a model as a TOML file says.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

void AddTrain(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
