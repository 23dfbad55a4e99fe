#include "chorus/mesh/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>
#include <vector>

#include "chorus/base/nearest.h"
#include "chorus/base/scanner.h"

namespace chorus {
namespace {

constexpr bool IsOneOf(char c, std::string_view chars) {
  return chars.find(c) != std::string_view::npos;
}

// Reads a spec as far as it goes, in three parts: name, dimensions, partial axes.
class LooseReader {
 public:
  LooseReader(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  LooseSpec Read() {
    LooseSpec loose;
    SkipBlanks();
    const std::string name = TakeName();
    SkipBlanks();
    if (Opens() || ClosesUnopened()) {
      loose.bracket = true;
      if (Opens()) ++at_;
      const std::size_t bracket = text_.find_first_of("[]\n", at_);
      if (bracket != std::string_view::npos && text_[bracket] == ']') closes_ = bracket;
      ReadDims();
      SkipBlanks();
      while (Next() == '{') {
        ReadPartial();
        SkipBlanks();
      }
    }
    loose.end = at_;
    // Its dimensions are told apart and each axis is used once, so it is legal.
    loose.spec = *Spec::Create(name, std::move(dims_), std::move(partial_));
    return loose;
  }

 private:
  char Next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipBlanks() {
    while (Next() == ' ' || Next() == '\t') ++at_;
  }

  std::string TakeName() {
    std::string name;
    for (; IsAlnum(Next()) || IsOneOf(Next(), "_'."); ++at_) {
      // A dot before a blank or an array's bracket is a sign of multiplication.
      if (Next() == '.' && (name.empty() || at_ + 1 == text_.size() || !IsAlnum(text_[at_ + 1]))) {
        break;
      }
      if (Next() != '\0') name += Next();
    }
    return name;
  }

  // A bracket of dimensions, or what may stand for it; not one around products.
  bool Opens() const {
    if (Next() != '(') return Next() == '[' || Next() == '<';
    const std::size_t next = text_.find_first_of("[)", at_);
    return next == std::string_view::npos || text_[next] == ')';
  }

  // "A I, J]": a bracket that closes before one opens.
  bool ClosesUnopened() const {
    const std::size_t found = text_.substr(at_).find_first_of("[]*>=\n");
    return found != std::string_view::npos && text_[at_ + found] == ']';
  }

  // True where what stands next cannot be in an array: a sign between arrays, or of another script.
  // In brackets that are closed there may be anything.
  bool Ends() const {
    if (at_ < closes_) return false;
    if (AtWideComma()) return false;
    const char c = Next();
    return c == '\0' || IsOneOf(c, "*.@=>:\n[(\\") || static_cast<unsigned char>(c) >= 0x80 ||
           (c == '-' && at_ + 1 < text_.size() && text_[at_ + 1] == '>');
  }

  // The commas of Chinese and Japanese keyboards, of three bytes each.
  bool AtWideComma() const {
    const std::string_view next = text_.substr(at_, 3);
    return next == "\uff0c" || next == "\u3001";
  }
  void Skip() { at_ += AtWideComma() ? 3 : 1; }

  // Each axis is one capital and what follows in small letters and digits; a small one is raised.
  void TakeAxes(AxisNames& axes) {
    std::string axis(1, static_cast<char>(std::toupper(static_cast<unsigned char>(Next()))));
    ++at_;
    while (IsLower(Next()) || IsDigit(Next())) axis += text_[at_++];
    if (!IsUpper(axis[0])) return;
    if (std::find(used_.begin(), used_.end(), axis) != used_.end()) return;
    used_.push_back(axis);
    axes.push_back(std::move(axis));
  }

  void TakeDim() {
    std::string name;
    while (IsAlnum(Next())) name += text_[at_++];
    if (!name.empty()) {
      std::vector<std::string> taken;
      for (const SpecDim& dim : dims_) taken.push_back(dim.name);
      dims_.push_back({ToldApart(name, taken), {}});
    }
    // What follows up to a separator are its axes, however they are written: _XY, _{X,Y}, /X/Y.
    bool braces = false;
    while (!Ends() && (braces || (!AtWideComma() && !IsOneOf(Next(), ",;| \t])")))) {
      const char c = Next();
      if (c == '{' && at_ > 0 && !IsOneOf(text_[at_ - 1], "_^")) return;
      if (IsAlnum(c) && !dims_.empty()) {
        TakeAxes(dims_.back().axes);
        continue;
      }
      if (c == '{') braces = true;
      if (c == '}') braces = false;
      Skip();
    }
  }

  void ReadDims() {
    while (!Ends()) {
      const char c = Next();
      if (c == ']' || c == ')') {
        ++at_;
        return;
      }
      if (c == '{' && at_ > 0 && text_[at_ - 1] != '_') return;
      if (IsAlnum(c) || c == '_' || c == '/' || c == '^' || c == '{') {
        const std::size_t begin = at_;
        TakeDim();
        // "A[I, J B[J, K]": the word before a bracket is the next array's name.
        if (IsOneOf(Next(), "[(") && IsAlnum(c)) {
          at_ = begin;
          if (!dims_.empty()) dims_.pop_back();
          return;
        }
        if (at_ > begin) continue;
      }
      Skip();
    }
  }

  // "{U_X,U_Y}", "{X}", "{u_x": axes are all the words but the U before a "_".
  void ReadPartial() {
    ++at_;
    while (!Ends() && Next() != '}') {
      const bool is_mark = at_ + 1 < text_.size() && text_[at_ + 1] == '_';  // "U_", "S_"
      if (IsAlnum(Next()) && !is_mark) {
        TakeAxes(partial_);
      } else {
        Skip();
      }
    }
    if (Next() == '}') ++at_;
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<SpecDim> dims_;
  AxisNames partial_;
  AxisNames used_;
  std::size_t closes_ = 0;  // where the bracket is closed; 0 if it is not
};

}  // namespace

LooseSpec ReadLoosely(std::string_view text, std::size_t begin) {
  return LooseReader(text, begin).Read();
}

std::string ToldApart(const std::string& name, const std::vector<std::string>& taken) {
  std::string apart = name;
  for (int k = 2; std::find(taken.begin(), taken.end(), apart) != taken.end(); ++k) {
    apart = name + std::to_string(k);
  }
  return apart;
}

Spec NearestOn(const Spec& spec, const Mesh& mesh) {
  AxisNames free;
  for (const MeshAxis& axis : mesh.axes()) {
    if (!spec.Uses(axis.name)) free.push_back(axis.name);
  }
  const auto known = [&](const AxisNames& axes) {
    AxisNames instead;
    for (const std::string& axis : axes) {
      if (mesh.HasAxis(axis)) {
        instead.push_back(axis);
      } else if (!free.empty()) {
        const std::string near = Nearest(axis, free);
        const auto taken = near.empty() ? free.begin() : std::find(free.begin(), free.end(), near);
        instead.push_back(*taken);
        free.erase(taken);
      }
    }
    return instead;
  };
  std::vector<SpecDim> dims;
  for (const SpecDim& dim : spec.dims()) dims.push_back({dim.name, known(dim.axes)});
  AxisNames partial = known(spec.partial());
  return *Spec::Create(spec.name(), std::move(dims), std::move(partial));
}

std::string NoSizeText(const Spec& spec, const std::string& dim, const DimSizes& sizes,
                       const std::vector<std::string>& dims) {
  constexpr std::int64_t kForExample = 1024;
  DimSizes example = sizes;
  for (const std::string& each : dims) example.emplace(each, kForExample);
  return fmt::format("dimension {} of {} has no size; there are {}, so write for example {}", dim,
                     spec.ToString(), sizes.empty() ? "no sizes" : ToString(sizes),
                     ToString(example));
}

Status WithSpelling(const Status& error, std::string_view spelling) {
  std::string message = error.message();
  const std::size_t end = std::min(message.find("\n  "), message.size());
  message.insert(end, ", so write " + std::string(spelling));
  return Status(error.code(), std::move(message));
}

}  // namespace chorus
