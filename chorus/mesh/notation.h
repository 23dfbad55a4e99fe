// The notation of specs: what names look like and how they are read.
//
//   spec  = [name] "[" [dim {"," dim}] "]" ["{" "U_" axes "}"]
//   dim   = letters and digits ["_" axes]
//   axes  = axis {axis}
//   axis  = one capital, then lower-case letters and digits
//   name  = letters, digits, "_", "." and "'"
//
// Thread safety: pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/base/scanner.h"
#include "chorus/base/status.h"
#include "chorus/mesh/mesh.h"
#include "chorus/mesh/spec.h"

namespace chorus {

inline constexpr std::string_view kAxisNameRule =
    "an axis is named by one capital letter, then lower-case letters or digits, like X or Dp";

// Takes the comma between dimensions, axes or sizes: "," or one of Chinese and Japanese keyboards,
// the wide U+FF0C or the ideographic U+3001.
bool AcceptComma(Scanner& scanner);
// Takes one axis name from where the scanner stands; "" and nothing taken if there is none.
std::string_view ScanAxisName(Scanner& scanner);
// Takes axis names run together, at least one: "YZ" is Y then Z, "DpTp" is Dp then Tp.
Result<AxisNames> ScanAxes(Scanner& scanner);
// Takes the name of a value (blanks before it are skipped); "" if there is none.
std::string_view ScanValueName(Scanner& scanner);
// Takes the name of a dimension; "" if there is none.
std::string_view ScanDimName(Scanner& scanner);
// Takes one spec and leaves the scanner behind it, so that specs can stand in larger texts.
// Errors point at the character, name both places where there are two, and show what could be
// written instead, which is legal.
Result<Spec> ScanSpec(Scanner& scanner);

// Legal specs that an illegal text may mean: where it uses an axis more than once, with the axis at
// each of the places alone; else what it most likely means (spelling.h). None where nothing can be
// made of it, or nothing is wrong.
std::vector<std::string> SpellingsOf(std::string_view text);
// The number of a character in its line, from 1, as messages count.
std::size_t CharacterAt(const Scanner& scanner, std::size_t position);
// Where the text of a spec names `axis` first, from 0; npos if nowhere. REQUIRES: Spec::Parse(text)
// is ok.
std::size_t FindAxisIn(std::string_view text, std::string_view axis);

}  // namespace chorus
