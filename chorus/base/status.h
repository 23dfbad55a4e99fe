// Status and Result<T>: the one error channel between rooms.
//
// An error says which thing must be rebuilt: only the call (fix the argument, call again) or the
// group (its members no longer agree; Join, Split or Shrink anew). Errors travel up as values and
// are printed once, by whoever notices them last (the tool, a test, the user's program).
//
// Part of the public API, so it compiles as C++17. Thread safety: value types, like int.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace chorus {

enum class StatusCode : std::uint8_t {
  kOk,
  // The call is at fault; the group stays usable.
  kInvalidArgument,    // a value that can never be right
  kUnsupported,        // right in itself, not offered here
  kNotFound,           // a file or a name that is not there
  kResourceExhausted,  // memory, descriptors
  kInternal,           // a defect of Chorus
  // The group is over for this rank.
  kMismatch,          // ranks called different things
  kDeadlineExceeded,  // a peer did not come in time
  kPeerLost,          // a peer's process ended
  kAborted,           // some rank gave the group up
};

// What must be rebuilt before going on.
enum class ErrorScope : std::uint8_t { kNone, kCall, kGroup };

// One pointer, null when ok: the way of a call that succeeds copies and tests a word, no string.
// A moved-from Status is ok.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  // The message of kOk is dropped.
  Status(StatusCode code, std::string message);
  Status(const Status& other) : error_(other.ok() ? nullptr : other.Copy()) {}
  Status(Status&& other) noexcept = default;
  Status& operator=(const Status& other) {
    error_.reset(other.ok() ? nullptr : other.Copy());
    return *this;
  }
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : error_->code; }
  // Empty when ok.
  const std::string& message() const;
  ErrorScope scope() const {
    if (ok()) return ErrorScope::kNone;
    return code() >= StatusCode::kMismatch ? ErrorScope::kGroup : ErrorScope::kCall;
  }
  // "invalid argument: <message>", or "ok".
  std::string ToString() const;

  // The same error with "<context>: " before its message; ok stays ok.
  Status WithContext(std::string_view context) const;

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }
  friend bool operator!=(const Status& a, const Status& b) { return !(a == b); }

 private:
  struct Error {
    StatusCode code;
    std::string message;
  };
  Error* Copy() const;

  std::unique_ptr<const Error> error_;
};

std::string_view Name(StatusCode code);

inline Status OkStatus() { return Status(); }
inline Status InvalidArgument(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
inline Status Unsupported(std::string message) {
  return Status(StatusCode::kUnsupported, std::move(message));
}
inline Status NotFound(std::string message) {
  return Status(StatusCode::kNotFound, std::move(message));
}
inline Status ResourceExhausted(std::string message) {
  return Status(StatusCode::kResourceExhausted, std::move(message));
}
inline Status Internal(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}

// A value or an error. REQUIRES of value access: ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    assert(!status_.ok());
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace chorus

// Returns from the enclosing function if `expression` (a Status) is an error.
#define CHORUS_RETURN_IF_ERROR(expression)           \
  do {                                               \
    ::chorus::Status chorus_status_ = (expression);  \
    if (!chorus_status_.ok()) return chorus_status_; \
  } while (false)

#define CHORUS_CONCAT_INNER_(a, b) a##b
#define CHORUS_CONCAT_(a, b) CHORUS_CONCAT_INNER_(a, b)

// CHORUS_ASSIGN_OR_RETURN(auto x, F()): x = the value of F(), or return its error.
#define CHORUS_ASSIGN_OR_RETURN(declaration, expression) \
  CHORUS_ASSIGN_OR_RETURN_(CHORUS_CONCAT_(chorus_result_, __LINE__), declaration, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): a declaration does not stand in parentheses.
#define CHORUS_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return result.status();                       \
  declaration = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)
