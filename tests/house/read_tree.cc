// The one part of the check that touches files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/house/law.h"

namespace chorus::house {

std::vector<SourceFile> ReadTree(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<SourceFile> files;
  const auto read = [&](const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    files.push_back({path.lexically_relative(root).generic_string(),
                     std::string(std::istreambuf_iterator<char>(in), {})});
  };
  for (const char* folder : {"chorus", "tests", "examples", "bench", "docs"}) {
    if (!fs::is_directory(fs::path(root) / folder)) continue;
    fs::recursive_directory_iterator at(fs::path(root) / folder);
    for (; at != fs::recursive_directory_iterator(); ++at) {
      const std::string name = at->path().filename().string();
      if (name == "node_modules" || name == "dist") {
        at.disable_recursion_pending();
      } else if (at->is_regular_file()) {
        read(at->path());
      }
    }
  }
  read(fs::path(root) / "CMakeLists.txt");
  read(fs::path(root) / "README.md");
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace chorus::house
