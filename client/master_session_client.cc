#include "client/master_session_client.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {
namespace {

// Extra time of the call: the master ends a step at its deadline with a better error. TensorFlow's master may leave the
// deadline to the call.
constexpr absl::Duration kPatienceWithMaster = absl::Seconds(2);

CallOptions CallWith(const SessionOptions& options) { return {.deadline = MonotonicNow() + options.call_timeout}; }

// For a step with this timeout, or the session's.
CallOptions StepCallWith(const SessionOptions& options, int64_t timeout_in_ms) {
  CallOptions call = CallWith(options);
  if (timeout_in_ms <= 0) timeout_in_ms = options.config->operation_timeout_in_ms();
  if (timeout_in_ms > 0) {
    call.deadline = std::min(call.deadline, MonotonicNow() + absl::Milliseconds(timeout_in_ms) + kPatienceWithMaster);
  }
  return call;
}

absl::Status CheckValid(const std::vector<Output>& outputs, absl::string_view what) {
  for (const Output& output : outputs) {
    if (!output.valid()) return errors::InvalidArgument("A ", what, " is an output that was never built");
  }
  return absl::OkStatus();
}

// TensorFlow's master waits indefinitely for a feed whose name has no output index.
std::string FullName(const std::string& name) {
  return name.find(':') == std::string::npos ? absl::StrCat(name, ":0") : name;
}

std::vector<std::string> Names(const std::vector<Output>& outputs) {
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const Output& output : outputs) names.push_back(output.name());
  return names;
}

std::vector<std::string> Names(const std::vector<Operation>& operations) {
  std::vector<std::string> names;
  names.reserve(operations.size());
  for (const Operation& operation : operations) names.push_back(operation.name());
  return names;
}

}  // namespace

// May outlive its session; the master then does not know the session.
class MasterSessionClient::CallableClient : public Session::Callable {
 public:
  CallableClient(std::shared_ptr<MasterConnection> connection, tensorflow::CallableOptions options)
      : connection_(std::move(connection)), options_(std::move(options)) {}
  ~CallableClient() override {
    MutexLock lock(mu_);
    if (made_in_.generation == 0) return;
    tensorflow::ReleaseCallableRequest request;
    tensorflow::ReleaseCallableResponse response;
    request.set_session_handle(made_in_.handle);
    request.set_handle(callable_);
    // A closed or lost session has released its callables.
    connection_->master()->ReleaseCallable(CallWith(connection_->options()), request, &response).IgnoreError();
  }

  // Makes the callable at the master, unless it exists in this session, and returns its handle there.
  absl::StatusOr<int64_t> MakeIn(const MasterConnection::Opened& session) {
    MutexLock lock(mu_);
    if (made_in_.generation == session.generation) return callable_;
    tensorflow::MakeCallableRequest request;
    tensorflow::MakeCallableResponse response;
    request.set_session_handle(session.handle);
    request.set_request_id(connection_->NextRequestId());
    *request.mutable_options() = options_;
    RETURN_IF_ERROR(connection_->master()->MakeCallable(CallWith(connection_->options()), request, &response));
    made_in_ = session;
    callable_ = response.handle();
    return callable_;
  }

  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& feeds) override {
    // TensorFlow's master fails on a wrong number of feeds.
    if (feeds.size() != options_.feed_size()) {
      return errors::InvalidArgument("Expected ", options_.feed_size(), " feeds for the callable, but got ",
                                     feeds.size());
    }
    RunCallableArgs args{.feeds = feeds};
    absl::StatusOr<RunStepResult> result =
        connection_->WithSession([&](const MasterConnection::Opened& session) -> absl::StatusOr<RunStepResult> {
          ASSIGN_OR_RETURN(args.handle, MakeIn(session));
          args.session_handle = session.handle;
          args.request_id = connection_->NextRequestId();
          return connection_->master()->RunCallable(StepCallWith(connection_->options(), 0), args);
        });
    if (!result.ok()) return connection_->WithLine(result.status());
    return std::move(result->fetches);
  }

 private:
  const std::shared_ptr<MasterConnection> connection_;
  const tensorflow::CallableOptions options_;
  Mutex mu_;
  MasterConnection::Opened made_in_ GUARDED_BY(mu_);
  int64_t callable_ GUARDED_BY(mu_) = 0;
};

