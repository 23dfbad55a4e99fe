#include "chorus/apps/answer/operation_words.h"

#include <cstddef>

namespace chorus::answer {
namespace {

constexpr OperationWords kWords[] = {
    {OpKind::kAllGather, "out[b] = x_q[b], q the owner of b, for every b",
     "torch.distributed.all_gather_into_tensor", "MPI_Allgather", "ncclAllGather", "all_gather_v",
     "MPI_Allgatherv"},
    {OpKind::kReduceScatter, "out[b] = x_0[b] + ... + x_{N-1}[b] for the rank's own b",
     "torch.distributed.reduce_scatter_tensor", "MPI_Reduce_scatter_block", "ncclReduceScatter",
     "reduce_scatter_v", "MPI_Reduce_scatter"},
    {OpKind::kAllReduce, "out[b] = x_0[b] + ... + x_{N-1}[b] for every b",
     "torch.distributed.all_reduce", "MPI_Allreduce", "ncclAllReduce", "", ""},
    {OpKind::kBroadcast, "out[b] = x_root[b] for every b", "torch.distributed.broadcast",
     "MPI_Bcast", "ncclBroadcast", "", ""},
    {OpKind::kReduce, "out[b] = x_0[b] + ... + x_{N-1}[b] for every b, on the root only",
     "torch.distributed.reduce", "MPI_Reduce", "ncclReduce", "", ""},
    {OpKind::kBarrier, "no rank ends before every rank has begun", "torch.distributed.barrier",
     "MPI_Barrier", "", "", ""},
    {OpKind::kGather, "out[b] = x_q[b], q the owner of b, for every b, on the root only",
     "torch.distributed.gather", "MPI_Gather", "ncclGather (2.28)", "gather_v", "MPI_Gatherv"},
    {OpKind::kScatter, "out[b] = x_root[b] for the rank's own b", "torch.distributed.scatter",
     "MPI_Scatter", "ncclScatter (2.28)", "scatter_v", "MPI_Scatterv"},
    {OpKind::kAllToAll, "out[iN + r] = x_i[iN + r] for every i, on rank r",
     "torch.distributed.all_to_all_single", "MPI_Alltoall", "ncclAlltoAll (2.28)", "all_to_all_v",
     "MPI_Alltoallv"},
    {OpKind::kScan, "out[b] = x_0[b] + ... + x_r[b] for every b, on rank r", "", "MPI_Scan", "", "",
     ""},
    {OpKind::kExScan, "out[b] = x_0[b] + ... + x_{r-1}[b] for every b, on rank r > 0", "",
     "MPI_Exscan", "", "", ""},
};

Json NameOrNull(std::string_view name) { return name.empty() ? Json() : Json(name); }

}  // namespace

const OperationWords& WordsOf(OpKind op) {
  std::size_t i = 0;
  while (kWords[i].op != op) ++i;
  return kWords[i];
}

Json NamesJson(const OperationWords& words) {
  return {{"pytorch", NameOrNull(words.pytorch)},
          {"mpi", NameOrNull(words.mpi)},
          {"nccl", NameOrNull(words.nccl)}};
}

}  // namespace chorus::answer
