#include "distribute/coordination/etcd/etcd_client.h"

#include <algorithm>
#include <random>
#include <utility>

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/cluster/address.h"
#include "distribute/coordination/caller_wait.h"
#include "distribute/coordination/etcd/etcd_messages.h"
#include "distribute/transport/grpc_cancel_hook.h"
#include "distribute/transport/grpc_deadline.h"
#include "distribute/transport/grpc_lifetime.h"
#include "distribute/transport/grpc_status.h"

namespace weir::coordination {
namespace {

// How long one member may take before the next one is tried; also bounds the delay of cancellation.
constexpr absl::Duration kLook = absl::Milliseconds(20);

std::shared_ptr<grpc::Channel> Connect(const std::string& address, const EtcdOptions& options,
                                       const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  KeepGrpcInitialized();
  const auto millis = [](absl::Duration duration) { return static_cast<int>(absl::ToInt64Milliseconds(duration)); };
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(options.max_answer_bytes);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, millis(options.ping_interval));
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, millis(options.ping_timeout));
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, millis(std::max(options.ping_timeout, options.max_backoff)));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, millis(options.max_backoff));
  args.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, millis(options.max_backoff));
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (options.tls.has_value() && !options.tls->server_name.empty()) {
    args.SetSslTargetNameOverride(options.tls->server_name);
  }
  return grpc::CreateCustomChannel(address, credentials, args);
}

absl::Status Check(const EtcdOptions& options) {
  if (options.endpoints.empty()) return errors::InvalidArgument("etcd: no endpoint is given");
  for (const std::string& endpoint : options.endpoints) {
    ASSIGN_OR_RETURN(const Address address, Address::Parse(endpoint));
    if (!address.is_unix() && address.port() == 0) {
      return errors::InvalidArgument("etcd: endpoint ", endpoint, " has no port");
    }
    if (!address.IsLoopback() && !options.insecure && !options.tls.has_value()) {
      return errors::FailedPrecondition("etcd: endpoint ", endpoint,
                                        " is on another machine: give EtcdOptions::tls, or say insecure on a network "
                                        "that you trust");
    }
  }
  return absl::OkStatus();
}

// True if the member itself looked for a leader and found none.
bool WasRejected(const grpc::Status& status) { return status.error_message() == "etcdserver: no leader"; }

}  // namespace

absl::Status EtcdBackoff::Pause(const CallOptions& options) {
  thread_local std::minstd_rand random{std::random_device()()};
  const absl::Time end = MonotonicNow() + next_ * std::uniform_real_distribution<double>(0.5, 1.0)(random);
  next_ = std::min(2 * next_, limit_);
  if (!SleepUntil(std::min(end, options.deadline), options.cancellation).ok()) {
    return CancelledBy(*options.cancellation);
  }
  return end < options.deadline ? absl::OkStatus() : CheckCaller(options);
}

absl::StatusOr<std::unique_ptr<EtcdClient>> EtcdClient::Create(EtcdOptions options) {
  RETURN_IF_ERROR(Check(options));
  KeepGrpcInitialized();
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials, EtcdCredentials(options));
  return std::unique_ptr<EtcdClient>(new EtcdClient(std::move(options), credentials));
}

EtcdClient::EtcdClient(EtcdOptions options, const std::shared_ptr<grpc::ChannelCredentials>& credentials)
    : options_(std::move(options)),
      name_(absl::StrCat("etcd at ", absl::StrJoin(options_.endpoints, ", "))),
      token_(options_.user, options_.password) {
  for (const std::string& endpoint : options_.endpoints) {
    auto channel = Connect(endpoint, options_, credentials);
    members_.push_back({endpoint, channel, etcdserverpb::KV::NewStub(channel), etcdserverpb::Watch::NewStub(channel),
                        etcdserverpb::Lease::NewStub(channel), etcdserverpb::Auth::NewStub(channel)});
  }
}

CallOptions EtcdClient::Bounded(CallOptions options) const {
  if (options.deadline == absl::InfiniteFuture()) options.deadline = MonotonicNow() + options_.default_timeout;
  return options;
}

bool EtcdClient::IsTransient(const grpc::Status& status) {
  // etcd cancels streams itself when it stops.
  return status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::CANCELLED;
}

absl::StatusOr<size_t> EtcdClient::AwaitConnected(const CallOptions& options) {
  for (;; TurnFrom(current_)) {
    // The current member if it is connected, else any other.
    const size_t first = current_ % members_.size();
    for (size_t i = 0; i < members_.size(); ++i) {
      const size_t member = (first + i) % members_.size();
      if (members_[member].channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY) return member;
    }
    if (options.cancellation != nullptr && options.cancellation->IsCancelled()) {
      return CancelledBy(*options.cancellation);
    }
    const absl::Time now = MonotonicNow();
    if (now >= options.deadline) {
      return errors::DeadlineExceeded("none of its members could be reached in time", Trouble(members_[first]));
    }
    members_[first].channel->WaitForConnected(ToGrpcDeadline(std::min(options.deadline, now + kLook)));
  }
}

