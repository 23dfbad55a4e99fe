#include "chorus/base/status.h"

namespace chorus {

Status::Status(StatusCode code, std::string message)
    : error_(code == StatusCode::kOk ? nullptr : new Error{code, std::move(message)}) {}

Status::Error* Status::Copy() const { return new Error(*error_); }

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : error_->message;
}

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
  return std::string(Name(code())) + ": " + message();
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return Status(code(), std::string(context) + ": " + message());
}

}  // namespace chorus
