// In which order a schedule adds, seen element by element.
//
// Two schedules whose sums are all taken left to right in rank order,
//
//   ((x_0 op x_1) op x_2) op ... op x_{N-1}
//
// give the same bits for the same element, wherever it lies in the buffers and however these are
// cut into blocks; others (rings, trees) may not, since floats are not quite associative.
// Thread safety: pure.
#pragma once

#include "chorus/schedule/expansion.h"

namespace chorus {

// Whether every finished result of `expansion` is such a sum over all ranks. False for what sums
// nothing. One tile stands for all.
bool AddsLeftToRight(const Expansion& expansion);

}  // namespace chorus
