// chorus estimate: what a collective, a product or a layer will cost, by formula, and why.
#pragma once

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds the command. `app` and `outcome` must outlive the parse.
void AddEstimate(CLI::App& app, Outcome& outcome);

}  // namespace chorus::cli
