#include "chorus/program/plain_array.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace chorus {
namespace {

std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

// A (outer, dim, inner) view of an array around one dimension.
struct Around {
  Around(const Shape& shape, int dim)
      : outer(shape.elements(0, dim)),
        size(shape[dim]),
        inner(shape.elements(dim + 1, shape.rank())) {}
  std::int64_t outer, size, inner;
};

Shape WithSize(const Shape& shape, int dim, std::int64_t size) {
  std::vector<std::int64_t> sizes = shape.sizes();
  sizes[Index(dim)] = size;
  return Shape(std::move(sizes));
}

// Elements to step by in an array of indices `dims` when each index of `loop` grows by one; 0 if
// the array lacks it.
std::vector<std::int64_t> Strides(const Dims& loop, const Dims& dims, const Shape& shape) {
  std::vector<std::int64_t> strides;
  for (const std::string& index : loop) {
    const auto at = std::find(dims.begin(), dims.end(), index);
    const int dim = static_cast<int>(at - dims.begin());
    strides.push_back(at == dims.end() ? 0 : shape.elements(dim + 1, shape.rank()));
  }
  return strides;
}

// softmax of row b of logits (B, V)
std::vector<double> Softmax(const PlainArray& logits, std::int64_t b) {
  const std::int64_t v = logits.shape[1];
  const auto begin = logits.elements.begin() + b * v;
  const double max = *std::max_element(begin, begin + v);
  std::vector<double> p(begin, begin + v);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - max);
  for (double& x : p) x /= sum;
  return p;
}

constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

}  // namespace

PlainArray Filled(const Shape& shape, double number) {
  return {shape, std::vector<double>(Index(shape.elements()), number)};
}

PlainArray Cut(const PlainArray& from, int dim, std::int64_t begin, std::int64_t size) {
  const Around view(from.shape, dim);
  assert(0 <= begin && begin + size <= view.size);
  PlainArray part = Filled(WithSize(from.shape, dim, size), 0);
  for (std::int64_t o = 0; o < view.outer; ++o) {
    const auto source = from.elements.begin() + (o * view.size + begin) * view.inner;
    std::copy_n(source, size * view.inner, part.elements.begin() + o * size * view.inner);
  }
  return part;
}

void Paste(PlainArray& to, int dim, std::int64_t begin, const PlainArray& part) {
  const Around view(to.shape, dim);
  const std::int64_t size = part.shape[dim];
  assert(0 <= begin && begin + size <= view.size);
  for (std::int64_t o = 0; o < view.outer; ++o) {
    const auto target = to.elements.begin() + (o * view.size + begin) * view.inner;
    std::copy_n(part.elements.begin() + o * size * view.inner, size * view.inner, target);
  }
}

void AddTo(PlainArray& to, const PlainArray& addend) {
  assert(to.shape == addend.shape);
  for (std::size_t i = 0; i < to.elements.size(); ++i) to.elements[i] += addend.elements[i];
}

PlainArray Contract(const OpRule& rule, const PlainArray& a, const PlainArray& b,
                    const Shape& result) {
  const std::vector<std::int64_t> step_a = Strides(rule.loop, rule.operands[0], a.shape);
  const std::vector<std::int64_t> step_b = Strides(rule.loop, rule.operands[1], b.shape);
  const std::vector<std::int64_t> step_c = Strides(rule.loop, rule.result, result);
  std::vector<std::int64_t> size;
  for (const std::string& index : rule.loop) {
    const Dims& in_a = rule.operands[0];
    const Dims& in_b = rule.operands[1];
    const auto at = std::find(in_a.begin(), in_a.end(), index);
    size.push_back(
        at != in_a.end()
            ? a.shape[static_cast<int>(at - in_a.begin())]
            : b.shape[static_cast<int>(std::find(in_b.begin(), in_b.end(), index) - in_b.begin())]);
  }
  PlainArray c = Filled(result, 0);
  if (std::find(size.begin(), size.end(), 0) != size.end()) return c;
  // An odometer over all indices, the last one fastest.
  std::vector<std::int64_t> at(size.size(), 0);
  std::int64_t ia = 0;
  std::int64_t ib = 0;
  std::int64_t ic = 0;
  while (true) {
    c.elements[Index(ic)] += a.elements[Index(ia)] * b.elements[Index(ib)];
    std::size_t d = size.size();
    while (d > 0) {
      --d;
      ia += step_a[d];
      ib += step_b[d];
      ic += step_c[d];
      if (++at[d] < size[d]) break;
      ia -= step_a[d] * size[d];
      ib -= step_b[d] * size[d];
      ic -= step_c[d] * size[d];
      at[d] = 0;
      if (d == 0) return c;
    }
    if (size.empty()) return c;
  }
}

