// Connections: the open sockets, and which of them wait for their other side.
//
// Who sends half a request, or takes no answer, keeps a socket and a thread for as long as it is
// patient with us. So only so many may do that at once: one more ends the one that has waited
// longest. A connection whose question is being answered is not ended so. Thread safety: any
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace chorus::studio {

class Connections {
 public:
  // REQUIRES: most_waiting > 0.
  explicit Connections(int most_waiting) : most_waiting_(most_waiting) {}

  // A new socket, which waits. After EndAll it is ended at once.
  void Add(int fd);
  // REQUIRES of the rest: `fd` was added, and neither removed nor closed since.
  // It waits for its other side from now on.
  void Waits(int fd);
  // Its question is being answered.
  void IsAnswered(int fd);
  // To be called before it is closed.
  void Remove(int fd);
  // Ends all, those to come too: whoever reads or writes one sees its end.
  void EndAll();

 private:
  struct Connection {
    std::uint64_t since = 0;  // the smaller, the longer
    bool waits = true;
    bool ended = false;
  };
  void EndTheLongest();  // REQUIRES: mutex_ is held

  const int most_waiting_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::map<int, Connection> open_;
  std::uint64_t now_ = 0;
  bool all_end_ = false;
};

}  // namespace chorus::studio
