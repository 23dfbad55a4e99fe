#include "chorus/shard/gradient.h"

#include <algorithm>
#include <string>

namespace chorus {
namespace {

// "dA", or with more letters d if an operand is called so.
std::string GradientName(const Product& product, const std::string& of) {
  std::string name = "d" + of;
  const auto taken = [&name](const Spec& spec) { return spec.name() == name; };
  while (std::any_of(product.operands.begin(), product.operands.end(), taken)) name.insert(0, "d");
  return name;
}

Spec GradientSpec(const Product& product, const Spec& of) {
  return of.WithPartial({})->WithName(GradientName(product, of.name()));
}

}  // namespace

Product GradientOf(const Product& product, std::size_t operand, const Spec& result_lies) {
  Product gradient;
  gradient.operands.push_back(GradientSpec(product, result_lies.WithName(product.result.name())));
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    if (k != operand) gradient.operands.push_back(product.operands[k]);
  }
  gradient.wanted = GradientSpec(product, product.operands[operand]);
  gradient.result = Spec::Whole(gradient.wanted->name(), gradient.wanted->DimNames());
  return gradient;
}

}  // namespace chorus
