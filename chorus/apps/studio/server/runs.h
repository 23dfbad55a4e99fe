// The folder of the page Runs: what chorus bench -J, chorus train --json and --trace wrote.
#pragma once

#include <string>

#include "chorus/apps/answer/json.h"
#include "chorus/base/status.h"

namespace chorus::studio {

inline constexpr std::size_t kMostFiles = 1000;
inline constexpr std::size_t kMostFileBytes = std::size_t{32} * 1024 * 1024;
inline constexpr std::size_t kMostRows = 20'000;

// {"folder", "files": [{"file", "bytes", "kind"}]}, newest first: the plain files of `folder`
// itself. Links are not followed. Without a folder ("") there are none.
Result<answer::Json> ListRuns(const std::string& folder);

// {"file", "kind", "rows", "skipped"}. `file` is a name that ListRuns gives: nothing else is
// opened. A file is one JSON document, which is one row; or a document a line; or a Chrome trace,
// whose rows are the events that last (X) or name a thread (M). Errors: another name; a file that
// is too large or holds no JSON.
Result<answer::Json> ReadRun(const std::string& folder, const std::string& file);

}  // namespace chorus::studio
