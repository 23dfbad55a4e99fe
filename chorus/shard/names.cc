#include "chorus/shard/names.h"

namespace chorus {

Dim operator/(const Dim& dim, const Axis& axis) {
  Dim split = dim;
  split.text_ += (dim.split_ ? "" : "_") + axis.name();
  split.split_ = true;
  return split;
}

ArrayTerm ArrayName::Term(const std::vector<std::string>& dims) const {
  std::string text = name_ + "[";
  for (std::size_t d = 0; d < dims.size(); ++d) text += (d == 0 ? "" : ", ") + dims[d];
  return ArrayTerm(text + "]");
}

}  // namespace chorus
