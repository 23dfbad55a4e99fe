// The pages as files: those built into the tool, or those of a folder.
#pragma once

#include <string>
#include <string_view>

#include "chorus/base/status.h"

namespace chorus::studio {

struct Page {
  std::string content_type;
  std::string etag;        // in quotes
  std::string_view plain;  // bytes that live as long as the process; empty: see owned
  std::string_view gzip;   // the same, compressed; empty: there is none
  std::string owned;       // of a folder
};

// One file that was built into the tool, as the generated source lists them.
struct BuiltInFile {
  const char* path;  // "/assets/index-1a2b.js"
  const char* etag;
  const unsigned char* plain;
  const unsigned char* plain_end;
  const unsigned char* gzip;
  const unsigned char* gzip_end;
};

// Of the generated source (CMakeLists.txt): all files, and, where there are none, why.
extern const BuiltInFile* const kBuiltInFiles;
extern const int kBuiltInFileCount;
extern const char* const kWhyNoPages;

// The file of "/" is index.html. Errors: not found; unsupported where the tool was built without
// pages, saying why and what to do.
Result<Page> BuiltInPage(std::string_view path);
// The same of a folder on disk, read anew each time. Only names of letters, digits, '-', '_' and
// '.', joined by '/', that do not begin with '.'.
Result<Page> PageOfFolder(const std::string& folder, std::string_view path);

}  // namespace chorus::studio
