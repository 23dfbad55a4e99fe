// The flight recorder of a group, read: the records of its ranks (Links::Record) as values, and
// merged into one text that points at where they part.
//
//     #16 all ranks: all_reduce f32 x 1024 sum (direct, lanes): finished
//   > #17 ranks 1-3: all_reduce f32 x 1024 sum (direct, lanes): started 200.3 ms ago
//         rank 0: not called
//
// Thread safety: the mutex of the Endpoint is held around ReadRecords; the rest is pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "chorus/collective/operation_record.h"
#include "chorus/transport/links.h"

namespace chorus {

// The last records of `rank`, at most `most`, oldest first.
std::vector<OperationRecord> ReadRecords(const Links& links, int rank, std::size_t most);

// records[r]: of rank r. The number where ranks first differ: by what they called, else by how far
// they have come; 0 if they do not.
std::uint64_t FirstDifference(const std::vector<std::vector<OperationRecord>>& records);

// At most `rows` numbers: those around the first difference, else the last.
std::string MergeRecords(std::string_view group,
                         const std::vector<std::vector<OperationRecord>>& records,
                         std::chrono::nanoseconds now, std::size_t rows);

}  // namespace chorus
