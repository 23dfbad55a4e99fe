// An MPI library as a side: Open MPI and MPICH, whichever mpi.h this is compiled with.
//
// A setting is a list of control variables of MPI's tool interface, "NAME=NUMBER,...". Open MPI
// reads its own when a communicator is made, so each setting has a communicator; MPICH reads them
// in each call. What a setting does not name is put back to what it was at the start.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "bench/peers/backend.h"
#include "bench/peers/control.h"

namespace peers {
namespace {

class MpiBackend final : public Backend {
 public:
  MpiBackend() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiBackend() override {
    MPI_T_finalize();
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::byte* AllocateSymmetric(std::int64_t /*bytes*/) override { return nullptr; }

  std::string Prepare(const Block& block) override {
    if (block.dtype != DType::kF32) return "only f32 here";
    std::string error = Apply(block.setting);
    if (!error.empty()) return error;
    const auto [place, is_new] = communicators_.try_emplace(block.setting, MPI_COMM_NULL);
    if (is_new) MPI_Comm_dup(MPI_COMM_WORLD, &place->second);
    comm_ = place->second;
    op_ = block.op;
    in_ = static_cast<int>(CountsOf(block, rank_, size_).in);
    out_ = static_cast<int>(CountsOf(block, rank_, size_).out);
    return "";
  }

  bool Call(const void* in, void* out) override {
    const MPI_Datatype type = MPI_FLOAT;
    switch (op_) {
      case Op::kAllReduce:
        return MPI_Allreduce(in, out, in_, type, MPI_SUM, comm_) == MPI_SUCCESS;
      case Op::kAllGather:
        return MPI_Allgather(in, in_, type, out, in_, type, comm_) == MPI_SUCCESS;
      case Op::kReduceScatter:
        return MPI_Reduce_scatter_block(in, out, out_, type, MPI_SUM, comm_) == MPI_SUCCESS;
      case Op::kAllToAll:
        return MPI_Alltoall(in, in_ / size_, type, out, out_ / size_, type, comm_) == MPI_SUCCESS;
      case Op::kBroadcast: {
        const bool root = rank_ == 0;
        return MPI_Bcast(root ? const_cast<void*>(in) : out, root ? in_ : out_, type, 0, comm_) ==
               MPI_SUCCESS;
      }
      case Op::kReduce:
        return MPI_Reduce(in, out, in_, type, MPI_SUM, 0, comm_) == MPI_SUCCESS;
      case Op::kGather:
        return MPI_Gather(in, in_, type, out, in_, type, 0, comm_) == MPI_SUCCESS;
      case Op::kScatter:
        return MPI_Scatter(in, out_, type, out, out_, type, 0, comm_) == MPI_SUCCESS;
      case Op::kBarrier:
        return MPI_Barrier(comm_) == MPI_SUCCESS;
    }
    return false;
  }

  void Barrier() override { MPI_Barrier(comm_); }

 private:
  // Each variable as it was at the start, then those of `setting`.
  std::string Apply(const std::string& setting) {
    for (const auto& [name, value] : originals_) Write(name, value);
    std::istringstream parts(setting);
    std::string part;
    while (std::getline(parts, part, ',')) {
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos) continue;  // a name by which people know the setting
      const std::string name = part.substr(0, equals);
      int original = 0;
      if (originals_.count(name) == 0) {
        if (!Access(name, &original, /*write=*/false)) return "no variable " + name;
        originals_[name] = original;
      }
      if (!Write(name, std::atoi(part.c_str() + equals + 1))) return "cannot set " + name;
    }
    return "";
  }

  static bool Write(const std::string& name, int value) { return Access(name, &value, true); }

  static bool Access(const std::string& name, int* value, bool write) {
    int index = 0;
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS) return false;
    MPI_T_cvar_handle handle = nullptr;
    int count = 0;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return false;
    const int outcome = write ? MPI_T_cvar_write(handle, value) : MPI_T_cvar_read(handle, value);
    MPI_T_cvar_handle_free(&handle);
    return outcome == MPI_SUCCESS;
  }

  int rank_ = 0;
  int size_ = 1;
  MPI_Comm comm_ = MPI_COMM_WORLD;
  Op op_ = Op::kAllReduce;
  int in_ = 0;                                     // elements
  int out_ = 0;                                    // elements
  std::map<std::string, MPI_Comm> communicators_;  // by setting
  std::map<std::string, int> originals_;
};

}  // namespace

std::unique_ptr<Backend> MakeBackend(int* argc, char*** argv, const Place& /*place*/) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) PinToCore(std::atoi(rank));
  }
  MPI_Init(argc, argv);
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  return std::make_unique<MpiBackend>();
}

}  // namespace peers
