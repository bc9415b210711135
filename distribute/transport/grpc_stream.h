// A MessageStream over gRPC, whichever end it is.
#pragma once

#include <memory>

#include "core/mutex.h"
#include "distribute/transport/message_stream.h"
#include "distribute/transport/polling_threads.h"

namespace weir {

// Counts the operations that gRPC has under way, since its queue must not be shut down before they have ended, and
// begins none when the stream is ending. The listener runs on the polling threads of the queue: in OnMessage it may
// compute.
class GrpcStream : public MessageStream, public std::enable_shared_from_this<GrpcStream> {
 public:
  void Start(std::shared_ptr<Listener> listener) override;
  void Read() override;
  void Write(const grpc::ByteBuffer& message) override;
  void Cancel() override;
  void Refuse(const absl::Status& status) override;

 protected:
  // Each begins one of gRPC's operations; `tag` completes then.
  virtual void BeginStart(CompletionEvent* tag) = 0;
  virtual void BeginRead(grpc::ByteBuffer* message, CompletionEvent* tag) = 0;
  virtual void BeginWrite(const grpc::ByteBuffer& message, CompletionEvent* tag) = 0;
  // Gives `refusal` to the peer that has called, where this end was called and that is not OK; else asks how it ended.
  virtual void BeginFinish(const absl::Status& refusal, CompletionEvent* tag) = 0;
  virtual void TryCancel() = 0;
  // After BeginFinish: how it ended.
  virtual absl::Status FinalStatus() = 0;
  // Whether BeginFinish is to be called when gRPC has ended the call of itself.
  virtual bool AsksHowItEnded() const = 0;
  // Nothing is under way any more, nor will be.
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
  // An operation begins, unless the stream is ending; then Leave must follow.
  bool Enter();
  void Leave(bool ok);
  void End(const absl::Status& status);
  std::shared_ptr<Listener> listener() const;

  Event started_{this, &GrpcStream::Started}, has_read_{this, &GrpcStream::HasRead},
      written_{this, &GrpcStream::Written}, finished_{this, &GrpcStream::Finished};
  grpc::ByteBuffer message_;  // that is being read
  mutable Mutex mu_;
  std::shared_ptr<GrpcStream> self_ GUARDED_BY(mu_);  // until it has ended
  std::shared_ptr<Listener> listener_ GUARDED_BY(mu_);
  int operations_ GUARDED_BY(mu_) = 0;
  bool is_ending_ GUARDED_BY(mu_) = false;
  bool is_cancelled_ GUARDED_BY(mu_) = false;
  bool has_finished_ GUARDED_BY(mu_) = false;  // BeginFinish was called, or is not to be
  bool has_ended_ GUARDED_BY(mu_) = false;
};

}  // namespace weir
