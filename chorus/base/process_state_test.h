// What the kernel says of a process, for tests that stop and kill some.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>

namespace chorus {

// The state in /proc/PID/stat, "4711 (name) T ...": 'T' stopped, 'Z' ended and not yet waited for;
// 0 if there is no such process.
inline char ProcessState(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t state = text.rfind(')') + 2;
  return text.empty() || state >= text.size() ? '\0' : text[state];
}

}  // namespace chorus
