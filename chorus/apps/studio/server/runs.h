// The folder of the page Runs: what chorus bench -J, chorus train --json and --trace wrote.
#pragma once

#include <string>

#include "chorus/apps/answer/json.h"
#include "chorus/base/status.h"

namespace chorus::studio {

inline constexpr std::size_t kMostFiles = 1000;
inline constexpr std::size_t kMostFileBytes = std::size_t{32} * 1024 * 1024;

// {"folder", "files": [{"file", "bytes", "kind"}]}, newest first: the plain files of `folder`
// itself. Links are not followed. Without a folder ("") there are none. What is no UTF-8 in a name
// is written "\\xE9".
Result<answer::Json> ListRuns(const std::string& folder);

// {"file", "kind", "rows", "skipped", "every"}, as ReadRows. `file` is a name that ListRuns gives:
// nothing else is opened. Errors: another name; a file that is too large or holds no JSON.
Result<answer::Json> ReadRun(const std::string& folder, const std::string& file);

}  // namespace chorus::studio
