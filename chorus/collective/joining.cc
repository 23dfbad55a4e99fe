#include "chorus/collective/joining.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "chorus/collective/join.h"
#include "chorus/collective/operation.h"
#include "chorus/launch/meeting.h"
#include "chorus/transport/fork_guard.h"

namespace chorus {

class Joining::Impl {
 public:
  explicit Impl(const JoinOptions& options)
      : thread_([this, options] {
          Result<Group> result = Run(options, &progress_);
          const std::lock_guard<std::mutex> lock(mutex_);
          result_ = std::move(result);
          done_.notify_all();
        }) {}
  ~Impl() {
    // The child of a fork has no such thread.
    if (fork_guard_.InChild()) {
      thread_.detach();
      return;
    }
    progress_.GiveUp();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool Done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return result_.has_value();
  }

  Result<Group> Wait(std::optional<std::chrono::milliseconds> timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto known = [this] { return result_.has_value(); };
    if (!timeout.has_value()) {
      done_.wait(lock, known);
    } else if (!done_.wait_for(lock, std::min(*timeout, kLongestTimeout), known)) {
      return Status(StatusCode::kDeadlineExceeded, Missing(*timeout));
    }
    return *result_;
  }

  void Cancel() { progress_.GiveUp(); }

 private:
  static Result<Group> Run(const JoinOptions& options, MeetingProgress* progress) {
    CHORUS_ASSIGN_OR_RETURN(GroupSettings settings, WorldSettings(options));
    CHORUS_ASSIGN_OR_RETURN(const JobPlace place, PlaceOf(options));
    return JoinWith(std::move(settings), place, options, nullptr, progress);
  }

  std::string Missing(std::chrono::milliseconds timeout) const {
    const std::optional<std::vector<int>> missing = progress_.missing();
    std::string whom = "it has only begun";
    if (missing.has_value()) {
      whom = missing->empty() ? "all have met, and agree on how to go on"
                              : fmt::format("waits for rank{} {}", missing->size() == 1 ? "" : "s",
                                            fmt::join(*missing, ", "));
    }
    return fmt::format("joining has not ended within {} ms: {}", timeout.count(), whom);
  }

  const ForkGuard fork_guard_;
  MeetingProgress progress_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<Result<Group>> result_;  // guarded by mutex_
  std::thread thread_;                   // last, for it uses what is above
};

bool Joining::Done() const { return impl_->Done(); }
Result<Group> Joining::Wait() const { return impl_->Wait(std::nullopt); }
Result<Group> Joining::Wait(std::chrono::milliseconds timeout) const {
  return impl_->Wait(timeout);
}
void Joining::Cancel() const { impl_->Cancel(); }

Joining JoinAsync(const JoinOptions& options) {
  return Joining(std::make_shared<Joining::Impl>(options));
}

}  // namespace chorus
