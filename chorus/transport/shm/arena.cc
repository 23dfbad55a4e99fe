#include "chorus/transport/shm/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

namespace chorus {
namespace {

constexpr std::int64_t kPage = 4096;

std::string ErrorText() { return std::strerror(errno); }  // NOLINT: glibc's is thread-safe

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Take();
  }
  return *this;
}

int Descriptor::Take() { return std::exchange(fd_, -1); }

void Descriptor::Reset() {
  if (fd_ >= 0) close(Take());
}

Result<Mapping> Mapping::Of(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) return Internal("shared memory: fstat: " + ErrorText());
  void* data = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) {
    return ResourceExhausted(fmt::format(
        "shared memory: no range of {} bytes of addresses is free: {}; is `ulimit -v` set?",
        info.st_size, ErrorText()));
  }
  Mapping mapping;
  mapping.data_ = static_cast<std::byte*>(data);
  mapping.bytes_ = info.st_size;
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

void PrefaultPages(std::byte* data, std::int64_t bytes) {
#ifdef MADV_POPULATE_WRITE
  madvise(data, static_cast<std::size_t>(bytes), MADV_POPULATE_WRITE);
#else
  static_cast<void>(data), static_cast<void>(bytes);
#endif
}

Result<Arena> Arena::Create(std::int64_t bytes) {
  Descriptor fd(memfd_create("chorus-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ResourceExhausted("shared memory: memfd_create: " + ErrorText());
  // The kernel would kill this process by SIGXFSZ.
  rlimit files{};
  if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < static_cast<rlim_t>(bytes)) {
    return ResourceExhausted(
        fmt::format("shared memory: a sparse file of {} bytes is needed, and this process may make "
                    "files of {} bytes only; `ulimit -f unlimited` would help",
                    bytes, files.rlim_cur));
  }
  if (ftruncate(fd.get(), bytes) != 0) {
    return ResourceExhausted(
        fmt::format("shared memory: a sparse file of {} bytes: {}", bytes, ErrorText()));
  }
  // A peer that could cut the file short would make every other rank die of SIGBUS.
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Internal("shared memory: F_ADD_SEALS: " + ErrorText());
  }
  CHORUS_ASSIGN_OR_RETURN(Mapping mapping, Mapping::Of(fd.get()));
  return Arena(std::move(fd), std::move(mapping));
}

Arena::Arena(Descriptor fd, Mapping mapping) : fd_(std::move(fd)), mapping_(std::move(mapping)) {
  free_.emplace(0, mapping_.bytes());
}

Result<std::byte*> Arena::Allocate(std::int64_t bytes) {
  const std::int64_t length = (bytes + kPage - 1) / kPage * kPage;
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [offset, available] = *it;
    if (available < length) continue;
    if (fallocate(fd_.get(), 0, offset, length) != 0) {
      return ResourceExhausted(fmt::format(
          "shared memory: {} more bytes are not to be had: {}; less memory in use, or a larger "
          "memory limit of the container, would help",
          length, ErrorText()));
    }
    free_.erase(it);
    if (available > length) free_.emplace(offset + length, available - length);
    used_.emplace(offset, length);
    return base() + offset;
  }
  return ResourceExhausted(fmt::format("shared memory: {} bytes do not fit into the arena of {}",
                                       length, mapping_.bytes()));
}

void Arena::Free(std::byte* data) {
  const auto used = used_.find(data - base());
  if (used == used_.end()) return;
  auto [offset, length] = *used;
  used_.erase(used);
  fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + length) {
    length += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += length;
  } else {
    free_.emplace(offset, length);
  }
}

bool Arena::Contains(const void* data, std::int64_t bytes) const {
  const auto* const p = static_cast<const std::byte*>(data);
  return p >= base() && bytes >= 0 && bytes <= this->bytes() && p - base() <= this->bytes() - bytes;
}

}  // namespace chorus
