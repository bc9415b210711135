#include "distribute/transport/grpc_channel.h"

#include <algorithm>
#include <utility>

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/match.h"
#include "core/clock.h"
#include "core/files/open_file_limit.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/grpc_cancel_hook.h"
#include "distribute/transport/grpc_client_stream.h"
#include "distribute/transport/grpc_deadline.h"
#include "distribute/transport/grpc_lifetime.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/grpc_status.h"
#include "distribute/transport/liveness/ping_agreement.h"
#include "distribute/transport/liveness/socket_name.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

// Times the ping_timeout.
constexpr int kSlowAnswers = 20;
constexpr int kResolutionPauseMillis = 1000;  // limits DNS queries while attempts fail

bool IsUnix(const GrpcChannelOptions& options) { return absl::StartsWith(options.address, "unix:"); }

std::shared_ptr<grpc::Channel> Connect(const GrpcChannelOptions& options, bool pings) {
  KeepGrpcInitialized();
  const auto millis = [](absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); };
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  if (pings) {
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, millis(options.ping_interval));
    // On a slow network, answers to pings wait behind messages; CallWatch is faster, except for Unix sockets.
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                millis(IsUnix(options) ? options.ping_timeout : kSlowAnswers * options.ping_timeout));
    args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  }
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // Limits one attempt to connect; on a busy machine it takes far longer than the pause between two attempts.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
              millis(std::max(options.ping_interval + options.ping_timeout, options.max_reconnect_backoff)));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, millis(options.max_reconnect_backoff));
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kResolutionPauseMillis);
  args.SetInt(GRPC_ARG_MAX_METADATA_SIZE, 64 << 10);
  // Two runtimes in one process share nothing, connections included. Proxies are never used between tasks.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetUserAgentPrefix(kUserAgent);
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), args);
}

// Between blocking calls no thread polls the channel: the end of an attempt to connect would be noticed by gRPC's
// backup poller alone, every five seconds. So a call on a channel without a connection polls for a moment before it
// fails.
void PollConnecting(grpc::Channel& channel, absl::Time deadline) {
  constexpr absl::Duration kMoment = absl::Milliseconds(200);
  const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/false);
  if (state != GRPC_CHANNEL_TRANSIENT_FAILURE) return;
  channel.WaitForStateChange(state, ToGrpcDeadline(std::min(deadline, MonotonicNow() + kMoment)));
}

void SetDeadline(const CallOptions& options, grpc::ClientContext* context) {
  if (options.deadline != absl::InfiniteFuture()) context->set_deadline(ToGrpcDeadline(options.deadline));
}

absl::Status Cancelled(const CancellationManager& manager) {
  const absl::Status reason = manager.status();
  return absl::CancelledError(reason.ok() ? "The call was cancelled" : reason.message());
}

}  // namespace

class GrpcChannel::AsyncCall : public CompletionEvent {
 public:
  AsyncCall(GrpcChannel* channel, Connection connection, const char* method, const CallOptions& options,
            DoneCallback done)
      : channel_(channel),
        connection_(std::move(connection)),
        method_(method),
        options_(options),
        done_(std::move(done)) {
    SetDeadline(options, context_.get());
    if (connection_.asks) AskForPings(context_.get());
  }

  // Deletes itself when the call is complete.
  void Start(const grpc::ByteBuffer& request) {
    if (!hook_.Attach(options_.cancellation, context_)) {
      DoneCallback done = std::move(done_);
      const absl::Status status = Cancelled(*options_.cancellation);
      delete this;
      done(status);
      return;
    }
    if (connection_.previous != nullptr) request_ = request;
    watched_ = channel_->watch_->Add(context_, connection_.peer, connection_.is_pinged);
    channel_->CountSent(request);
    grpc::GenericStub stub(connection_.channel);
    reader_ = stub.PrepareUnaryCall(context_.get(), method_, request, channel_->queue_);
    reader_->StartCall();
    reader_->Finish(&response_, &status_, this);
  }

