// How an array lies on a mesh: which device holds which block, how often, and in how many bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/base/dtype.h"
#include "chorus/base/units.h"
#include "chorus/mesh/spec.h"

namespace chorus::answer {

inline constexpr std::int64_t kMostLayoutDevices = 1024;

struct LayoutQuestion {
  std::string mesh;  // "X=2,Y=2"
  std::string spec;  // "A[I_X, J]{U_Y}"
  std::string dims;  // "I=5,J=7"
  std::string dtype = "f32";
};

struct LayoutDevice {
  std::vector<Block> blocks;  // one a dimension
  Bytes bytes;
  std::int64_t block = 0;  // number of the different blocks, in order of their first rank
};

struct LayoutAnswer {
  Mesh mesh;
  Spec spec;
  DimSizes sizes;
  DType dtype = DType::kF32;
  std::vector<LayoutDevice> devices;  // by rank
  AxisNames repeated;                 // axes of the mesh that the spec does not use
  std::string drawing;                // for a terminal; "" of more ranks than are drawn
};

// Errors about a text show the place (base/scanner.h, PlaceOf).
Result<LayoutAnswer> Answer(const LayoutQuestion& question);
Json ToJson(const LayoutAnswer& answer);

// Legal specs that an illegal one may mean; none if it is legal or cannot be guessed.
std::vector<std::string> SpellingsFor(const LayoutQuestion& question);

}  // namespace chorus::answer