double Gelu(double x) {
  return 0.5 * x * (1 + std::tanh(kGeluScale * (x + kGeluCubic * x * x * x)));
}

double GeluSlope(double x) {
  const double t = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluScale * (1 + 3 * kGeluCubic * x * x);
}

PlainArray EmbedWindow(const PlainArray& tokens, const PlainArray& table, std::int64_t v0) {
  const std::int64_t rows = tokens.shape[0];
  const std::int64_t window = tokens.shape[1];
  const std::int64_t vocabulary = table.shape[1];
  const std::int64_t width = table.shape[2];
  PlainArray x = Filled(Shape({rows, width}), 0);
  for (std::int64_t b = 0; b < rows; ++b) {
    for (std::int64_t w = 0; w < window; ++w) {
      const auto v = static_cast<std::int64_t>(tokens.elements[Index(b * window + w)]) - v0;
      if (v < 0 || v >= vocabulary) continue;
      for (std::int64_t d = 0; d < width; ++d) {
        x.elements[Index(b * width + d)] += table.elements[Index((w * vocabulary + v) * width + d)];
      }
    }
  }
  return x;
}

PlainArray EmbedWindowGrad(const PlainArray& tokens, const PlainArray& dx, const Shape& shape,
                           std::int64_t v0) {
  const std::int64_t rows = tokens.shape[0];
  const std::int64_t window = tokens.shape[1];
  const std::int64_t vocabulary = shape[1];
  const std::int64_t width = shape[2];
  PlainArray dtable = Filled(shape, 0);
  for (std::int64_t b = 0; b < rows; ++b) {
    for (std::int64_t w = 0; w < window; ++w) {
      const auto v = static_cast<std::int64_t>(tokens.elements[Index(b * window + w)]) - v0;
      if (v < 0 || v >= vocabulary) continue;
      for (std::int64_t d = 0; d < width; ++d) {
        dtable.elements[Index((w * vocabulary + v) * width + d)] +=
            dx.elements[Index(b * width + d)];
      }
    }
  }
  return dtable;
}

PlainArray CrossEntropy(const PlainArray& logits, const PlainArray& targets, double global_b) {
  double sum = 0;
  for (std::int64_t b = 0; b < logits.shape[0]; ++b) {
    const auto target = static_cast<std::int64_t>(targets.elements[Index(b)]);
    sum -= std::log(Softmax(logits, b)[Index(target)]);
  }
  return {Shape(), {sum / global_b}};
}

PlainArray CrossEntropyGrad(const PlainArray& logits, const PlainArray& targets,
                            const PlainArray& dloss, double global_b) {
  PlainArray dlogits = Filled(logits.shape, 0);
  const double scale = dloss.elements[0] / global_b;
  const std::int64_t vocabulary = logits.shape[1];
  for (std::int64_t b = 0; b < logits.shape[0]; ++b) {
    const std::vector<double> p = Softmax(logits, b);
    const auto target = static_cast<std::int64_t>(targets.elements[Index(b)]);
    for (std::int64_t v = 0; v < vocabulary; ++v) {
      dlogits.elements[Index(b * vocabulary + v)] = scale * (p[Index(v)] - (v == target ? 1 : 0));
    }
  }
  return dlogits;
}

}  // namespace chorus
