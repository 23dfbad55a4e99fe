// What an illegal text most likely means, spelled legally: what errors of the notation show.
//
//   A[I_{X,Y}, J; I](..     A[I_XY, J, I2]      axes of a paper, a separator, a dimension twice
//   A(I_x, J){U_X,U_Y}      A[I_X, J]{U_Y}      brackets, a small letter, axes used already
//
// A reader that takes whatever comes: nothing is refused, and what is read is legal.
// Thread safety: pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {

struct LooseSpec {
  Spec spec;             // legal: dimensions are told apart, an axis stays where it comes first
  bool bracket = false;  // it has dimensions written, however
  std::size_t end = 0;   // behind it in the text

  // True if there is something in it to show.
  bool IsOfUse() const { return bracket && (!spec.name().empty() || !spec.dims().empty()); }
};

// Reads one spec from `text`, from `begin` on, up to where another array, a sign between arrays or
// the end of the line comes.
LooseSpec ReadLoosely(std::string_view text, std::size_t begin = 0);

// `name` with the first number from 2 on behind it that makes it none of `taken`; itself if it is
// none of them: "I2".
std::string ToldApart(const std::string& name, const std::vector<std::string>& taken);

// `spec` with another axis of the mesh, one that it does not use, for each that the mesh lacks: the
// nearest by name, else the first; without it if there is none. Passes Check(mesh).
Spec NearestOn(const Spec& spec, const Mesh& mesh);

// That `dim` of `spec` has no size, and the sizes as they could be written: those of all `dims`.
std::string NoSizeText(const Spec& spec, const std::string& dim, const DimSizes& sizes,
                       const std::vector<std::string>& dims);

// `error`, which shows a place (base/scanner.h), with ", so write" and `spelling` behind its
// message.
Status WithSpelling(const Status& error, std::string_view spelling);

}  // namespace chorus
