#include "chorus/apps/studio/server/pages.h"

#include <fmt/format.h>

#include <utility>

#include "chorus/base/fnv.h"
#include "chorus/base/scanner.h"
#include "chorus/probe/read_file.h"

namespace chorus::studio {
namespace {

constexpr std::pair<std::string_view, std::string_view> kContentTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".woff2", "font/woff2"},
    {".txt", "text/plain; charset=utf-8"},
    {".webmanifest", "application/manifest+json"}};

std::string ContentTypeOf(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view ending = dot == std::string_view::npos ? "" : path.substr(dot);
  for (const auto& [name, type] : kContentTypes) {
    if (ending == name) return std::string(type);
  }
  return "application/octet-stream";
}

Status NoSuchPage(std::string_view path) {
  return NotFound(fmt::format("there is no page {}; begin at /", path.substr(0, 100)));
}

bool IsSafe(std::string_view path) {
  char before = '/';
  for (const char c : path.substr(1)) {
    if (!IsAlnum(c) && c != '-' && c != '_' && c != '.' && c != '/') return false;
    if ((c == '.' || c == '/') && before == '/') return false;
    before = c;
  }
  return true;
}

}  // namespace

Result<Page> BuiltInPage(std::string_view path) {
  if (kBuiltInFileCount == 0) return Unsupported(kWhyNoPages);
  if (path == "/") path = "/index.html";
  for (int i = 0; i < kBuiltInFileCount; ++i) {
    const BuiltInFile& file = kBuiltInFiles[i];
    if (path != file.path) continue;
    const auto bytes = [](const unsigned char* begin, const unsigned char* end) {
      return std::string_view(reinterpret_cast<const char*>(begin), end - begin);
    };
    return Page{ContentTypeOf(path), file.etag, bytes(file.plain, file.plain_end),
                bytes(file.gzip, file.gzip_end), ""};
  }
  return NoSuchPage(path);
}

Result<Page> PageOfFolder(const std::string& folder, std::string_view path) {
  if (path == "/") path = "/index.html";
  if (path.empty() || path.front() != '/' || !IsSafe(path)) return NoSuchPage(path);
  Result<std::string> text =
      ReadFile(folder + std::string(path), "page", "give the folder that holds index.html");
  if (!text.ok()) return NoSuchPage(path);
  Page page{ContentTypeOf(path), "", {}, {}, *std::move(text)};
  page.etag = fmt::format("\"{:016x}\"", Fnv1a(page.owned));
  return page;
}

}  // namespace chorus::studio
