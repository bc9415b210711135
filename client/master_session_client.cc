#include "client/master_session_client.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/random_bits.h"

namespace weir {
namespace {

// Request ids are positive and unique per client with overwhelming probability; 0 would disable duplicate detection.
int64_t FirstRequestId() { return static_cast<int64_t>((RandomBits() >> 2) | (uint64_t{1} << 61)); }

// Extra time of the call: the master ends a step at its deadline with a better error. TensorFlow's master may leave the
// deadline to the call.
constexpr absl::Duration kPatienceWithMaster = absl::Seconds(2);

CallOptions CallWith(const SessionOptions& options) { return {.deadline = MonotonicNow() + options.call_timeout}; }

// For a step with this timeout, or the session's.
CallOptions StepCallWith(const SessionOptions& options, int64_t timeout_in_ms) {
  CallOptions call = CallWith(options);
  if (timeout_in_ms <= 0) timeout_in_ms = options.config.operation_timeout_in_ms();
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
  CallableClient(const MasterSessionClient& session, int64_t handle, size_t num_feeds)
      : keep_alive_(session.keep_alive_),
        master_(session.master_),
        options_(session.options_),
        num_feeds_(num_feeds),
        next_request_id_(FirstRequestId()) {
    args_.session_handle = session.handle_;
    args_.handle = handle;
  }
  ~CallableClient() override {
    tensorflow::ReleaseCallableRequest request;
    tensorflow::ReleaseCallableResponse response;
    request.set_session_handle(args_.session_handle);
    request.set_handle(args_.handle);
    // A closed session has released its callables.
    master_->ReleaseCallable(CallWith(options_), request, &response).IgnoreError();
  }

  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& feeds) override {
    // TensorFlow's master fails on a wrong number of feeds.
    if (feeds.size() != num_feeds_) {
      return errors::InvalidArgument("Expected ", num_feeds_, " feeds for callable ", args_.handle, ", but got ",
                                     feeds.size());
    }
    RunCallableArgs args = args_;
    args.feeds = feeds;
    args.request_id = next_request_id_.fetch_add(1, std::memory_order_relaxed);
    ASSIGN_OR_RETURN(RunStepResult result, master_->RunCallable(StepCallWith(options_, 0), args));
    return std::move(result.fetches);
  }

