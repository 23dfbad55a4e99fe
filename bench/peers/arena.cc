#include "bench/peers/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/peers/data.h"

namespace peers {
namespace {

constexpr std::int64_t kLine = 128;  // buffers begin on pairs of cache lines
constexpr std::int64_t kPage = 4096;

std::int64_t RoundUp(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Buffers of whole pages are moved apart by three lines more: at equal places within their pages a
// core takes stores to one for stores to the other, which no side is to blame for.
std::int64_t Stride(std::int64_t bytes) {
  const std::int64_t stride = RoundUp(bytes, kLine);
  return stride % kPage == 0 && stride > 0 ? stride + 3 * kLine : stride;
}

}  // namespace

Arena::Arena(std::byte* base, std::int64_t size) : base_(base), size_(size) {}

Arena Arena::OfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
  void* memory = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) {
    std::perror("peers: mmap");
    std::exit(1);
  }
  Arena arena(static_cast<std::byte*>(memory) + kPage, info.st_size - kPage);
  arena.file_clean_ = static_cast<Clean*>(memory);
  return arena;
}

bool Arena::LayOut(const Block& block, int rank, int size) {
  const std::int64_t width = SizeOf(block.dtype);
  const Counts largest = LargestCounts(block, size);
  in_stride_ = Stride(largest.in * width);
  out_stride_ = Stride(largest.out * width);
  // What moves the buffers apart is not touched, and so rotates nothing.
  const std::int64_t both =
      std::max(RoundUp(largest.in * width, kLine) + RoundUp(largest.out * width, kLine), kLine);
  in_slots_ = block.cold ? std::max<std::int64_t>(2, (block.rotate + both - 1) / both) : 1;
  out_slots_ = in_slots_ + 1;
  const std::int64_t in_bytes = in_stride_ * in_slots_;
  const std::int64_t out_bytes = out_stride_ * out_slots_;
  if (in_bytes + out_bytes + kLine > size_) return false;
  out_base_ = base_ + (size_ - out_bytes) / kLine * kLine;

  Clean& clean = file_clean_ != nullptr ? *file_clean_ : own_clean_;
  if (clean.dtype != static_cast<std::int64_t>(block.dtype)) clean.bytes = 0;
  clean.dtype = static_cast<std::int64_t>(block.dtype);
  if (clean.bytes < in_bytes) {
    FillInput(block.dtype, rank, base_, clean.bytes / width, in_bytes / width);
    clean.bytes = in_bytes;
  }
  clean.bytes = std::min(clean.bytes, static_cast<std::int64_t>(out_base_ - base_));
  return true;
}

}  // namespace peers
