// --dims: the sizes of a product, layer or training step by letter, and the laws between them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/mesh/spec.h"

namespace chorus::answer {

// Reads "B=4096,D=8192" and holds the laws that a question declares:
//
//   CHORUS_ASSIGN_OR_RETURN(Dims dims, Dims::Read(text, {"D"}, {"H", "K"}));
//   dims.Needs("K", {"H"}).Divides("H", "D").Divides("K", "H");
//   CHORUS_RETURN_IF_ERROR(dims.Laws());
class Dims {
 public:
  // Errors: a size that is none, a letter that is not in `needed` or `optional`, one that is needed
  // and missing.
  static Result<Dims> Read(const std::string& text, const std::vector<std::string>& needed,
                           const std::vector<std::string>& optional);

  double operator()(std::string_view name, double otherwise = 0) const;
  bool Has(std::string_view name) const { return sizes_.find(name) != sizes_.end(); }

  // Laws. Each holds where `name`, or what it is compared with, is not given.
  Dims& AtMost(std::string_view name, std::int64_t most, std::string_view why);
  Dims& AtMost(std::string_view name, std::string_view other, std::string_view why);
  Dims& Divides(std::string_view name, std::string_view whole);
  Dims& Needs(std::string_view name, const std::vector<std::string>& others);

  // Ok, or the first law that is broken, with what would be right.
  const Status& Laws() const { return broken_; }

 private:
  void Break(const std::string& message);

  DimSizes sizes_;
  Status broken_;
};

}  // namespace chorus::answer
