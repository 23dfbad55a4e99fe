// --on and the options that change the machine it names.
#pragma once

#include "chorus/apps/answer/machine_choice.h"
#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Adds --on, --catalogue, --bandwidth, --latency, --wrap. `options` must outlive the parse.
void AddMachineOptions(CLI::App& command, answer::MachineOptions& options);

}  // namespace chorus::cli
