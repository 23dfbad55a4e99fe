// Writing files of this host.
#pragma once

#include <string>
#include <string_view>

#include "chorus/base/status.h"

namespace chorus {

// Makes `text` all that is in the file at `path`, or changes nothing: it is written beside it
// first, and takes its place when it is whole. A device or pipe takes it as it comes. `what` is for
// the message: WriteFile("a/b.svg", text, "--plot") fails with "--plot 'a/b.svg' cannot be written
// (No such file or directory); give the path of a file in a folder that is there". Errors:
// kInvalidArgument where another path would do, kResourceExhausted where the disk is full or fails.
// Thread safety: any thread.
Status WriteFile(const std::string& path, std::string_view text, std::string_view what);

}  // namespace chorus
