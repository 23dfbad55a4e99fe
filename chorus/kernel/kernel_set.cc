#include "chorus/kernel/kernel_set.h"

namespace chorus {

std::string_view Name(KernelSet set) { return set == KernelSet::kPlain ? "plain" : "fast"; }

std::optional<KernelSet> ParseKernelSet(std::string_view name) {
  if (name == "plain") return KernelSet::kPlain;
  if (name == "fast") return KernelSet::kFast;
  return std::nullopt;
}

}  // namespace chorus
