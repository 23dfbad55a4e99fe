// Backend: the thin layer between the driver and one library. One is linked into each worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/peers/block.h"

namespace peers {

struct Place {
  int rank = 0;
  int size = 1;
  std::string folder;  // for the job's rendezvous, empty at the start
};

// All functions are called on every rank of the job in the same order, from one thread.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Memory that the library shares between ranks on request; null if it has no such thing. Ordinary
  // memory is the driver's own.
  virtual std::byte* AllocateSymmetric(std::int64_t bytes) = 0;

  // Makes ready for calls of `block`; "" or why it cannot be done.
  virtual std::string Prepare(const Block& block) = 0;

  // One call of the prepared operation. `in` and `out` hold CountsOf elements; for a broadcast the
  // root's data is in `in`, the others' result in `out`. False if the library reports an error.
  virtual bool Call(const void* in, void* out) = 0;

  // Waits for all ranks and lets the library move what it still holds back.
  virtual void Barrier() = 0;
};

// Joins the job. Exits with a message on failure. MPI takes its rank from its own launcher.
std::unique_ptr<Backend> MakeBackend(int* argc, char*** argv, const Place& place);

}  // namespace peers