  void Complete(bool) override {
    hook_.Detach();
    const CallWatch::Verdict verdict = channel_->watch_->Remove(watched_);
    const std::unique_ptr<AsyncCall> self(this);
    channel_->Learn(connection_, *context_, status_, verdict);
    if (RetriesOnPrevious(connection_, status_)) {
      (new AsyncCall(channel_, {.channel = connection_.previous}, method_, options_, std::move(done_)))
          ->Start(request_);
    } else if (status_.ok()) {
      channel_->CountReceived(response_);
      done_(std::move(response_));
    } else {
      done_(channel_->ToStatus(status_, method_, options_, verdict));
    }
  }

 private:
  GrpcChannel* const channel_;
  const Connection connection_;
  const char* const method_;
  const CallOptions options_;
  DoneCallback done_;
  GrpcCancelHook hook_;
  CallWatch::Token watched_;
  const std::shared_ptr<grpc::ClientContext> context_ = std::make_shared<grpc::ClientContext>();
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer request_;  // kept in case the call has to be repeated
  grpc::ByteBuffer response_;
  grpc::Status status_;
};

GrpcChannel::GrpcChannel(GrpcChannelOptions options, grpc::CompletionQueue* queue)
    : options_(std::move(options)),
      own_watch_(options_.watch != nullptr
                     ? nullptr
                     : std::make_unique<CallWatch>(options_.ping_interval + options_.ping_timeout)),
      watch_(options_.watch != nullptr ? options_.watch : own_watch_.get()),
      queue_(queue),
      channel_(Connect(options_, /*pings=*/false)) {}

GrpcChannel::~GrpcChannel() = default;

GrpcChannel::Connection GrpcChannel::Current() {
  MutexLock lock(mu_);
  return {.channel = channel_,
          .previous = previous_,
          .asks = pings_ == Pings::kUnknown,
          .is_pinged = pings_ == Pings::kAgreed,
          .peer = peer_};
}

void GrpcChannel::Learn(const Connection& connection, const grpc::ClientContext& context, const grpc::Status& status,
                        const CallWatch::Verdict& verdict) {
  if (verdict.is_silent) return Abandon(connection);
  const bool agrees = connection.asks && AgreesToPings(context);
  // Calls that are watched need the peer's name, which may change when the address is resolved again.
  const bool names_peer = agrees || (verdict.is_long && status.ok());
  if (!connection.asks && connection.previous == nullptr && !names_peer) return;
  // The error may come from the connection, which says nothing about the peer.
  if (!agrees && !status.ok()) return;
  std::shared_ptr<grpc::Channel> replaced;  // closed without the lock, once its last call ends
  MutexLock lock(mu_);
  if (names_peer) peer_ = PeerOfConnection(context.peer());
  if (!connection.asks) {
    if (connection.previous != nullptr) replaced = std::exchange(previous_, nullptr);
  } else if (pings_ == Pings::kUnknown) {
    pings_ = agrees ? Pings::kAgreed : Pings::kRejected;
    if (agrees) previous_ = std::exchange(channel_, Connect(options_, /*pings=*/true));
  }
}

void GrpcChannel::Abandon(const Connection& connection) {
  std::shared_ptr<grpc::Channel> previous, silent;  // closed without the lock, once their last calls end
  MutexLock lock(mu_);
  if (channel_ != connection.channel) return;
  previous = std::exchange(previous_, nullptr);
  silent = std::exchange(channel_, Connect(options_, /*pings=*/true));
}

// gRPC 1.51 may report a connection in progress as failed, because connect() and later calls set errno before gRPC
// reads it (grpc/grpc#35064). Calls to a peer that has just answered must not fail for that.
bool GrpcChannel::RetriesOnPrevious(const Connection& connection, const grpc::Status& status) {
  return connection.previous != nullptr && status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         absl::StartsWith(status.error_message(), "failed to connect to all addresses");
}

void GrpcChannel::CallAsync(const char* method, const CallOptions& options, const grpc::ByteBuffer& request,
                            DoneCallback done) {
  (new AsyncCall(this, Current(), method, options, std::move(done)))->Start(request);
}

