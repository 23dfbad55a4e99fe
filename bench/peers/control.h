// What every program of this bench needs from the system: its line to the coordinator, its core,
// a barrier between the ranks of a side that is the same for all libraries, the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace peers {

// A stream of lines over a Unix socket. Reading sleeps in the kernel: a side that is not asked
// burns no processor time.
class ControlLine {
 public:
  // Exits with a message if nobody listens at `path`.
  explicit ControlLine(const std::string& path);
  // False at the end of the stream: the coordinator is gone or wants us to go.
  bool Read(std::string& line);
  void Write(const std::string& line) const;

 private:
  int fd_;
  std::string buffer_;
};

// Keeps this thread, and those it starts, on the `index mod n`-th of the n usable cores.
void PinToCore(int index);
int UsableCores();

// Before everything else on this machine, where that is allowed, for this process and what it
// starts: compilers at work beside a measurement would show in it. Each side alike.
void GoFirst();

// Tells malloc to keep every page that it once had. The best for libraries that allocate
// temporary memory in each call, which would otherwise pay for page faults.
void KeepMemory();

double NowNs();

// A barrier in a file that all ranks of a side map. Spins; gives the core away in between if there
// are more ranks than cores.
class FileBarrier {
 public:
  FileBarrier(const std::string& path, int size, bool crowded);
  void Wait();

 private:
  struct Page {
    alignas(128) std::atomic<std::uint32_t> arrived;
    alignas(128) std::atomic<std::uint32_t> round;
  };
  Page* page_ = nullptr;
  std::uint32_t size_;
  bool crowded_;
};

}  // namespace peers
