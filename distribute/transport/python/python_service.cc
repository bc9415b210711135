#include "distribute/transport/python/python_service.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "distribute/transport/python/python_codec.h"
#include "distribute/transport/task_channels.h"

namespace weir {
namespace {

constexpr char kCall[] = "/weir.PythonService/Call";
constexpr size_t kMinSecret = 16, kMaxSecret = 128;
constexpr absl::Duration kDefaultTimeout = absl::Minutes(10);
constexpr int64_t kMaxTimeoutMs = int64_t{30} * 24 * 3600 * 1000;
// The answer of the task that passes a call on comes after that task's own time limit.
constexpr absl::Duration kAnswerMargin = absl::Seconds(5);

}  // namespace

// The functions of one session's client.
class PythonService::SessionFunctions : public PythonFunctions {
 public:
  SessionFunctions(PythonService* owner, std::string service, std::string task, absl::Duration timeout)
      : owner_(owner), service_(std::move(service)), task_(std::move(task)), timeout_(timeout) {}

  void CallAsync(PythonFunctionCall call, CancellationManager* cancellation, DoneCallback done) override {
    if (task_ == owner_->task_) {
      owner_->CallHere(service_, std::move(call), timeout_, cancellation, std::move(done));
    } else {
      owner_->PassOn(task_, service_, std::move(call), timeout_, cancellation, std::move(done));
    }
  }

 private:
  PythonService* const owner_;
  const std::string service_, task_;
  const absl::Duration timeout_;
};

struct PythonService::Relay {
  explicit Relay(const ClusterMembership* membership) : channels(membership, &queue) {}
  ~Relay() {
    queue.Shutdown();
    threads.reset();
  }

  grpc::CompletionQueue queue;
  TaskChannels channels;
  std::unique_ptr<PollingThreads> threads = std::make_unique<PollingThreads>(&queue, PollingThreads::Options());
};

PythonService::PythonService(const ClusterMembership* membership)
    : membership_(membership), task_(membership->task()) {}

PythonService::~PythonService() = default;

std::vector<ServerMethod> PythonService::Methods() {
  return {{kCall, [this](ServerCall* call) { HandleCall(call); }, /*long_running=*/true}};
}

std::vector<ServerStreamMethod> PythonService::Streams() {
  return {{"/weir.PythonService/Serve", [this](std::shared_ptr<MessageStream> stream) { Serve(std::move(stream)); }}};
}

void PythonService::Serve(std::shared_ptr<MessageStream> stream) {
  bool is_full = false;
  {
    MutexLock lock(mu_);
    is_full = streams_ == kMaxStreams;
    if (!is_full) ++streams_;
  }
  if (is_full) {
    return stream->Reject(
        errors::ResourceExhausted(kMaxStreams, " clients are connected to ", task_, " already, which is the limit"));
  }
  PythonClient::Options options{.stream = std::move(stream), .timers = &timers_};
  options.greet = [this](const std::shared_ptr<PythonClient>& client,
                         const ServePythonRequest& request) -> absl::StatusOr<ServePythonResponse> {
    RETURN_IF_ERROR(Add(request.service(), client));
    ServePythonResponse response;
    response.set_task(task_);
    return response;
  };
  options.ended = [this](const PythonClient* client) { Remove(client); };
  std::make_shared<PythonClient>(std::move(options))->Start();
}

absl::Status PythonService::Add(const std::string& service, const std::shared_ptr<PythonClient>& client) {
  if (service.size() < kMinSecret || service.size() > kMaxSecret) {
    return errors::InvalidArgument("A service of Python functions has a secret of ", kMinSecret, " to ", kMaxSecret,
                                   " characters, not ", service.size());
  }
  std::shared_ptr<PythonClient> replaced;
  {
    MutexLock lock(mu_);
    if (clients_.size() >= kMaxClients && !clients_.contains(service)) {
      return errors::ResourceExhausted(kMaxClients, " clients serve Python functions to ", task_,
                                       " already, which is the limit");
    }
    replaced = std::exchange(clients_[service], client);
  }
  if (replaced != nullptr) replaced->End(errors::Unavailable("The client that serves Python functions connected anew"));
  return absl::OkStatus();
}

void PythonService::Remove(const PythonClient* client) {
  std::shared_ptr<PythonClient> removed;  // destroyed without the lock
  MutexLock lock(mu_);
  --streams_;
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [client](const auto& entry) { return entry.second.get() == client; });
  if (found == clients_.end()) return;
  removed = std::move(found->second);
  clients_.erase(found);
}

absl::StatusOr<std::shared_ptr<PythonClient>> PythonService::Find(const std::string& service) {
  MutexLock lock(mu_);
  const auto found = clients_.find(service);
  if (found != clients_.end()) return found->second;
  return errors::Unavailable("The client whose Python has the session's functions is not connected to ", task_,
                             ": its process has ended, or it is connecting again");
}

