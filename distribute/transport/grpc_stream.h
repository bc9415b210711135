// Either end of a MessageStream over gRPC.
#pragma once

#include <memory>
#include <string>

#include "core/mutex.h"
#include "distribute/transport/message_stream.h"
#include "distribute/transport/polling_threads.h"

namespace weir {

// Counts gRPC's pending operations, because the queue must not be shut down before they end, and starts none once the
// stream is ending. The listener runs on the queue's polling threads: OnMessage may compute.
class GrpcStream : public MessageStream, public std::enable_shared_from_this<GrpcStream> {
 public:
  void Start(std::shared_ptr<Listener> listener) override;
  void Read() override;
  void Write(const grpc::ByteBuffer& message) override;
  uint64_t BytesFromPeer() const override;
  void Cancel() override;
  void Reject(const absl::Status& status) override;

 protected:
  // Each starts one gRPC operation, which completes `tag`.
  virtual void BeginStart(CompletionEvent* tag) = 0;
  virtual void BeginRead(grpc::ByteBuffer* message, CompletionEvent* tag) = 0;
  virtual void BeginWrite(const grpc::ByteBuffer& message, CompletionEvent* tag) = 0;
  // On the called end, sends `rejection` to the peer if it is not OK; otherwise asks gRPC how the call ended.
  virtual void BeginFinish(const absl::Status& rejection, CompletionEvent* tag) = 0;
  virtual void TryCancel() = 0;
  // In gRPC's words; called between the start and the end of the stream.
  virtual std::string peer() const = 0;
  // Valid after BeginFinish: how the call ended.
  virtual absl::Status FinalStatus() = 0;
  // True if BeginFinish has to be called even when gRPC has ended the call by itself.
  virtual bool AsksHowItEnded() const = 0;
  // No operation is pending any more, and none will start.
  virtual void Ended() {}

 private:
  class Event : public CompletionEvent {
   public:
    Event(GrpcStream* stream, void (GrpcStream::*complete)(bool)) : stream_(stream), complete_(complete) {}
    void Complete(bool ok) override { (stream_->*complete_)(ok); }

   private:
    GrpcStream* const stream_;
    void (GrpcStream::*const complete_)(bool);
  };

  void Started(bool ok);
  void HasRead(bool ok);
  void Written(bool ok);
  void Finished(bool ok);
  // Starts an operation unless the stream is ending; if true, Leave must follow.
  bool Enter();
  void Leave(bool ok);
  void End(const absl::Status& status);
  std::shared_ptr<Listener> listener() const;

  Event started_{this, &GrpcStream::Started}, has_read_{this, &GrpcStream::HasRead},
      written_{this, &GrpcStream::Written}, finished_{this, &GrpcStream::Finished};
  grpc::ByteBuffer message_;  // being read
  mutable Mutex mu_;
  std::shared_ptr<GrpcStream> self_ GUARDED_BY(mu_);  // until it has ended
  std::shared_ptr<Listener> listener_ GUARDED_BY(mu_);
  int operations_ GUARDED_BY(mu_) = 0;
  bool is_ending_ GUARDED_BY(mu_) = false;
  bool is_cancelled_ GUARDED_BY(mu_) = false;
  bool has_finished_ GUARDED_BY(mu_) = false;  // BeginFinish was called, or will not be
  bool has_ended_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
