#include "chorus/launch/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace chorus {
namespace {

bool IsFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

Result<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!IsFile(name)) return NotFound(fmt::format("there is no program '{}'", name));
    if (access(name.c_str(), X_OK) != 0) {
      return NotFound(fmt::format("'{0}' is not executable; chmod +x {0} would make it so", name));
    }
    return name;
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody here sets it
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (IsFile(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  const bool is_here = !name.empty() && IsFile(name);
  return NotFound(is_here ? fmt::format("there is no program '{0}' in PATH; for the one in this "
                                        "folder write ./{0}",
                                        name)
                          : fmt::format("there is no program '{}' in PATH", name));
}

}  // namespace chorus
