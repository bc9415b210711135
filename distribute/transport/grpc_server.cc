#include "distribute/transport/grpc_server.h"

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include "absl/time/clock.h"
#include "core/memory/freed_memory.h"
#include "core/threads/cancellation.h"
#include "core/threads/reserved_threads.h"
#include "distribute/cluster/address.h"
#include "distribute/transport/clients/open_connections.h"
#include "distribute/transport/grpc_deadline.h"
#include "distribute/transport/grpc_lifetime.h"
#include "distribute/transport/grpc_status.h"
#include "distribute/transport/grpc_stream.h"
#include "distribute/transport/listener.h"
#include "distribute/transport/liveness/ping_agreement.h"
#include "distribute/transport/polling_threads.h"

namespace weir {
namespace {

// A connection that sends nothing is closed after this time.
constexpr int kHandshakeMillis = 20'000;
constexpr int kReadyLongRunning = 16;
constexpr int kReady = 1;
constexpr int kReservedThreads = 2;
// A server keeps freed memory for the next message. A rejected request, which may come from anybody, leaves none.
constexpr size_t kLargeRequest = 32 << 20;

// Owned by all that hold parts of a large request. The last owner returns the memory of a rejected request.
class LargeRequest {
 public:
  void Reject() { memory_.emplace(); }

 private:
  std::optional<FreedMemoryReturn> memory_;
};

}  // namespace

// gRPC's method table, all asynchronous and untyped: streams follow the other methods. Not in the unnamed namespace,
// because GrpcServer::Core has one.
class MethodTable : public grpc::Service {
 public:
  MethodTable(const std::vector<ServerMethod>& methods, const std::vector<ServerStreamMethod>& streams) {
    for (const ServerMethod& method : methods) Add(method.path, grpc::internal::RpcMethod::NORMAL_RPC);
    for (const ServerStreamMethod& stream : streams) Add(stream.path, grpc::internal::RpcMethod::BIDI_STREAMING);
  }
  using grpc::Service::RequestAsyncBidiStreaming;
  using grpc::Service::RequestAsyncUnary;

 private:
  void Add(const std::string& path, grpc::internal::RpcMethod::RpcType type) {
    AddMethod(new grpc::internal::RpcServiceMethod(path.c_str(), type, nullptr));
    MarkMethodAsync(size_++);
  }
  int size_ = 0;
};

namespace {

// A completion event bound to a method of its owner.
template <typename Owner>
class OwnerEvent : public CompletionEvent {
 public:
  OwnerEvent(Owner* owner, void (Owner::*complete)(bool), bool may_block)
      : owner_(owner), complete_(complete), may_block_(may_block) {}
  void Complete(bool ok) override { (owner_->*complete_)(ok); }
  bool MayBlock() const override { return may_block_; }

 private:
  Owner* const owner_;
  void (Owner::*const complete_)(bool);
  const bool may_block_;
};

constexpr char kMayComeAgain[] = "weir/may_come_again";

bool IsWeirs(const grpc::ServerContext& context) {
  const auto agent = context.client_metadata().find("user-agent");
  return agent != context.client_metadata().end() && agent->second.starts_with(kUserAgent);
}

absl::Status CallerHasGone(bool may_come_again) {
  absl::Status status = absl::CancelledError("The caller cancelled or disconnected");
  if (may_come_again) status.SetPayload(kMayComeAgain, absl::Cord());
  return status;
}

}  // namespace

bool MayComeAgain(const absl::Status& cancelled) { return cancelled.GetPayload(kMayComeAgain).has_value(); }

// The server state that calls use.
class GrpcServer::Core {
 public:
  explicit Core(Options options) : options_(std::move(options)), table_(options_.methods, options_.streams) {}
  ~Core() { Shutdown(absl::ZeroDuration()); }

  absl::StatusOr<std::string> Start();
  void Drain(absl::Time deadline);
  void Shutdown(absl::Duration patience);
  bool IsConnected(absl::string_view connection) const { return connections_.IsOpen(connection); }
  int running_calls() {
    MutexLock lock(mu_);
    return handlers_;
  }
  void CountRequest(const grpc::ByteBuffer& request) {
    if (options_.metrics == nullptr) return;
    options_.metrics->calls_served.Add();
    options_.metrics->calls.received.Add(request.Length());
  }
  void CountResponse(const grpc::ByteBuffer& response) {
    if (options_.metrics != nullptr) options_.metrics->calls.sent.Add(response.Length());
  }

