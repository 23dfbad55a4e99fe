#include "chorus/base/status.h"

namespace chorus {

std::string_view Name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid argument";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kResourceExhausted:
      return "resource exhausted";
    case StatusCode::kInternal:
      return "internal error";
    case StatusCode::kMismatch:
      return "mismatch";
    case StatusCode::kDeadlineExceeded:
      return "deadline exceeded";
    case StatusCode::kPeerLost:
      return "peer lost";
    case StatusCode::kAborted:
      return "aborted";
  }
  return "?";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(Name(code_)) + ": " + message_;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

}  // namespace chorus
