// One rank of one side: joins the library's job, then runs the blocks it is told to.
//
//   worker SOCKET FOLDER SIDE RANK SIZE
//
// FOLDER is the job's own; beside it lie the files of the ordinary memory, arena-RANK.
// MPI's ranks ignore RANK and SIZE. Answers, one line each: "hello SIDE RANK SIZE", then to each
// block "times NS NS ..." (one call, for each sample), "cannot REASON" or "wrong REASON".
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/arena.h"
#include "bench/peers/backend.h"
#include "bench/peers/block.h"
#include "bench/peers/control.h"
#include "bench/peers/data.h"

namespace peers {
namespace {

class Worker {
 public:
  Worker(Backend& backend, const std::string& folder)
      : backend_(backend),
        ordinary_(Arena::OfFile(folder + "/../arena-" + std::to_string(backend.rank()))),
        barrier_(folder + "/barrier", backend.size(), backend.size() > UsableCores()) {}

  std::string Run(const Block& block) {
    const std::string refusal = backend_.Prepare(block);
    if (!refusal.empty()) return "cannot " + refusal;
    Arena& arena = block.symmetric ? symmetric_ : ordinary_;
    if (block.symmetric && arena.empty()) {
      std::byte* memory = backend_.AllocateSymmetric(block.reserve);
      if (memory == nullptr) return "cannot share memory";
      arena = Arena(memory, block.reserve);
    }
    if (!arena.LayOut(block, backend_.rank(), backend_.size())) {
      return "cannot hold buffers of " + std::to_string(block.bytes) + " bytes";
    }
    bytes_out_ = CountsOf(block, backend_.rank(), backend_.size()).out * SizeOf(block.dtype);

    expected_.fill(std::nullopt);

    std::string error;
    Sample(arena, block.warmup);
    std::vector<double> times;
    for (int s = 0; s < block.samples; ++s) {
      backend_.Barrier();
      barrier_.Wait();
      const std::int64_t first = turn_;
      const double begin = NowNs();
      const std::uint32_t sum = Sample(arena, block.calls);
      times.push_back((NowNs() - begin) / block.calls);
      if (error.empty()) error = CheckSum(block, arena, first, sum);
    }
    if (error.empty()) error = CheckAll(block, arena);
    backend_.Barrier();
    barrier_.Wait();
    if (!error.empty()) return "wrong " + error;
    std::string answer = "times";
    for (const double time : times) answer += " " + std::to_string(time);
    return answer;
  }

 private:
  // `calls` calls, each followed by the pass that reads its result; the sum of what was read.
  std::uint32_t Sample(const Arena& arena, int calls) {
    std::uint32_t sum = 0;
    for (int k = 0; k < calls; ++k, ++turn_) {
      std::byte* out = arena.Out(turn_);
      if (!backend_.Call(arena.In(turn_), out)) failed_ = true;
      sum += ReadPass(out, bytes_out_);
    }
    return sum;
  }

  std::string CheckSum(const Block& block, const Arena& arena, std::int64_t first,
                       std::uint32_t got) {
    if (failed_) return "a call returned an error";
    std::uint32_t expected = 0;
    for (std::int64_t turn = first; turn < first + block.calls; ++turn) {
      const std::int64_t place = arena.Offset(turn) / SizeOf(block.dtype) % kPeriod;
      auto& known = expected_[static_cast<std::size_t>(place)];
      if (!known) known = ExpectedSum(block, backend_.rank(), backend_.size(), place);
      expected += *known;
    }
    if (got == expected) return "";
    return "the checksum of " + std::to_string(block.calls) + " results is " + std::to_string(got) +
           ", not " + std::to_string(expected);
  }

  // One more call, into a buffer that holds something else; every element is compared.
  std::string CheckAll(const Block& block, const Arena& arena) {
    std::memset(arena.Out(turn_), 0xff, static_cast<std::size_t>(bytes_out_));
    backend_.Barrier();
    barrier_.Wait();
    if (!backend_.Call(arena.In(turn_), arena.Out(turn_))) return "a call returned an error";
    const std::int64_t wrong =
        FirstWrong(block, backend_.rank(), backend_.size(),
                   arena.Offset(turn_) / SizeOf(block.dtype), arena.Out(turn_));
    ++turn_;
    return wrong < 0 ? "" : "element " + std::to_string(wrong);
  }

  Backend& backend_;
  Arena ordinary_;
  FileBarrier barrier_;
  Arena symmetric_;
  std::array<std::optional<std::uint32_t>, kPeriod> expected_;  // by place, of this block
  std::int64_t turn_ = 0;                                       // calls so far; picks the buffers
  std::int64_t bytes_out_ = 0;
  bool failed_ = false;  // a call of the library has
};

int Main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s SOCKET FOLDER SIDE RANK SIZE\n", argv[0]);
    return 2;
  }
  const std::string socket = argv[1];
  Place place;
  place.folder = argv[2];
  const std::string side = argv[3];
  place.rank = std::atoi(argv[4]);
  place.size = std::atoi(argv[5]);
  KeepMemory();
  GoFirst();
  UsableCores();  // before this process is pinned
  std::unique_ptr<Backend> backend = MakeBackend(&argc, &argv, place);
  ControlLine line(socket);
  line.Write("hello " + side + " " + std::to_string(backend->rank()) + " " +
             std::to_string(backend->size()));
  Worker worker(*backend, place.folder);
  std::string request;
  while (line.Read(request) && request != "end") {
    Block block;
    line.Write(ParseBlock(request, block) ? worker.Run(block) : "cannot read: " + request);
  }
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) { return peers::Main(argc, argv); }