  const ServerMethod& method(int index) const { return options_.methods[index]; }
  const ServerStreamMethod& stream(int index) const { return options_.streams[index]; }
  int StreamInTable(int index) const { return static_cast<int>(options_.methods.size()) + index; }
  grpc::ServerCompletionQueue* queue() { return queue_.get(); }
  // Runs `request`, which asks gRPC for a call, unless the server is shutting down.
  template <typename Request>
  bool IfServing(Request request) {
    MutexLock lock(mu_);
    if (stopping_) return false;
    request();
    return true;
  }
  MethodTable& table() { return table_; }
  grpc::AsyncGenericService& unknown() { return unknown_; }
  ReservedThreads& reserved_threads() { return *reserved_threads_; }
  enum class Admission { kServe, kReject, kDrop };
  // kDrop: the queue may be shut down already, so no operation may start. Otherwise HandlerEnds must follow.
  Admission HandlerStarts() {
    MutexLock lock(mu_);
    if (stopping_) return Admission::kDrop;
    ++handlers_;
    return draining_ ? Admission::kReject : Admission::kServe;
  }
  bool IsDraining() {
    MutexLock lock(mu_);
    return draining_;
  }
  absl::Status IsFull() {
    MutexLock lock(mu_);
    return errors::ResourceExhausted("The server has threads for no more calls that wait; ", handlers_, " run now, of ",
                                     options_.max_threads,
                                     " at most: end some of them, or let them end by deadlines, and try again");
  }
  void HandlerEnds() {
    MutexLock lock(mu_);
    if (--handlers_ == 0) idle_.notify_all();
  }
  // As HandlerStarts. StreamEnds must follow unless the result is kDrop.
  Admission StreamStarts() {
    MutexLock lock(mu_);
    if (stopping_) return Admission::kDrop;
    ++streams_;
    return draining_ ? Admission::kReject : Admission::kServe;
  }
  void StreamEnds() {
    MutexLock lock(mu_);
    if (--streams_ == 0) idle_.notify_all();
  }

 private:
  const Options options_;
  MethodTable table_;
  grpc::AsyncGenericService unknown_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  OpenConnections connections_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PollingThreads> threads_;
  std::unique_ptr<ReservedThreads> reserved_threads_;
  Mutex shutdown_mu_;
  Mutex mu_;
  std::condition_variable idle_;
  bool draining_ GUARDED_BY(mu_) = false;
  bool stopping_ GUARDED_BY(mu_) = false;
  int handlers_ GUARDED_BY(mu_) = 0;
  int streams_ GUARDED_BY(mu_) = 0;
};

namespace {

// A call of a known method, from before it arrives until gRPC has finished with it.
template <typename Core>
class UnaryCall final : public ServerCall {
 public:
  static void Expect(Core* core, int method) {
    auto* call = new UnaryCall(core, method);
    if (!core->IfServing([&] { call->Request(); })) delete call;
  }

  const grpc::ByteBuffer& request() const override { return request_; }
  std::string connection() const override { return context_.peer(); }

  CallOptions options() override {
    CallOptions options;
    options.deadline = FromGrpcDeadline(context_.deadline());
    if (method().long_running) options.cancellation = &cancellation_;
    return options;
  }

  void Finish(const grpc::ByteBuffer& response) override {
    Core* core = core_;
    core->CountResponse(response);
    responder_.Finish(response, grpc::Status::OK, &finished_);
    core->HandlerEnds();
  }

  void Fail(const absl::Status& status) override {
    Core* core = core_;
    if (large_ != nullptr) large_->Reject();
    responder_.FinishWithError(ToGrpcStatus(status), &finished_);
    core->HandlerEnds();
  }

  void FinishWithError(const grpc::ByteBuffer& response) override {
    if (large_ != nullptr) large_->Reject();
    Finish(response);
  }

 private:
  class DoneEvent : public CompletionEvent {
   public:
    explicit DoneEvent(UnaryCall* call) : call_(call) {}
    void Complete(bool) override { call_->Done(); }
    // Cancelling runs the callbacks that the handler registered.
    bool MayBlock() const override { return call_->context_.IsCancelled(); }

   private:
    UnaryCall* const call_;
  };

  UnaryCall(Core* core, int method) : core_(core), index_(method), responder_(&context_) {}
  ~UnaryCall() override = default;

  const ServerMethod& method() const { return core_->method(index_); }

  void Request() {
    if (method().long_running) {
      context_.AsyncNotifyWhenDone(&done_);
      ++events_;
    }
    core_->table().RequestAsyncUnary(index_, &context_, &request_, &responder_, core_->queue(), core_->queue(),
                                     &arrived_);
  }

