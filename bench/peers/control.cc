#include "bench/peers/control.h"

#include <fcntl.h>
#include <immintrin.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

namespace peers {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "peers: %s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

// The cores this process may use when it starts, before it is pinned to one of them.
const std::vector<int>& Cores() {
  static const std::vector<int> cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::vector<int> found;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) found.push_back(i);
    }
    return found;
  }();
  return cores;
}

}  // namespace

ControlLine::ControlLine(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    Fail("cannot reach the coordinator at " + path);
  }
}

bool ControlLine::Read(std::string& line) {
  while (true) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return true;
    }
    char chunk[4096];
    const ssize_t got = read(fd_, chunk, sizeof(chunk));
    if (got <= 0) return false;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

void ControlLine::Write(const std::string& line) const {
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t now = write(fd_, text.data() + sent, text.size() - sent);
    if (now <= 0) Fail("cannot answer the coordinator");
    sent += static_cast<std::size_t>(now);
  }
}

int UsableCores() { return static_cast<int>(Cores().size()); }

void PinToCore(int index) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(Cores()[static_cast<std::size_t>(index) % Cores().size()], &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) Fail("cannot pin to a core");
}

void GoFirst() {
  setpriority(PRIO_PROCESS, 0, -19);
  // Where the kernel shares the processor among sessions first, and niceness counts within one
  // only.
  const int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  const char text[] = "-20";
  if (write(fd, text, sizeof(text) - 1) < 0) errno = 0;  // not allowed: then not
  close(fd);
}

void KeepMemory() {
  // A threshold for mmap above 32 MiB is refused by glibc, so mmap is switched off.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 64 << 20);
  mallopt(M_ARENA_MAX, 1);
}

double NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

FileBarrier::FileBarrier(const std::string& path, int size, bool crowded)
    : size_(static_cast<std::uint32_t>(size)), crowded_(crowded) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Page)) != 0) Fail("cannot make the barrier " + path);
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) Fail("cannot map the barrier " + path);
  close(fd);
  page_ = static_cast<Page*>(memory);
}

void FileBarrier::Wait() {
  const std::uint32_t round = page_->round.load(std::memory_order_acquire);
  if (page_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
    page_->arrived.store(0, std::memory_order_relaxed);
    page_->round.store(round + 1, std::memory_order_release);
    return;
  }
  while (page_->round.load(std::memory_order_acquire) == round) {
    if (crowded_) {
      sched_yield();
    } else {
      _mm_pause();
    }
  }
}

}  // namespace peers
