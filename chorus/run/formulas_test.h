// For tests of plans: what a schedule computes, as formulas such as "<((x0[1] x1[1]) x2[1])>".
#pragma once

#include <string>
#include <vector>

#include "chorus/schedule/interpreter.h"

namespace chorus {

struct Formulas {
  Arithmetic<std::string> arithmetic;
  RankBlocks<std::string> in;   // one element a block: x<rank>[<block>]
  RankBlocks<std::string> out;  // what the interpreter makes of it
};

inline Formulas FormulasOf(const Expansion& e) {
  Formulas formulas;
  formulas.arithmetic.op = [](const std::string& a, const std::string& b) {
    return "(" + a + " " + b + ")";
  };
  formulas.arithmetic.scale = [](const std::string& x) { return x + "'"; };
  formulas.arithmetic.finish = [](const std::string& x) { return "<" + x + ">"; };
  const auto blocks = static_cast<std::size_t>(e.frames[0].blocks);
  formulas.in.resize(static_cast<std::size_t>(e.group_size));
  for (std::int64_t r = 0; r < e.group_size; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    formulas.in[rank].resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const Member member{e.op, e.group_size, e.root, r, e.frames[rank].own};
      if (!InHolds(member, static_cast<std::int64_t>(b))) continue;
      formulas.in[rank][b] = {"x" + std::to_string(r) + "[" + std::to_string(b) + "]"};
    }
  }
  Setting setting;
  setting.block_elements.assign(blocks, 1);
  formulas.out = Interpret(e, setting, formulas.arithmetic, formulas.in).value();
  return formulas;
}

}  // namespace chorus
