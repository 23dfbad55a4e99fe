// How an operation is called elsewhere, and what it promises, as people write it.
#pragma once

#include <string_view>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/base/op_kind.h"

namespace chorus::answer {

// Names in other libraries; "" where there is none.
struct OperationWords {
  OpKind op;
  std::string_view promise;  // the equation of schedule/op.h
  std::string_view pytorch;
  std::string_view mpi;
  std::string_view nccl;
  // The variant in which ranks have different counts; "" if there is none.
  std::string_view variant;
  std::string_view variant_mpi;
};

const OperationWords& WordsOf(OpKind op);

// {"pytorch": ..., "mpi": ..., "nccl": ...}, null where there is none.
Json NamesJson(const OperationWords& words);

}  // namespace chorus::answer
