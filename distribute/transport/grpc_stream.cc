#include "distribute/transport/grpc_stream.h"

#include <utility>

#include "distribute/transport/liveness/peer_bytes.h"

namespace weir {

std::shared_ptr<MessageStream::Listener> GrpcStream::listener() const {
  MutexLock lock(mu_);
  return listener_;
}

void GrpcStream::Start(std::shared_ptr<Listener> listener) {
  bool is_over = false;
  {
    MutexLock lock(mu_);
    is_over = has_ended_;
    if (!is_over) {
      self_ = shared_from_this();
      listener_ = listener;
    }
  }
  if (is_over) return listener->OnEnd(absl::CancelledError("The stream was cancelled"));
  if (Enter()) BeginStart(&started_);
}

void GrpcStream::Read() {
  if (Enter()) BeginRead(&message_, &has_read_);
}

void GrpcStream::Write(const grpc::ByteBuffer& message) {
  if (Enter()) BeginWrite(message, &written_);
}

uint64_t GrpcStream::BytesFromPeer() const {
  {
    MutexLock lock(mu_);
    if (has_ended_ || self_ == nullptr) return 0;
  }
  return weir::BytesFromPeer(peer());
}

void GrpcStream::Cancel() {
  bool is_over = false;
  {
    MutexLock lock(mu_);
    if (has_ended_) return;
    is_cancelled_ = is_ending_ = true;
    is_over = operations_ == 0 && !std::exchange(has_ended_, true);
  }
  TryCancel();
  if (is_over) End(absl::CancelledError("The stream was cancelled"));
}

void GrpcStream::Reject(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    if (is_ending_) return;
    self_ = shared_from_this();
    is_ending_ = has_finished_ = true;
    ++operations_;
  }
  BeginFinish(status, &finished_);
}

bool GrpcStream::Enter() {
  MutexLock lock(mu_);
  if (is_ending_) return false;
  ++operations_;
  return true;
}

void GrpcStream::Leave(bool ok) {
  bool is_over = false, finishes = false;
  {
    MutexLock lock(mu_);
    --operations_;
    if (!ok) is_ending_ = true;
    if (!is_ending_ || operations_ > 0) return;
    finishes = !is_cancelled_ && !std::exchange(has_finished_, true) && AsksHowItEnded();
    if (finishes) ++operations_;
    is_over = !finishes && !std::exchange(has_ended_, true);
  }
  if (finishes) return BeginFinish(absl::OkStatus(), &finished_);
  if (is_over) End(FinalStatus());
}

void GrpcStream::End(const absl::Status& status) {
  std::shared_ptr<GrpcStream> self;
  std::shared_ptr<Listener> listener;
  {
    MutexLock lock(mu_);
    self = std::move(self_);
    listener = std::move(listener_);
  }
  if (listener != nullptr) listener->OnEnd(status);
  Ended();
}

void GrpcStream::Started(bool ok) {
  const auto self = shared_from_this();
  const auto listener = this->listener();
  Leave(ok);
  if (ok && listener != nullptr) listener->OnReady();
}

void GrpcStream::HasRead(bool ok) {
  const auto self = shared_from_this();
  const auto listener = this->listener();
  grpc::ByteBuffer message;
  message.Swap(&message_);
  Leave(ok);
  if (ok && listener != nullptr) listener->OnMessage(message);
}

void GrpcStream::Written(bool ok) {
  const auto self = shared_from_this();
  const auto listener = this->listener();
  Leave(ok);
  if (ok && listener != nullptr) listener->OnWritten();
}

void GrpcStream::Finished(bool) {
  const auto self = shared_from_this();
  Leave(/*ok=*/false);
}

}  // namespace weir
