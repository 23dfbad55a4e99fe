// Files of tests. Programs of tests run beside each other, so none may share a name.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace chorus {

// The path of `name` in a folder that this process alone has. The folder goes with the process,
// whatever is in it by then; processes forked from this one use it and leave it.
inline std::string TestPath(const std::string& name) {
  struct Folder {
    Folder() : path(testing::TempDir() + "chorus-test-XXXXXX"), owner(getpid()) {
      if (mkdtemp(path.data()) == nullptr) std::abort();
    }
    ~Folder() {
      std::error_code ignored;
      if (getpid() == owner) std::filesystem::remove_all(path, ignored);
    }
    std::string path;
    pid_t owner;
  };
  static const Folder folder;
  return folder.path + "/" + name;
}

}  // namespace chorus
