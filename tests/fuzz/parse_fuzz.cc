// libFuzzer on everything that reads the notation: scripts/check-fuzz.sh.
//
// The first character of the input says which parser gets the rest. Whatever is accepted must come
// back equal from its own text; whatever is refused must say why, and what is to be written
// instead must be accepted.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chorus/mesh/mesh.h"
#include "chorus/mesh/notation.h"
#include "chorus/mesh/spec.h"
#include "chorus/program/program.h"
#include "chorus/shard/product.h"
#include "chorus/shard/spelling.h"

namespace {

void Require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(text.size()), text.data());
  std::abort();
}

// Reads, writes and reads again.
template <typename T>
void ThereAndBack(chorus::Result<T> (*parse)(std::string_view), std::string_view text) {
  const chorus::Result<T> read = parse(text);
  if (!read.ok()) {
    Require(!read.status().message().empty(), "refused without a word", text);
    return;
  }
  const std::string written = read->ToString();
  const chorus::Result<T> again = parse(written);
  Require(again.ok(), "what was written is refused", written);
  Require(*again == *read, "what was written is another", written);
}

void ReadProduct(std::string_view text) {
  ThereAndBack<chorus::Product>(chorus::ParseProduct, text);
  const auto accepts = [](std::string_view one) { return chorus::ParseProduct(one).ok(); };
  const std::string nearest = chorus::NearestProduct(text, accepts);
  Require(nearest.empty() || accepts(nearest), "what is to be written is refused", nearest);
  if (!accepts(text)) return;
  static const chorus::Mesh mesh = *chorus::Mesh::Parse("X=2,Y=3,Z=1");
  static const chorus::DimSizes sizes = {{"I", 5}, {"J", 7}, {"K", 3}, {"L", 1}};
  const chorus::Status status = chorus::CheckProduct(text, mesh, sizes);
  Require(status.ok() || !status.message().empty(), "refused without a word", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'P':
      ReadProduct(text);
      break;
    case 'S':
      ThereAndBack<chorus::Spec>(chorus::Spec::Parse, text);
      for (const std::string& spelling : chorus::SpellingsOf(text)) {
        Require(chorus::Spec::Parse(spelling).ok(), "what is to be written is refused", spelling);
      }
      break;
    case 'M':
      ThereAndBack<chorus::Mesh>(chorus::Mesh::Parse, text);
      break;
    case 'D': {
      const auto sizes = chorus::ParseDimSizes(text);
      if (!sizes.ok()) break;
      const auto again = chorus::ParseDimSizes(chorus::ToString(*sizes));
      Require(again.ok() && *again == *sizes, "sizes came back as others", text);
      break;
    }
    default:
      ThereAndBack<chorus::StepProgram>(chorus::StepProgram::Parse, text);
  }
  return 0;
}
