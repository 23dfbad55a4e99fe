// Fault: the first wrong step of a schedule that cannot be proved.
#pragma once

#include <cstdint>
#include <string>

namespace chorus {

struct Fault {
  std::int64_t rank = 0;
  std::string step;  // its label and what it does; "the end" if what is missing shows only there
  std::string why;   // what is wrong
  std::string expected;  // what would be right

  // "rank 1, a[0]: reduce ...: <why>; expected <expected>".
  std::string ToString() const;
  friend bool operator==(const Fault&, const Fault&) = default;
};

}  // namespace chorus