absl::StatusOr<grpc::ByteBuffer> GrpcChannel::Call(const char* method, const CallOptions& options,
                                                   const grpc::ByteBuffer& request) {
  const Connection connection = Current();
  PollConnecting(*connection.channel, options.deadline);
  return CallOver(connection, method, options, request);
}

absl::Status GrpcChannel::CallMessage(const char* method, const CallOptions& options,
                                      const google::protobuf::MessageLite& request,
                                      google::protobuf::MessageLite* response) {
  ASSIGN_OR_RETURN(const grpc::ByteBuffer message, MessageToBuffer(request));
  ASSIGN_OR_RETURN(const grpc::ByteBuffer answer, Call(method, options, message));
  return MessageFromBuffer(answer, response);
}

absl::StatusOr<grpc::ByteBuffer> GrpcChannel::CallOver(const Connection& connection, const char* method,
                                                       const CallOptions& options, const grpc::ByteBuffer& request) {
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(options, context.get());
  if (connection.asks) AskForPings(context.get());
  GrpcCancelHook hook;
  if (!hook.Attach(options.cancellation, context)) return Cancelled(*options.cancellation);
  CountSent(request);
  grpc::ByteBuffer response;
  const CallWatch::Token watched = watch_->Add(context, connection.peer, connection.is_pinged);
  const grpc::internal::RpcMethod rpc(method, grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall(connection.channel.get(), rpc, context.get(), request, &response);
  hook.Detach();
  const CallWatch::Verdict verdict = watch_->Remove(watched);
  Learn(connection, *context, status, verdict);
  if (RetriesOnPrevious(connection, status))
    return CallOver({.channel = connection.previous}, method, options, request);
  if (!status.ok()) return ToStatus(status, method, options, verdict);
  CountReceived(response);
  return response;
}

std::shared_ptr<MessageStream> GrpcChannel::OpenStream(const char* method) {
  return NewGrpcClientStream(Current().channel, method, queue_);
}

CallOptions GrpcChannel::Bounded(CallOptions options) const {
  if (options.deadline == absl::InfiniteFuture()) options.deadline = MonotonicNow() + options_.default_timeout;
  return options;
}

absl::Status GrpcChannel::ToStatus(const grpc::Status& status, const char* method, const CallOptions& options,
                                   const CallWatch::Verdict& verdict) const {
  const absl::Status error = FromGrpcStatus(status);
  if (CarriesDetails(status)) {
    // A task that rejects calls during its shutdown does not name itself.
    return absl::IsUnavailable(error) && !options_.task.empty() ? WithOrigin(error, {.task = options_.task}) : error;
  }
  const absl::string_view path(method);
  const std::string what = absl::StrCat(path.substr(path.rfind('/') + 1), " to ",
                                        options_.task.empty() ? "the master" : absl::StrCat("task ", options_.task),
                                        " at ", options_.address);
  if (verdict.is_silent) {
    return WithOrigin(errors::Unavailable(what, " failed: the task does not answer (nothing has come from it for ",
                                          absl::FormatDuration(watch_->patience()), ")"),
                      ErrorOrigin{.task = options_.task});
  }
  absl::Status named;
  switch (error.code()) {
    case absl::StatusCode::kUnavailable:
      // The cause is here, not in the task.
      if (NamesOpenFileLimit(error.message()) || OpenFilesAreUsedUp()) {
        return errors::ResourceExhausted(what, " failed: ", OpenFileLimitReached(), " (", error.message(), ")");
      }
      named = errors::Unavailable(what, " failed: the task is not there or does not answer (", error.message(), ")");
      break;
    case absl::StatusCode::kDeadlineExceeded:
      named = errors::DeadlineExceeded(what, " did not end within its deadline");
      if (verdict.is_transferring) named = MarkTransferring(std::move(named));
      break;
    case absl::StatusCode::kCancelled:
      if (options.cancellation != nullptr && options.cancellation->IsCancelled()) {
        return Cancelled(*options.cancellation);
      }
      named = Annotate(error, what);
      break;
    default:
      named = Annotate(error, what);
      break;
  }
  return WithOrigin(std::move(named), ErrorOrigin{.task = options_.task});
}

}  // namespace weir