MasterSessionClient::~MasterSessionClient() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<Session>> MasterSessionClient::Create(std::shared_ptr<MasterInterface> master,
                                                                     std::shared_ptr<void> keep_alive,
                                                                     const Scope& scope, SessionOptions options) {
  RETURN_IF_ERROR(scope.status());
  auto connection =
      std::make_shared<MasterConnection>(std::move(master), std::move(keep_alive), scope, std::move(options));
  RETURN_IF_ERROR(connection->WithLine(connection->Open()));
  return std::unique_ptr<Session>(new MasterSessionClient(std::move(connection)));
}

absl::StatusOr<std::vector<Tensor>> MasterSessionClient::Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                                             const std::vector<Operation>& targets,
                                                             const RunOptions& run_options,
                                                             tensorflow::RunMetadata* metadata) {
  RETURN_IF_ERROR(connection_->scope_status());
  RETURN_IF_ERROR(CheckValid(fetches, "fetch"));
  NamedFeedList named;
  named.reserve(feeds.size());
  for (const auto& [output, tensor] : feeds) {
    RETURN_IF_ERROR(CheckValid({output}, "feed"));
    named.emplace_back(output.name(), tensor);
  }
  for (const Operation& target : targets) {
    if (!target.valid()) return errors::InvalidArgument("A target is an operation that was never built");
  }
  return RunNamed(named, Names(fetches), Names(targets), run_options, metadata);
}

absl::StatusOr<std::vector<Tensor>> MasterSessionClient::RunNamed(const NamedFeedList& feeds,
                                                                  const std::vector<std::string>& fetches,
                                                                  const std::vector<std::string>& targets,
                                                                  const RunOptions& run_options,
                                                                  tensorflow::RunMetadata* metadata) {
  RETURN_IF_ERROR(connection_->WithLine(connection_->ExtendIfNeeded()));
  NamedFeedList full_feeds;
  for (const auto& [name, tensor] : feeds) full_feeds.emplace_back(FullName(name), tensor);
  std::vector<std::string> full_fetches;
  for (const std::string& name : fetches) full_fetches.push_back(FullName(name));
  RunStepArgs args{
      .feeds = std::move(full_feeds), .fetches = std::move(full_fetches), .targets = targets, .options = *run_options};
  absl::StatusOr<RunStepResult> result = connection_->WithSession([&](const MasterConnection::Opened& session) {
    args.session_handle = session.handle;
    args.request_id = connection_->NextRequestId();
    return connection_->master()->RunStep(StepCallWith(connection_->options(), run_options->timeout_in_ms()), args);
  });
  if (!result.ok()) return connection_->WithLine(result.status());
  if (metadata != nullptr) *metadata = std::move(result->metadata);
  return std::move(result->fetches);
}

absl::StatusOr<std::unique_ptr<Session::Callable>> MasterSessionClient::MakeCallable(
    const std::vector<Output>& feeds, const std::vector<Output>& fetches, const std::vector<Operation>& targets) {
  RETURN_IF_ERROR(CheckValid(feeds, "feed"));
  RETURN_IF_ERROR(CheckValid(fetches, "fetch"));
  RETURN_IF_ERROR(connection_->WithLine(connection_->ExtendIfNeeded()));
  tensorflow::CallableOptions options;
  for (const std::string& name : Names(feeds)) options.add_feed(name);
  for (const std::string& name : Names(fetches)) options.add_fetch(name);
  for (const std::string& name : Names(targets)) options.add_target(name);
  auto callable = std::make_unique<CallableClient>(connection_, std::move(options));
  RETURN_IF_ERROR(connection_->WithLine(
      connection_->WithSession([&](const MasterConnection::Opened& session) { return callable->MakeIn(session); })
          .status()));
  return std::unique_ptr<Callable>(std::move(callable));
}

absl::StatusOr<std::vector<DeviceInfo>> MasterSessionClient::ListDevices() {
  return connection_->WithSession(
      [&](const MasterConnection::Opened& session) -> absl::StatusOr<std::vector<DeviceInfo>> {
        tensorflow::ListDevicesRequest request;
        tensorflow::ListDevicesResponse response;
        request.set_session_handle(session.handle);
        RETURN_IF_ERROR(connection_->master()->ListDevices(CallWith(connection_->options()), request, &response));
        std::vector<DeviceInfo> devices;
        for (const auto* list : {&response.local_device(), &response.remote_device()}) {
          for (const auto& device : *list) {
            devices.push_back({.name = device.name(),
                               .type = device.device_type(),
                               .memory_limit = device.memory_limit(),
                               .incarnation = device.incarnation(),
                               .physical_device_desc = device.physical_device_desc()});
          }
        }
        return devices;
      });
}

absl::Status MasterSessionClient::Close() { return connection_->Close(); }

}  // namespace weir