 private:
  const std::shared_ptr<void> keep_alive_;
  const std::shared_ptr<MasterInterface> master_;
  const SessionOptions options_;
  const size_t num_feeds_;
  std::atomic<int64_t> next_request_id_;
  RunCallableArgs args_;
};

MasterSessionClient::MasterSessionClient(std::shared_ptr<MasterInterface> master, std::shared_ptr<void> keep_alive,
                                         const Scope& scope, SessionOptions options)
    : keep_alive_(std::move(keep_alive)),
      master_(std::move(master)),
      scope_(scope),
      options_(std::move(options)),
      next_request_id_(FirstRequestId()) {}

MasterSessionClient::~MasterSessionClient() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<Session>> MasterSessionClient::Create(std::shared_ptr<MasterInterface> master,
                                                                     std::shared_ptr<void> keep_alive,
                                                                     const Scope& scope, SessionOptions options) {
  RETURN_IF_ERROR(scope.status());
  auto session = std::unique_ptr<MasterSessionClient>(
      new MasterSessionClient(std::move(master), std::move(keep_alive), scope, std::move(options)));
  tensorflow::CreateSessionRequest request;
  tensorflow::CreateSessionResponse response;
  const int node_ids = scope.graph()->num_node_ids();
  *request.mutable_graph_def() = scope.ToGraphDef();
  *request.mutable_config() = session->options_.config;
  const CallOptions call{.deadline = MonotonicNow() + session->options_.connect_timeout};
  absl::Status created = session->master_->CreateSession(call, request, &response);
  if (!created.ok()) {
    session->closed_ = true;
    return created;
  }
  session->handle_ = response.session_handle();
  session->graph_version_ = response.graph_version();
  session->nodes_sent_ = node_ids;
  {
    MutexLock lock(session->mu_);
    session->changes_sent_ = scope.graph()->changed_ops().size();
  }
  return std::unique_ptr<Session>(std::move(session));
}

absl::Status MasterSessionClient::ExtendIfNeeded() {
  if (scope_.graph()->num_node_ids() == nodes_sent_.load(std::memory_order_acquire)) return absl::OkStatus();
  RETURN_IF_ERROR(scope_.status());
  MutexLock lock(mu_);
  const int node_ids = scope_.graph()->num_node_ids();
  if (node_ids == nodes_sent_) return absl::OkStatus();
  tensorflow::ExtendSessionRequest request;
  tensorflow::ExtendSessionResponse response;
  request.set_session_handle(handle_);
  request.set_current_graph_version(graph_version_);
  *request.mutable_graph_def() = scope_.ToGraphDef();
  const Graph& graph = *scope_.graph();
  for (size_t i = changes_sent_; i < graph.changed_ops().size(); ++i) {
    const int id = graph.changed_ops()[i];
    if (id >= nodes_sent_) continue;
    return errors::FailedPrecondition("Operation '", graph.node(id)->name(),
                                      "' was changed, by a gradient through it, after the session got it. Build ",
                                      "gradients before the session, or create a new session.");
  }
  // Nodes are exported in order of creation, so those already sent come first.
  int known = 0;
  for (int id = 0; id < nodes_sent_; ++id) known += graph.node(id) != nullptr;
  request.mutable_graph_def()->mutable_node()->DeleteSubrange(0, known);
  RETURN_IF_ERROR(master_->ExtendSession(CallWith(options_), request, &response));
  graph_version_ = response.new_graph_version();
  changes_sent_ = graph.changed_ops().size();
  nodes_sent_.store(node_ids, std::memory_order_release);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> MasterSessionClient::Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                                             const std::vector<Operation>& targets,
                                                             const tensorflow::RunOptions& run_options,
                                                             tensorflow::RunMetadata* metadata) {
  RETURN_IF_ERROR(scope_.status());
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
                                                                  const tensorflow::RunOptions& run_options,
                                                                  tensorflow::RunMetadata* metadata) {
  RETURN_IF_ERROR(ExtendIfNeeded());
  NamedFeedList full_feeds;
  for (const auto& [name, tensor] : feeds) full_feeds.emplace_back(FullName(name), tensor);
  std::vector<std::string> full_fetches;
  for (const std::string& name : fetches) full_fetches.push_back(FullName(name));
  RunStepArgs args{.session_handle = handle_,
                   .feeds = std::move(full_feeds),
                   .fetches = std::move(full_fetches),
                   .targets = targets,
                   .options = run_options,
                   .request_id = NextRequestId()};
  ASSIGN_OR_RETURN(RunStepResult result, master_->RunStep(StepCallWith(options_, run_options.timeout_in_ms()), args));
  if (metadata != nullptr) *metadata = std::move(result.metadata);
  return std::move(result.fetches);
}

absl::StatusOr<std::unique_ptr<Session::Callable>> MasterSessionClient::MakeCallable(
    const std::vector<Output>& feeds, const std::vector<Output>& fetches, const std::vector<Operation>& targets) {
  RETURN_IF_ERROR(CheckValid(feeds, "feed"));
  RETURN_IF_ERROR(CheckValid(fetches, "fetch"));
  RETURN_IF_ERROR(ExtendIfNeeded());
  tensorflow::MakeCallableRequest request;
  tensorflow::MakeCallableResponse response;
  request.set_session_handle(handle_);
  request.set_request_id(NextRequestId());
  for (const std::string& name : Names(feeds)) request.mutable_options()->add_feed(name);
  for (const std::string& name : Names(fetches)) request.mutable_options()->add_fetch(name);
  for (const std::string& name : Names(targets)) request.mutable_options()->add_target(name);
  RETURN_IF_ERROR(master_->MakeCallable(CallWith(options_), request, &response));
  return std::unique_ptr<Callable>(new CallableClient(*this, response.handle(), feeds.size()));
}

absl::StatusOr<tensorflow::ListDevicesResponse> MasterSessionClient::ListDevices() {
  tensorflow::ListDevicesRequest request;
  tensorflow::ListDevicesResponse response;
  request.set_session_handle(handle_);
  RETURN_IF_ERROR(master_->ListDevices(CallWith(options_), request, &response));
  return response;
}

absl::Status MasterSessionClient::Close() {
  {
    MutexLock lock(mu_);
    if (closed_) return absl::OkStatus();
    closed_ = true;
  }
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(handle_);
  return master_->CloseSession({.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response);
}

}  // namespace weir
