#include "chorus/topology/hardware.h"

namespace chorus {

// The text of catalogue.toml, written into a source file by the build.
extern const char* const kCatalogueText;

const Catalogue& Catalogue::BuiltIn() {
  static const Catalogue catalogue = *Parse(kCatalogueText, "catalogue.toml");
  return catalogue;
}

}  // namespace chorus
