#include "distribute/transport/python/python_client.h"

#include <utility>

#include "core/clock.h"
#include "distribute/transport/python/python_codec.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

absl::Status ClientIsGone(absl::string_view why) {
  return errors::Unavailable("The client whose Python has the function is not connected any more: its process ended, ",
                             "or the connection broke (", why, ")");
}

}  // namespace

void PythonClient::Start() {
  const std::weak_ptr<PythonClient> weak = weak_from_this();
  options_.timers->Schedule(MonotonicNow() + options_.greeting_timeout, [weak] {
    if (auto self = weak.lock()) self->EndUnlessGreeted();
  });
  options_.stream->Start(shared_from_this());
}

void PythonClient::EndUnlessGreeted() {
  {
    MutexLock lock(mu_);
    if (is_greeted_) return;
  }
  End(errors::DeadlineExceeded("The client named no service for ", absl::FormatDuration(options_.greeting_timeout)));
}

void PythonClient::CallAsync(PythonFunctionCall call, absl::Duration timeout, CancellationManager* cancellation,
                             PythonFunctions::DoneCallback done) {
  uint64_t id;
  {
    MutexLock lock(mu_);
    id = ++last_id_;
  }
  absl::StatusOr<grpc::ByteBuffer> message = EncodePythonCall({.id = id, .call = std::move(call)});
  if (!message.ok()) return done(std::move(message).status());
  if (absl::Status status = Add(id, timeout, cancellation, &done); !status.ok()) return done(std::move(status));
  Write(id, *std::move(message));
}

absl::Status PythonClient::Add(uint64_t id, absl::Duration timeout, CancellationManager* cancellation,
                               PythonFunctions::DoneCallback* done) {
  const std::weak_ptr<PythonClient> weak = weak_from_this();
  MutexLock lock(mu_);
  RETURN_IF_ERROR(end_);
  Pending pending{.cancellation = cancellation};
  if (cancellation != nullptr) {
    pending.cancel_token = cancellation->Register([weak, id, cancellation] {
      if (auto self = weak.lock()) self->Finish(id, cancellation->status());
    });
    if (pending.cancel_token == CancellationManager::kInvalidToken) return cancellation->status();
  }
  pending.timer = options_.timers->Schedule(MonotonicNow() + timeout, [weak, id, timeout] {
    auto self = weak.lock();
    if (self == nullptr) return;
    self->Finish(id, errors::DeadlineExceeded("The function in the client's Python did not return within ",
                                              absl::FormatDuration(timeout)));
  });
  pending.done = std::move(*done);
  pending_.emplace(id, std::move(pending));
  return absl::OkStatus();
}

void PythonClient::Finish(uint64_t id, absl::StatusOr<std::vector<Tensor>> result) {
  Pending pending;
  grpc::ByteBuffer message;  // released without the lock
  {
    MutexLock lock(mu_);
    auto found = pending_.extract(id);
    if (found.empty()) return;
    pending = std::move(found.mapped());
    if (auto queued = to_write_.extract(id); !queued.empty()) {
      queued_bytes_ -= queued.mapped().Length();
      message.Swap(&queued.mapped());
    }
  }
  // The cancellation may be the one that runs this.
  if (pending.cancellation != nullptr) pending.cancellation->TryDeregister(pending.cancel_token);
  options_.timers->Cancel(pending.timer);
  pending.done(std::move(result));
}

void PythonClient::Write(uint64_t id, grpc::ByteBuffer message) {
  const size_t bytes = message.Length();
  bool is_full = false;
  {
    MutexLock lock(mu_);
    if (!pending_.contains(id)) return;  // it has ended already
    if (is_writing_) {
      is_full = !to_write_.empty() && queued_bytes_ + bytes > kMaxQueuedBytes;
      if (!is_full) {
        queued_bytes_ += bytes;
        to_write_.emplace(id, std::move(message));
        return;
      }
    }
    is_writing_ = true;
  }
  if (!is_full) return options_.stream->Write(message);
  Finish(id, errors::ResourceExhausted("The client whose Python has the function reads too slowly: calls of ",
                                       kMaxQueuedBytes, " bytes wait for it already, which is the limit"));
}

void PythonClient::OnWritten() {
  grpc::ByteBuffer next;
  {
    MutexLock lock(mu_);
    if (to_write_.empty()) {
      is_writing_ = false;
      return;
    }
    next.Swap(&to_write_.begin()->second);
    to_write_.erase(to_write_.begin());
    queued_bytes_ -= next.Length();
  }
  options_.stream->Write(next);
}

void PythonClient::OnMessage(const grpc::ByteBuffer& message) {
  bool is_greeting = false;
  {
    MutexLock lock(mu_);
    is_greeting = !std::exchange(is_greeted_, true);
  }
  if (is_greeting) return Greet(message);
  absl::StatusOr<WirePythonResult> result = DecodePythonResult(message, CpuAllocator());
  if (!result.ok()) return End(result.status());
  // First, so that other answers do not wait for what this one leads to.
  options_.stream->Read();
  if (!result->status.ok()) return Finish(result->id, std::move(result->status));
  Finish(result->id, std::move(result->outputs));
}

void PythonClient::Greet(const grpc::ByteBuffer& message) {
  {
    MutexLock lock(mu_);
    is_writing_ = true;  // calls wait for the answer: it is the first message
  }
  ServePythonRequest request;
  absl::StatusOr<ServePythonResponse> response = [&]() -> absl::StatusOr<ServePythonResponse> {
    RETURN_IF_ERROR(MessageFromBuffer(message, &request));
    return options_.greet(shared_from_this(), request);
  }();
  if (!response.ok()) return options_.stream->Reject(response.status());
  absl::StatusOr<grpc::ByteBuffer> reply = MessageToBuffer(*response);
  if (!reply.ok()) return End(reply.status());
  options_.stream->Write(*reply);
  options_.stream->Read();
}

void PythonClient::End(const absl::Status& reason) {
  FailAll(reason);
  options_.stream->Cancel();
}

void PythonClient::OnEnd(const absl::Status& status) {
  FailAll(ClientIsGone(status.message()));
  options_.ended(this);
}

void PythonClient::FailAll(const absl::Status& status) {
  std::vector<uint64_t> ids;
  absl::Status end;
  {
    MutexLock lock(mu_);
    if (end_.ok()) end_ = status;
    end = end_;
    for (const auto& [id, pending] : pending_) ids.push_back(id);
  }
  for (uint64_t id : ids) Finish(id, end);
}

}  // namespace weir
