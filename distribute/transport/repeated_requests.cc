#include "distribute/transport/repeated_requests.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/mutex.h"
#include "distribute/transport/grpc_server.h"

namespace weir {
namespace {

// A copy that holds no other buffer: fetched tensors are part of an answer, and must be free to change.
std::optional<grpc::ByteBuffer> Copy(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return std::nullopt;
  std::string bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

struct RepeatedRequests::Request : std::enable_shared_from_this<Request> {
  // Counts callers. False: the request is being cancelled, because it had none.
  bool Enter() {
    MutexLock lock(mu);
    ++callers;
    return !abandoned;
  }
  // `reason` is why it went.
  void Leave(TimerQueue* timers, absl::Duration patience, const absl::Status& reason) {
    {
      MutexLock lock(mu);
      changed.notify_all();
      if (--callers > 0 || finished) return;
    }
    if (!MayComeAgain(reason)) return cancellation.StartCancel(reason);
    timers->Schedule(MonotonicNow() + patience, [weak = weak_from_this()] {
      const std::shared_ptr<Request> self = weak.lock();
      if (self == nullptr) return;
      {
        MutexLock lock(self->mu);
        if (self->callers > 0 || self->finished) return;
        self->abandoned = true;
      }
      self->cancellation.StartCancel(absl::CancelledError("The caller cancelled or disconnected"));
    });
  }

  void SetAnswer(Answer value) {
    MutexLock lock(mu);
    finished = true;
    answer = std::move(value);
    changed.notify_all();
  }

  CancellationManager cancellation;
  Mutex mu;
  std::condition_variable changed;
  int callers GUARDED_BY(mu) = 0;
  bool abandoned GUARDED_BY(mu) = false;
  bool finished GUARDED_BY(mu) = false;
  std::optional<Answer> answer GUARDED_BY(mu);  // set when finished
};

// One arrival of a request. It leaves when its own call is cancelled, at the latest when the call is answered.
class RepeatedRequests::Caller {
 public:
  Caller(RepeatedRequests* owner, std::shared_ptr<Request> request, CancellationManager* cancellation)
      : owner_(owner), request_(std::move(request)), cancellation_(cancellation) {
    in_time_ = request_->Enter();
    if (cancellation_ == nullptr) return;
    token_ = cancellation_->Register([this] { Leave(); });
    if (token_ == CancellationManager::kInvalidToken) Leave();
  }
  ~Caller() {
    const bool left = cancellation_ != nullptr &&
                      (token_ == CancellationManager::kInvalidToken || !cancellation_->Deregister(token_));
    if (!left) Leave();
  }
  Caller(const Caller&) = delete;

  bool in_time() const { return in_time_; }

 private:
  void Leave() {
    request_->Leave(&owner_->timers_, owner_->options_.patience,
                    cancellation_ == nullptr ? absl::OkStatus() : cancellation_->status());
  }

  RepeatedRequests* const owner_;
  const std::shared_ptr<Request> request_;
  CancellationManager* const cancellation_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  bool in_time_ = true;
};

RepeatedRequests::Answer RepeatedRequests::RunOnce(int64_t id, absl::string_view method, const CallOptions& options,
                                                   const Run& run) {
  if (id == 0) return run(options);
  if (options_.log != nullptr && options_.log->WasReceivedBefore(id)) {
    return errors::Aborted(method, " (request_id ", id,
                           ") was received before this master restarted. The earlier process ",
                           "may have run it, so it is not run again. Read the state that it changes, or restore it");
  }
  Known known;
  bool is_new = false;
  {
    MutexLock lock(mu_);
    const auto [entry, added] = requests_.try_emplace(id);
    is_new = added;
    if (is_new) entry->second.running = std::make_shared<Request>();
    known = entry->second;
  }
  if (known.answer != nullptr) return *known.answer;
  const std::shared_ptr<Request>& request = known.running;
  if (request == nullptr) {
    return errors::Aborted(method, " was received again after it had run (request_id ", id,
                           "), and its answer is no longer kept. It is not run again");
  }
  const Caller caller(this, request, options.cancellation);
  if (!caller.in_time()) {
    return errors::Aborted(method, " was received again when it had been cancelled, because its caller had gone");
  }
  if (!is_new) return AwaitAnswer(*request, id, method, options);
  if (options_.log != nullptr) options_.log->Add(id);
  CallOptions inner = options;
  inner.cancellation = &request->cancellation;
  Answer answer = run(inner);
  request->SetAnswer(answer);  // for those who wait; later ones get a copy
  Finish(id, answer);
  return answer;
}

RepeatedRequests::Answer RepeatedRequests::AwaitAnswer(Request& request, int64_t id, absl::string_view method,
                                                       const CallOptions& options) {
  const auto until = ToSteady(options.deadline);
  MutexLock lock(request.mu);
  while (!request.finished) {
    if (options.cancellation != nullptr && options.cancellation->IsCancelled()) return options.cancellation->status();
    if (lock.WaitUntil(request.changed, until) == std::cv_status::timeout && !request.finished) {
      return errors::DeadlineExceeded("The deadline of ", method, " passed while it ran (request_id ", id, ")");
    }
  }
  return *request.answer;
}

void RepeatedRequests::Finish(int64_t id, const Answer& answer) {
  constexpr size_t kOverhead = 512;  // the request's entry and kept answer, with what malloc adds
  const size_t bytes = kOverhead + (answer.ok() ? answer->Length() : answer.status().message().size());
  std::shared_ptr<const Answer> kept;
  if (!answer.ok()) {
    kept = std::make_shared<const Answer>(answer);
  } else if (answer->Length() <= options_.max_answer_bytes) {
    if (auto copy = Copy(*answer); copy.has_value()) kept = std::make_shared<const Answer>(*std::move(copy));
  }
  MutexLock lock(mu_);
  if (kept != nullptr) {
    kept_.push_back({id, bytes});
    kept_bytes_ += bytes;
  }
  requests_[id] = {.running = nullptr, .answer = std::move(kept)};
  known_.push_back(id);
  while (kept_bytes_ > options_.max_kept_bytes) {
    requests_[kept_.front().id].answer = nullptr;
    kept_bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  if (known_.size() > options_.max_known) {
    if (!kept_.empty() && kept_.front().id == known_.front()) {
      kept_bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
    requests_.erase(known_.front());
    known_.pop_front();
  }
}

}  // namespace weir
