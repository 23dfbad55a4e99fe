// One rank of one side: joins its job, then runs the blocks it is told to.
//
//   worker SOCKET FOLDER SIDE RANK SIZE
//
// MPI's ranks ignore RANK and SIZE. Answers, one line each: "hello SIDE RANK SIZE", then to each
// block "times NS NS ..." (one product each) or "wrong REASON".
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "bench/matmul/side.h"
#include "bench/peers/control.h"

namespace matmul {
namespace {

// "block m=1024 n=1024 k=1024 samples=5 ...", a '+' in a value standing for a blank.
bool Parse(const std::string& request, Block& block) {
  std::istringstream words(request);
  std::string word;
  if (!(words >> word) || word != "block") return false;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    for (char& c : value) c = c == '+' ? ' ' : c;
    if (name == "m") block.m = std::atoll(value.c_str());
    if (name == "n") block.n = std::atoll(value.c_str());
    if (name == "k") block.k = std::atoll(value.c_str());
    if (name == "samples") block.samples = std::atoi(value.c_str());
    if (name == "dtype") block.dtype = value;
    if (name == "product") block.product = value;
    if (name == "way") block.way = value;
    if (name == "flops_per_byte") block.flops_per_byte = std::atof(value.c_str());
    if (name == "latency_bytes") block.latency_bytes = std::atof(value.c_str());
    if (name == "grid_rows") block.grid_rows = std::atoi(value.c_str());
    if (name == "tile") block.tile = std::atoi(value.c_str());
  }
  return block.m > 0 && block.n > 0 && block.k > 0 && block.samples > 0;
}

std::string Run(Side& side, peers::FileBarrier& barrier, const Block& block) {
  std::string error = side.Prepare(block);
  std::string answer = "times";
  if (error.empty()) error = side.Multiply();  // warms up
  for (int s = 0; s < block.samples && error.empty(); ++s) {
    side.Barrier();
    barrier.Wait();
    const double begin = peers::NowNs();
    error = side.Multiply();
    answer += " " + std::to_string(peers::NowNs() - begin);
  }
  if (error.empty()) error = side.Check();
  side.Barrier();
  return error.empty() ? answer : "wrong " + error;
}

int Main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s SOCKET FOLDER SIDE RANK SIZE\n", argv[0]);
    return 2;
  }
  const std::string socket = argv[1];
  const std::string folder = argv[2];
  const std::string name = argv[3];
  const int rank = std::atoi(argv[4]);
  const int size = std::atoi(argv[5]);
  peers::KeepMemory();
  peers::GoFirst();
  peers::UsableCores();  // before this process is pinned
  const std::unique_ptr<Side> side = MakeSide(&argc, &argv, rank, size);
  peers::ControlLine line(socket);
  line.Write("hello " + name + " " + std::to_string(side->rank()) + " " +
             std::to_string(side->size()));
  peers::FileBarrier barrier(folder + "/barrier", side->size(),
                             side->size() > peers::UsableCores());
  std::string request;
  while (line.Read(request) && request != "end") {
    Block block;
    line.Write(Parse(request, block) ? Run(*side, barrier, block)
                                     : "wrong cannot read: " + request);
  }
  return 0;
}

}  // namespace
}  // namespace matmul

int main(int argc, char** argv) { return matmul::Main(argc, argv); }