// A call that does not wait for a connection reports at once what is wrong with it.
std::string EtcdClient::Trouble(const Member& member) const {
  if (member.channel->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return "";
  grpc::ClientContext context;
  context.set_deadline(ToGrpcDeadline(MonotonicNow() + kLook));
  etcdserverpb::RangeRequest request;
  request.set_key("k");
  etcdserverpb::RangeResponse response;
  const grpc::Status status = member.kv->Range(&context, request, &response);
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return "";
  return absl::StrCat("; ", member.address, ": ", status.error_message());
}

void EtcdClient::TurnFrom(size_t member) { current_.compare_exchange_strong(member, (member + 1) % members_.size()); }

grpc::Status EtcdClient::Attempt(const CallOptions& options, Rpc rpc) {
  std::string token;
  const grpc::Status status = AttemptWithToken(options, rpc, &token);
  return token_.IsRejected(status, token) ? AttemptWithToken(options, rpc, &token) : status;
}

grpc::Status EtcdClient::AttemptWithToken(const CallOptions& options, Rpc rpc, std::string* token) {
  const absl::StatusOr<size_t> member = AwaitConnected(options);
  if (!member.ok()) return ToGrpcStatus(member.status());
  const auto context = std::make_shared<grpc::ClientContext>();
  if (options.deadline != absl::InfiniteFuture()) context->set_deadline(ToGrpcDeadline(options.deadline));
  // Makes a member that is partitioned from the others fail instead of delaying the call.
  context->AddMetadata("hasleader", "true");
  GrpcCancelHook hook;
  if (!hook.Attach(options.cancellation, context)) return ToGrpcStatus(CancelledBy(*options.cancellation));
  grpc::Status status = token_.AddTo(context.get(), *members_[*member].auth, token);
  if (status.ok()) status = rpc(members_[*member], context.get());
  hook.Detach();
  // A member that was silent until the deadline may stay so.
  if (IsTransient(status) || status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) TurnFrom(*member);
  return status;
}

absl::Status EtcdClient::Call(absl::string_view what, const CallOptions& options, bool repeatable, Rpc rpc) {
  const CallOptions bounded = Bounded(options);
  EtcdBackoff backoff(options_.max_backoff);
  for (;;) {
    const grpc::Status status = Attempt(bounded, rpc);
    if (status.ok()) return absl::OkStatus();
    if (bounded.cancellation != nullptr && bounded.cancellation->IsCancelled()) {
      return CancelledBy(*bounded.cancellation);
    }
    absl::Status error = FromGrpcStatus(status);
    if (!IsTransient(status) || !(repeatable || WasRejected(status))) {
      if (absl::IsUnavailable(error)) error = Annotate(std::move(error), "it is not known whether it was done");
      return Describe(what, std::move(error));
    }
    if (absl::Status paused = backoff.Pause(bounded); !paused.ok()) {
      return Describe(what, absl::Status(paused.code(), absl::StrCat(paused.message(), "; before: ", error.message())));
    }
  }
}

absl::Status EtcdClient::Describe(absl::string_view what, absl::Status status) const {
  return Annotate(std::move(status), absl::StrCat(what, " at ", name_));
}

absl::Status EtcdClient::CheckHeader(const etcdserverpb::ResponseHeader& header, int64_t seen) {
  if (header.revision() < 1 || header.revision() > kMaxEtcdRevision) {
    return errors::Internal("The store at ", name_, " says that it is at revision ", header.revision());
  }
  uint64_t known = 0;
  if (!cluster_id_.compare_exchange_strong(known, header.cluster_id()) && known != header.cluster_id()) {
    return errors::DataLoss("The store at ", name_, " is another one than before");
  }
  if (header.revision() < seen) {
    return errors::DataLoss("The store at ", name_, " is at revision ", header.revision(), " after it was at ", seen,
                            ": it has lost what was written");
  }
  Saw(header.revision());
  return absl::OkStatus();
}

void EtcdClient::Saw(int64_t revision) {
  int64_t seen = seen_revision_;
  while (seen < revision && !seen_revision_.compare_exchange_weak(seen, revision)) {
  }
}

absl::Status EtcdClient::CheckRevision(const CallOptions& options, const std::string& key) {
  const int64_t seen = seen_revision();
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  request.set_count_only(true);
  etcdserverpb::RangeResponse response;
  RETURN_IF_ERROR(Call("Question for the revision", options, /*repeatable=*/true,
                       [&](const Member& member, grpc::ClientContext* context) {
                         return member.kv->Range(context, request, &response);
                       }));
  return CheckHeader(response.header(), seen);
}

}  // namespace weir::coordination
