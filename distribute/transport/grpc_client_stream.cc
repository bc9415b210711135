#include "distribute/transport/grpc_client_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include "distribute/transport/grpc_status.h"
#include "distribute/transport/grpc_stream.h"

namespace weir {
namespace {

class GrpcClientStream : public GrpcStream {
 public:
  GrpcClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                   grpc::CompletionQueue* queue)
      : stub_(channel), stream_(stub_.PrepareCall(&context_, method, queue)) {}

 protected:
  void BeginStart(CompletionEvent* tag) override { stream_->StartCall(tag); }
  void BeginRead(grpc::ByteBuffer* message, CompletionEvent* tag) override { stream_->Read(message, tag); }
  void BeginWrite(const grpc::ByteBuffer& message, CompletionEvent* tag) override { stream_->Write(message, tag); }
  void BeginFinish(const absl::Status&, CompletionEvent* tag) override { stream_->Finish(&status_, tag); }
  void TryCancel() override { context_.TryCancel(); }
  std::string peer() const override { return context_.peer(); }
  bool AsksHowItEnded() const override { return true; }
  absl::Status FinalStatus() override {
    return status_.ok() ? errors::Unavailable("it was closed") : FromGrpcStatus(status_);
  }

 private:
  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  const std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::Status status_;
};

}  // namespace

std::shared_ptr<MessageStream> NewGrpcClientStream(const std::shared_ptr<grpc::Channel>& channel,
                                                   const std::string& method, grpc::CompletionQueue* queue) {
  return std::make_shared<GrpcClientStream>(channel, method, queue);
}

}  // namespace weir
