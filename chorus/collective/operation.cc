#include "chorus/collective/operation.h"

namespace chorus {

void Operation::Reset() {
  deadline.reset();
  started = false;
  done = false;
  shape.reset();
  detour.clear();
  status = OkStatus();
  callbacks.clear();
}

}  // namespace chorus