  class ArrivedEvent : public CompletionEvent {
   public:
    explicit ArrivedEvent(UnaryCall* call) : call_(call) {}
    void Complete(bool ok) override { call_->Arrived(ok, /*may_wait=*/true); }
    void CompleteAlone(bool ok) override { call_->Arrived(ok, /*may_wait=*/false); }

   private:
    UnaryCall* const call_;
  };

  void Arrived(bool ok, bool may_wait) {
    if (!ok) {
      delete this;  // shut down before a call arrived; gRPC drops the other events
      return;
    }
    core_->CountRequest(request_);
    if (request_.Length() >= kLargeRequest) large_ = std::make_shared<LargeRequest>();
    const std::shared_ptr<LargeRequest> large = large_;  // until the handler, which decodes it, has returned
    AnswerAboutPings(&context_);
    may_come_again_ = !IsWeirs(context_);
    switch (core_->HandlerStarts()) {
      case Core::Admission::kServe:
        Expect(core_, index_);
        if (method().blocks && !may_wait) return Fail(core_->IsFull());
        if (method().reserved && !may_wait) {
          core_->reserved_threads().Run([this, large] { method().handle(this); });
          return;
        }
        method().handle(this);
        break;
      case Core::Admission::kReject:
        Fail(errors::Unavailable("The server is shutting down"));
        break;
      case Core::Admission::kDrop:
        Release();  // the call was cancelled by the shutdown
        break;
    }
  }

  void Finished(bool) { Release(); }

  void Done() {
    if (context_.IsCancelled()) {
      cancellation_.StartCancel(core_->IsDraining() ? errors::Unavailable("The server is shutting down")
                                                    : CallerHasGone(may_come_again_));
    }
    Release();
  }

