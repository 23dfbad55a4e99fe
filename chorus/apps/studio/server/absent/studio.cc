// chorus studio of a tool that was configured without it (CHORUS_BUILD_STUDIO=OFF).
#include "chorus/apps/studio/server/studio.h"

namespace chorus::studio {

Status RunStudio(const StudioOptions& /*options*/) {
  return Unsupported(
      "this chorus was built without the studio; configure it with -DCHORUS_BUILD_STUDIO=ON");
}

}  // namespace chorus::studio
