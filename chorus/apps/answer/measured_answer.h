// What others have measured of collectives, each point with its source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "chorus/apps/answer/json.h"
#include "chorus/base/op_kind.h"
#include "chorus/base/status.h"
#include "chorus/base/units.h"

namespace chorus::answer {

struct MeasuredQuestion {
  std::string op;  // empty: all
  std::string on;  // a machine's name; empty: all
};

struct MeasuredPoint {
  std::string hardware;  // as its source calls it
  std::string on;        // as --on takes it; "" if no such machine is known
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  OpKind op = OpKind::kAllReduce;
  Bytes bytes;  // as nccl-tests counts it
  Seconds time;
  std::string how;
  std::string source;
  std::string remark;  // what is derived or uncertain; "" if nothing
};

struct MeasuredAnswer {
  std::vector<MeasuredPoint> points;
};

Result<MeasuredAnswer> Answer(const MeasuredQuestion& question);
Json ToJson(const MeasuredAnswer& answer);

}  // namespace chorus::answer