  void Release() {
    if (events_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  Core* const core_;
  const int index_;
  std::shared_ptr<LargeRequest> large_;  // null for others; destroyed after the request
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder_;
  CancellationManager cancellation_;
  std::atomic<bool> may_come_again_{true};  // read before the handler runs: reading metadata is not thread-safe
  std::atomic<int> events_{1};              // events that are still to come: Finished and, for some calls, Done
  ArrivedEvent arrived_{this};
  OwnerEvent<UnaryCall> finished_{this, &UnaryCall::Finished, false};
  DoneEvent done_{this};
};

// The server's end of a stream, from before it arrives.
template <typename Core>
class ServerStream final : public GrpcStream {
 public:
  static void Expect(Core* core, int index) {
    const auto stream = std::make_shared<ServerStream>(core, index);
    stream->expected_ = stream;
    if (!core->IfServing([&] { stream->Request(); })) stream->expected_ = nullptr;
  }

  ServerStream(Core* core, int index) : core_(core), index_(index), stream_(&context_) {}

 protected:
  void BeginStart(CompletionEvent* tag) override { stream_.SendInitialMetadata(tag); }
  void BeginRead(grpc::ByteBuffer* message, CompletionEvent* tag) override { stream_.Read(message, tag); }
  void BeginWrite(const grpc::ByteBuffer& message, CompletionEvent* tag) override { stream_.Write(message, tag); }
  void BeginFinish(const absl::Status& rejection, CompletionEvent* tag) override {
    stream_.Finish(ToGrpcStatus(rejection), tag);
  }
  void TryCancel() override { context_.TryCancel(); }
  std::string peer() const override { return context_.peer(); }
  bool AsksHowItEnded() const override { return false; }
  absl::Status FinalStatus() override { return errors::Unavailable("it was closed"); }
  void Ended() override { core_->StreamEnds(); }

 private:
  void Request() {
    core_->table().RequestAsyncBidiStreaming(core_->StreamInTable(index_), &context_, &stream_, core_->queue(),
                                             core_->queue(), &arrived_);
  }
  void Arrived(bool ok) {
    const std::shared_ptr<ServerStream> self = std::move(expected_);
    if (!ok) return;
    const auto admission = core_->StreamStarts();
    if (admission == Core::Admission::kDrop) return;  // the call was cancelled by the shutdown
    if (admission == Core::Admission::kReject) return Reject(errors::Unavailable("The server is shutting down"));
    Expect(core_, index_);
    core_->stream(index_).handle(self);
  }

  Core* const core_;
  const int index_;
  std::shared_ptr<ServerStream> expected_;  // itself, until it arrives
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  OwnerEvent<ServerStream> arrived_{this, &ServerStream::Arrived, true};
};

// A call of an unknown method.
template <typename Core>
class UnknownCall {
 public:
  static void Expect(Core* core) {
    auto* call = new UnknownCall(core);
    const bool serving = core->IfServing([&] {
      core->unknown().RequestCall(&call->context_, &call->stream_, core->queue(), core->queue(), &call->arrived_);
    });
    if (!serving) delete call;
  }

 private:
  explicit UnknownCall(Core* core) : core_(core), stream_(&context_) {}

  void Arrived(bool ok) {
    if (!ok) {
      delete this;
      return;
    }
    Expect(core_);
    const grpc::Status status = ToGrpcStatus(errors::Unimplemented("This server has no method ", context_.method()));
    if (!core_->IfServing([&] { stream_.Finish(status, &finished_); })) delete this;
  }
  void Finished(bool) { delete this; }

  Core* const core_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_;
  OwnerEvent<UnknownCall> arrived_{this, &UnknownCall::Arrived, false};
  OwnerEvent<UnknownCall> finished_{this, &UnknownCall::Finished, false};
};

}  // namespace

absl::StatusOr<std::string> GrpcServer::Core::Start() {
  ASSIGN_OR_RETURN(const Address address, Address::Parse(options_.bind_address));
  ASSIGN_OR_RETURN(listener_, Listener::Open(address));
  grpc::ServerBuilder builder;
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMillis);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 64 << 10);
  // Allows peers to ping often enough to detect that this server has died.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  builder.SetMaxReceiveMessageSize(options_.max_request_bytes);
  builder.SetMaxSendMessageSize(-1);
  builder.RegisterService(&table_);
  builder.RegisterAsyncGenericService(&unknown_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return errors::Unavailable("gRPC cannot start a server on ", address.ToString());
  reserved_threads_ = std::make_unique<ReservedThreads>();
  RETURN_IF_ERROR(reserved_threads_->Start(kReservedThreads));
  threads_ = std::make_unique<PollingThreads>(queue_.get(), PollingThreads::Options{.max = options_.max_threads});
  if (absl::Status status = threads_->status(); !status.ok()) {
    threads_.reset();
    return status;
  }
  for (size_t i = 0; i < options_.methods.size(); ++i) {
    const int ready = options_.methods[i].long_running ? kReadyLongRunning : kReady;
    for (int n = 0; n < ready; ++n) UnaryCall<Core>::Expect(this, static_cast<int>(i));
  }
  for (size_t i = 0; i < options_.streams.size(); ++i) ServerStream<Core>::Expect(this, static_cast<int>(i));
  UnknownCall<Core>::Expect(this);
  RETURN_IF_ERROR(listener_->Start([this](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    connections_.Add(connection);
    acceptor_->HandleNewConnection(&parameters);
  }));
  return listener_->address().ToString();
}

void GrpcServer::Core::Drain(absl::Time deadline) {
  // Waits here rather than in gRPC, whose grace period would wait for idle clients to disconnect.
  MutexLock lock(mu_);
  draining_ = true;
  const auto until = ToSteady(deadline);
  while (handlers_ > 0 && lock.WaitUntil(idle_, until) == std::cv_status::no_timeout) {
  }
}

void GrpcServer::Core::Shutdown(absl::Duration patience) {
  MutexLock once(shutdown_mu_);
  if (queue_ == nullptr) return;
  Drain(MonotonicNow() + patience);
  listener_.reset();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  {
    MutexLock lock(mu_);
    stopping_ = true;
    while (handlers_ > 0 || streams_ > 0) lock.Wait(idle_);
  }
  queue_->Shutdown();
  if (threads_ == nullptr) {
    void* tag;
    bool ok;
    while (queue_->Next(&tag, &ok)) {
    }
  }
  reserved_threads_.reset();  // its calls have ended
  threads_.reset();
  server_.reset();
  queue_.reset();
}

GrpcServer::GrpcServer(std::unique_ptr<Core> core, std::string address)
    : core_(std::move(core)), address_(std::move(address)) {}

GrpcServer::~GrpcServer() = default;

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(Options options) {
  KeepGrpcInitialized();
  auto core = std::make_unique<Core>(std::move(options));
  ASSIGN_OR_RETURN(std::string address, core->Start());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(core), std::move(address)));
}

bool GrpcServer::IsConnected(absl::string_view connection) const { return core_->IsConnected(connection); }

int GrpcServer::running_calls() const { return core_->running_calls(); }

void GrpcServer::Drain(absl::Time deadline) { core_->Drain(deadline); }

void GrpcServer::Shutdown(absl::Duration patience) { core_->Shutdown(patience); }

}  // namespace weir
