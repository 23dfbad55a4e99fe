// How each kind of Expr is written: symbol and precedence, for the printer and the parser.
#pragma once

#include <array>
#include <string_view>

#include "chorus/schedule/expr.h"

namespace chorus {

struct BinaryOperator {
  Expr::Kind kind;
  std::string_view symbol;
  int precedence;  // higher binds tighter; all associate to the left
};

inline constexpr int kSelectPrecedence = 1;
inline constexpr int kLoosestBinary = 2;
inline constexpr int kTightestBinary = 11;
inline constexpr int kUnaryPrecedence = 12;
inline constexpr int kPrimaryPrecedence = 13;

inline constexpr std::array<BinaryOperator, 18> kBinaryOperators = {{
    {Expr::Kind::kOr, "||", 2},
    {Expr::Kind::kAnd, "&&", 3},
    {Expr::Kind::kBitOr, "|", 4},
    {Expr::Kind::kBitXor, "^", 5},
    {Expr::Kind::kBitAnd, "&", 6},
    {Expr::Kind::kEqual, "==", 7},
    {Expr::Kind::kNotEqual, "!=", 7},
    {Expr::Kind::kLess, "<", 8},
    {Expr::Kind::kLessEqual, "<=", 8},
    {Expr::Kind::kGreater, ">", 8},
    {Expr::Kind::kGreaterEqual, ">=", 8},
    {Expr::Kind::kShiftLeft, "<<", 9},
    {Expr::Kind::kShiftRight, ">>", 9},
    {Expr::Kind::kAdd, "+", 10},
    {Expr::Kind::kSubtract, "-", 10},
    {Expr::Kind::kMultiply, "*", 11},
    {Expr::Kind::kDivide, "/", 11},
    {Expr::Kind::kModulo, "%", 11},
}};

struct Function {
  Expr::Kind kind;
  std::string_view name;
  int arity;
};

inline constexpr std::array<Function, 6> kFunctions = {{
    {Expr::Kind::kMin, "min", 2},
    {Expr::Kind::kMax, "max", 2},
    {Expr::Kind::kCeilLog2, "ceil_log2", 1},
    {Expr::Kind::kFloorLog2, "floor_log2", 1},
    {Expr::Kind::kPower, "power", 2},
    {Expr::Kind::kCeilLog, "ceil_log", 2},
}};

}  // namespace chorus
