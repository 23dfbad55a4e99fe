// What a user asks for, as values: a Call or a Transfer from the arguments of a function of Group.
//
// Nothing is checked here, and nothing copied: a Call borrows counts and algorithm from what it is
// made of. Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "chorus/collective/call.h"
#include "chorus/collective/p2p.h"

namespace chorus {

Call MakeCall(OpKind op, ConstBuffer in, MutableBuffer out, const CallOptions& options);
Call AllReduceCall(ConstBuffer in, MutableBuffer out, const Reduction& op,
                   const CallOptions& options);
Call AllGatherVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                    const CallOptions& options);
Call ReduceScatterCall(ConstBuffer in, MutableBuffer out, const Reduction& op,
                       const CallOptions& options);
Call ReduceScatterVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& counts,
                        const Reduction& op, const CallOptions& options);
Call BroadcastCall(MutableBuffer inout, int root, const CallOptions& options);
Call ReduceCall(ConstBuffer in, MutableBuffer out, const Reduction& op, int root,
                const CallOptions& options);
Call GatherCall(ConstBuffer in, MutableBuffer out, int root, const CallOptions& options);
Call GatherVCall(int rank, ConstBuffer in, MutableBuffer out,
                 const std::vector<std::int64_t>& counts, int root, const CallOptions& options);
Call ScatterCall(int rank, ConstBuffer in, MutableBuffer out, int root, const CallOptions& options);
Call ScatterVCall(int rank, ConstBuffer in, MutableBuffer out,
                  const std::vector<std::int64_t>& counts, int root, const CallOptions& options);
Call AllToAllVCall(ConstBuffer in, MutableBuffer out, const std::vector<std::int64_t>& send_counts,
                   const std::vector<std::int64_t>& recv_counts, const CallOptions& options);
Call ScanCall(ConstBuffer in, MutableBuffer out, const Reduction& op, const CallOptions& options);
Call ExScanCall(ConstBuffer in, MutableBuffer out, const Reduction& op, const CallOptions& options);
Transfer MakeSend(ConstBuffer data, int to, int tag);
Transfer MakeRecv(MutableBuffer data, int from, int tag, Received* received);

}  // namespace chorus
