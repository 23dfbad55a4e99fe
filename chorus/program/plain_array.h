// PlainArray: an array in one piece, row-major, in f64, with the loops that the reference meaning
// of programs is made of. Slow and obvious on purpose.
//
// Thread safety: value type; functions are pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/base/shape.h"
#include "chorus/graph/op.h"

namespace chorus {

struct PlainArray {
  Shape shape;
  std::vector<double> elements;  // indices (tokens) are whole numbers, held exactly

  friend bool operator==(const PlainArray&, const PlainArray&) = default;
};

// Every element is `number`.
PlainArray Filled(const Shape& shape, double number);

// Indices [begin, begin + size) of dimension `dim`. REQUIRES: inside the array.
PlainArray Cut(const PlainArray& from, int dim, std::int64_t begin, std::int64_t size);
// Overwrites indices [begin, begin + part's size) of dimension `dim` of `to`.
void Paste(PlainArray& to, int dim, std::int64_t begin, const PlainArray& part);
// to += addend. REQUIRES: equal shapes.
void AddTo(PlainArray& to, const PlainArray& addend);

// (any, any) -> result: sum over the indices that the result lacks.
PlainArray Contract(const OpRule& rule, const PlainArray& a, const PlainArray& b,
                    const Shape& result);

// x -> gelu(x) and gelu'(x), tanh form.
double Gelu(double x);
double GeluSlope(double x);

// tokens (B, W), table (W, V, D) -> x (B, D). The table holds rows [v0, v0 + V); other tokens add
// nothing.
PlainArray EmbedWindow(const PlainArray& tokens, const PlainArray& table, std::int64_t v0);
// tokens (B, W), dx (B, D) -> dtable `shape` (W, V, D) of rows [v0, v0 + V).
PlainArray EmbedWindowGrad(const PlainArray& tokens, const PlainArray& dx, const Shape& shape,
                           std::int64_t v0);

// logits (B, V), targets (B) -> sum over these B of -log softmax(logits)[target], divided by
// `global_b`: the part of the mean that these rows are.
PlainArray CrossEntropy(const PlainArray& logits, const PlainArray& targets, double global_b);
// logits (B, V), targets (B), dloss () -> dlogits (B, V).
PlainArray CrossEntropyGrad(const PlainArray& logits, const PlainArray& targets,
                            const PlainArray& dloss, double global_b);

}  // namespace chorus
