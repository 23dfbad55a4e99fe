// `chorus run`: starts a program as the ranks of a job on this host.
#pragma once

#include <string>
#include <vector>

#include "chorus/apps/cli/command.h"

namespace chorus::cli {

// Of the arguments `run [OPTIONS] [--] PROGRAM [ARGUMENTS...]` takes off what belongs to the
// program, whose options are none of ours. Empty for other commands.
std::vector<std::string> TakeProgram(std::vector<std::string>& arguments);

// `program` must outlive the parsing.
void AddRun(CLI::App& app, const std::vector<std::string>& program, Outcome& outcome);

}  // namespace chorus::cli