absl::StatusOr<std::shared_ptr<PythonFunctions>> PythonService::FunctionsOf(const tensorflow::GraphOptions& options) {
  for (const auto& optimizer : options.rewrite_options().custom_optimizers()) {
    if (optimizer.name() != kOptimizer) continue;
    std::string service, task;
    absl::Duration timeout = kDefaultTimeout;
    for (const auto& [name, value] : optimizer.parameter_map()) {
      if (name == "service" && value.value_case() == tensorflow::AttrValue::kS) {
        service = value.s();
      } else if (name == "task" && value.value_case() == tensorflow::AttrValue::kS) {
        task = value.s();
      } else if (name == "timeout_in_ms" && value.i() > 0 && value.i() <= kMaxTimeoutMs) {
        timeout = absl::Milliseconds(value.i());
      } else {
        return errors::InvalidArgument("custom_optimizers: ", kOptimizer,
                                       " has the parameters service and task, which ",
                                       "are strings, and timeout_in_ms, which is at least 1, but got ", name);
      }
    }
    if (service.empty() || task.empty()) {
      return errors::InvalidArgument("custom_optimizers: ", kOptimizer, " needs the parameters service and task");
    }
    return std::make_shared<SessionFunctions>(this, std::move(service), std::move(task), timeout);
  }
  return nullptr;
}

void PythonService::CallHere(const std::string& service, PythonFunctionCall call, absl::Duration timeout,
                             CancellationManager* cancellation, PythonFunctions::DoneCallback done) {
  absl::StatusOr<std::shared_ptr<PythonClient>> client = Find(service);
  if (!client.ok()) return done(std::move(client).status());
  (*client)->CallAsync(std::move(call), timeout, cancellation, std::move(done));
}

absl::StatusOr<std::shared_ptr<GrpcChannel>> PythonService::ChannelTo(const std::string& task) {
  MutexLock lock(mu_);
  if (relay_ == nullptr) relay_ = std::make_unique<Relay>(membership_);
  RETURN_IF_ERROR(relay_->threads->status());
  absl::StatusOr<std::shared_ptr<GrpcChannel>> channel = relay_->channels.To(task);
  if (!absl::IsNotFound(channel.status())) return channel;
  return errors::NotFound("The session's Python functions are connected to ", task, ", which is not in the cluster of ",
                          task_);
}

void PythonService::PassOn(const std::string& task, const std::string& service, PythonFunctionCall call,
                           absl::Duration timeout, CancellationManager* cancellation,
                           PythonFunctions::DoneCallback done) {
  absl::StatusOr<std::shared_ptr<GrpcChannel>> channel = ChannelTo(task);
  if (!channel.ok()) return done(std::move(channel).status());
  absl::StatusOr<grpc::ByteBuffer> message = EncodePythonCall(
      {.call = std::move(call), .service = service, .timeout_in_ms = absl::ToInt64Milliseconds(timeout)});
  if (!message.ok()) return done(std::move(message).status());
  const CallOptions options{.deadline = MonotonicNow() + timeout + kAnswerMargin, .cancellation = cancellation};
  (*channel)->CallAsync(kCall, options, *message,
                        [done = std::move(done), channel = *channel](absl::StatusOr<grpc::ByteBuffer> answer) {
                          if (!answer.ok()) return done(std::move(answer).status());
                          absl::StatusOr<WirePythonResult> result = DecodePythonResult(*answer, CpuAllocator());
                          if (!result.ok()) return done(std::move(result).status());
                          if (!result->status.ok()) return done(std::move(result->status));
                          done(std::move(result->outputs));
                        });
}

void PythonService::HandleCall(ServerCall* call) {
  absl::StatusOr<WirePythonCall> request = DecodePythonCall(call->request(), CpuAllocator());
  if (!request.ok()) return call->Fail(request.status());
  if (request->timeout_in_ms <= 0 || request->timeout_in_ms > kMaxTimeoutMs) {
    return call->Fail(errors::InvalidArgument("A PythonCall has the time limit ", request->timeout_in_ms, " ms"));
  }
  CallHere(request->service, std::move(request->call), absl::Milliseconds(request->timeout_in_ms),
           call->options().cancellation, [call](absl::StatusOr<std::vector<Tensor>> outputs) {
             // Errors are part of the answer: the call's own are cut, and mean that this task is lost.
             WirePythonResult result{.status = outputs.status()};
             if (outputs.ok()) result.outputs = *std::move(outputs);
             absl::StatusOr<grpc::ByteBuffer> answer = EncodePythonResult(result);
             answer.ok() ? call->Finish(*answer) : call->Fail(answer.status());
           });
}

}  // namespace weir
