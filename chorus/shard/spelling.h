// The legal product that an illegal text most likely means: what errors about products show.
//
//   C(I, K) = A(I, J) x B(J, K)     A[I, J] * B[J, K] -> C[I, K]
//   A[I, J] @ A[J, K]               A[I, J] * B[J, K]
//
// Thread safety: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chorus {

// One that `accepts` is true of; empty if nothing can be made of the text.
std::string NearestProduct(std::string_view text, bool (*accepts)(std::string_view));

// The first capital letter from `first` on that is none of `taken`; with a number behind it if all
// are.
std::string FreeLetter(char first, const std::vector<std::string>& taken);

}  // namespace chorus
