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

Call MakeCall(OpKind op, const ConstBuffer& in, const MutableBuffer& out,
              const CallOptions& options);
Call AllReduceCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                   const CallOptions& options);
Call AllGatherVCall(const ConstBuffer& in, const MutableBuffer& out,
                    const std::vector<std::int64_t>& counts, const CallOptions& options);
Call ReduceScatterCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                       const CallOptions& options);
Call ReduceScatterVCall(const ConstBuffer& in, const MutableBuffer& out,
                        const std::vector<std::int64_t>& counts, const Reduction& op,
                        const CallOptions& options);
Call BroadcastCall(const MutableBuffer& inout, int root, const CallOptions& options);
Call ReduceCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op, int root,
                const CallOptions& options);
Call GatherCall(const ConstBuffer& in, const MutableBuffer& out, int root,
                const CallOptions& options);
Call GatherVCall(int rank, const ConstBuffer& in, const MutableBuffer& out,
                 const std::vector<std::int64_t>& counts, int root, const CallOptions& options);
Call ScatterCall(int rank, const ConstBuffer& in, const MutableBuffer& out, int root,
                 const CallOptions& options);
Call ScatterVCall(int rank, const ConstBuffer& in, const MutableBuffer& out,
                  const std::vector<std::int64_t>& counts, int root, const CallOptions& options);
Call AllToAllVCall(const ConstBuffer& in, const MutableBuffer& out,
                   const std::vector<std::int64_t>& send_counts,
                   const std::vector<std::int64_t>& recv_counts, const CallOptions& options);
Call ScanCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
              const CallOptions& options);
Call ExScanCall(const ConstBuffer& in, const MutableBuffer& out, const Reduction& op,
                const CallOptions& options);
Transfer MakeSend(const ConstBuffer& data, int to, int tag);
Transfer MakeRecv(const MutableBuffer& data, int from, int tag, Received* received);

}  // namespace chorus
