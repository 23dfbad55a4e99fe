// Finding a program as a shell would.
#pragma once

#include <string>

#include "chorus/base/status.h"

namespace chorus {

// The path to execute for `name`: itself if it has a slash, else the first in PATH.
// Errors: kNotFound, saying where was looked or what is not executable.
Result<std::string> FindProgram(const std::string& name);

}  // namespace chorus
