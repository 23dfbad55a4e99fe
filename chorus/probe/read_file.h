// Reading files of this host.
#pragma once

#include <string>
#include <string_view>

#include "chorus/base/status.h"

namespace chorus {

// The bytes of the file at `path`, all at once. `what` and `right` are for the message:
// ReadFile("a.toml", "configuration", "give the path of a TOML file") fails with NotFound and
// "configuration 'a.toml' cannot be read (No such file or directory); give the path of a TOML
// file". Thread safety: any thread.
Result<std::string> ReadFile(const std::string& path, std::string_view what,
                             std::string_view right);

}  // namespace chorus
