#include "distribute/coordination/etcd/etcd_watch.h"

#include <utility>

#include "core/logging.h"
#include "distribute/coordination/caller_wait.h"
#include "distribute/coordination/etcd/etcd_messages.h"
#include "distribute/transport/grpc_status.h"

namespace weir::coordination {
namespace {

// Limits the memory for an answer that never ends.
constexpr int64_t kMaxPartialBytes = 64 << 20;

int64_t BytesOf(const std::vector<Event>& events) {
  int64_t bytes = 0;
  for (const Event& event : events) bytes += sizeof(event) + event.kv.key.size() + event.kv.value.size();
  return bytes;
}

// True if a new stream would end the same way.
bool IsFinal(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace

EtcdWatch::EtcdWatch(EtcdClient* client, Keys keys, int64_t from)
    : client_(client), keys_(std::move(keys)), next_(from), backoff_(client->options().max_backoff), thread_([this] {
        Read();
      }) {}

EtcdWatch::~EtcdWatch() {
  stop_.StartCancel(errors::Cancelled("The watch ends"));
  thread_.join();
}

absl::StatusOr<std::vector<Event>> EtcdWatch::Next(const CallOptions& options) {
  CallerWait wait(options, mu_, changed_);
  MutexLock lock(mu_);
  while (ready_.empty()) {
    if (!end_.ok()) return end_;
    if (absl::Status status = wait.Next(lock); !status.ok()) {
      if (!trouble_.ok()) {
        status =
            absl::Status(status.code(), absl::StrCat(status.message(), "; no events because: ", trouble_.message()));
      }
      return Annotate(std::move(status), absl::StrCat("Watch of ", keys_.ToString()));
    }
  }
  std::vector<Event> events = std::move(ready_.front());
  ready_.pop_front();
  ready_bytes_ -= BytesOf(events);
  changed_.notify_all();
  return events;
}

void EtcdWatch::Read() {
  absl::Status status;
  while (!stop_.IsCancelled()) {
    status = ReadStream();
    if (!status.ok()) break;
    partial_.clear();
    if (!backoff_.Pause({.cancellation = &stop_}).ok()) break;
  }
  MutexLock lock(mu_);
  end_ = status.ok() ? errors::Cancelled("The watch ends") : std::move(status);
  changed_.notify_all();
}

absl::Status EtcdWatch::ReadStream() {
  // Streams do not report a store that lost writes; a separate read does.
  absl::Status status = client_->CheckRevision({.cancellation = &stop_}, EtcdRangeStart(keys_));
  if (!status.ok()) {
    NoteTrouble(status);
    return IsFinal(status) ? status : absl::OkStatus();
  }
  etcdserverpb::WatchRequest request;
  etcdserverpb::WatchCreateRequest& create = *request.mutable_create_request();
  create.set_key(EtcdRangeStart(keys_));
  create.set_range_end(EtcdRangeEnd(keys_));
  create.set_start_revision(next_);
  create.set_fragment(true);
  absl::Status rejected;  // by this client
  const grpc::Status ended =
      client_->Attempt({.cancellation = &stop_}, [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
        auto stream = member.watch->Watch(context);
        etcdserverpb::WatchResponse response;
        if (stream->Write(request)) {
          while (rejected.ok() && stream->Read(&response)) rejected = Take(std::move(response));
        }
        if (!rejected.ok()) context->TryCancel();
        return stream->Finish();
      });
  if (!rejected.ok()) return rejected;
  status = ended.ok() ? errors::Unavailable("the server ended the stream") : FromGrpcStatus(ended);
  status = client_->Describe(absl::StrCat("Watch of ", keys_.ToString()), std::move(status));
  NoteTrouble(status);
  return IsFinal(status) ? status : absl::OkStatus();
}

absl::Status EtcdWatch::Take(etcdserverpb::WatchResponse response) {
  if (response.compact_revision() > 0) return CompactedError(keys_, next_, response.compact_revision());
  if (response.canceled()) {
    return client_->Describe(
        absl::StrCat("Watch of ", keys_.ToString()),
        errors::FailedPrecondition("the server ended it: ", response.cancel_reason().substr(0, 512)));
  }
  backoff_.Reset();
  NoteTrouble(absl::OkStatus());
  for (etcdserverpb::Event& event : *response.mutable_events()) {
    const int64_t at_least = partial_.empty() ? next_ : partial_.back().kv.mod_revision;
    ASSIGN_OR_RETURN(Event taken, FromEtcd(keys_, at_least, std::move(event)));
    partial_.push_back(std::move(taken));
  }
  return Deliver(response.fragment());
}

absl::Status EtcdWatch::Deliver(bool more_follows) {
  if (partial_.empty()) return absl::OkStatus();
  const int64_t last = partial_.back().kv.mod_revision;
  std::vector<Event> events;
  events.swap(partial_);
  if (more_follows) {
    auto open = events.end();
    while (open != events.begin() && std::prev(open)->kv.mod_revision == last) --open;
    partial_.assign(std::make_move_iterator(open), std::make_move_iterator(events.end()));
    events.erase(open, events.end());
    if (BytesOf(partial_) > kMaxPartialBytes) {
      return errors::ResourceExhausted("etcd sent more than ", kMaxPartialBytes, " bytes of events of revision ", last);
    }
    if (events.empty()) return absl::OkStatus();
  }
  next_ = more_follows ? last : last + 1;
  client_->Saw(next_ - 1);
  CallerWait wait({.cancellation = &stop_}, mu_, changed_);
  MutexLock lock(mu_);
  ready_bytes_ += BytesOf(events);
  ready_.push_back(std::move(events));
  changed_.notify_all();
  while (ready_bytes_ > client_->options().max_waiting_event_bytes && ready_.size() > 1) {
    // Continues when the watch ends.
    RETURN_IF_ERROR(wait.Next(lock));
  }
  return absl::OkStatus();
}

void EtcdWatch::NoteTrouble(absl::Status status) {
  if (!status.ok() && !stop_.IsCancelled()) {
    WEIR_LOG_EVERY(WARNING, absl::Seconds(30)) << "A watch is interrupted: " << std::string(status.message());
  }
  MutexLock lock(mu_);
  trouble_ = std::move(status);
}

}  // namespace weir::coordination
