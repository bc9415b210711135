#include "distribute/transport/remote_rendezvous.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"

namespace weir {
namespace {

class RemoteRendezvous : public Rendezvous, public std::enable_shared_from_this<RemoteRendezvous> {
 public:
  explicit RemoteRendezvous(RemoteRendezvousOptions options) : options_(std::move(options)) {}

  absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) override {
    return options_.local->Send(key, std::move(tensor), is_dead);
  }

  void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) override {
    // The task is the part of the sender's device before "/device:". The sender parses the key.
    const absl::string_view task = key.substr(0, key.substr(0, key.find(';')).find("/device:"));
    if (task == options_.local_task) return options_.local->RecvAsync(key, args, std::move(done));
    absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(task);
    if (!worker.ok()) worker = FindSource(key);
    if (!worker.ok()) return done(worker.status());
    if (*worker == nullptr) return options_.local->RecvAsync(key, args, std::move(done));
    RecvFrom(*std::move(worker), key, args, std::move(done));
  }

  void StartAbort(const absl::Status& status) override {
    std::vector<std::shared_ptr<Call>> calls;
    {
      MutexLock lock(mu_);
      if (!status_.ok()) return;
      status_ = status.ok() ? errors::Internal("Rendezvous aborted without an error") : status;
      calls.assign(calls_.begin(), calls_.end());
    }
    options_.local->StartAbort(status);
    for (const auto& call : calls) call->cancellation.StartCancel(status);
  }

 private:
  // A RecvTensor in progress. Its cancellation is not a child of the receiver's, which a running abort might outlive.
  struct Call {
    CancellationManager cancellation;
    std::shared_ptr<WorkerInterface> worker;
    CancellationManager* receiver = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    const char* route = nullptr;
  };

  // For keys that write their device in another form, or are malformed. Null: this task.
  absl::StatusOr<std::shared_ptr<WorkerInterface>> FindSource(absl::string_view key) {
    ASSIGN_OR_RETURN(const RendezvousKey parsed, RendezvousKey::Parse(key));
    const std::string source = parsed.src.TaskName();
    if (source == options_.local_task) return std::shared_ptr<WorkerInterface>();
    return options_.workers->Get(source);
  }

  void RecvFrom(std::shared_ptr<WorkerInterface> worker, absl::string_view key, const Args& args, DoneCallback done) {
    auto call = std::make_shared<Call>();
    call->worker = std::move(worker);
    call->receiver = args.cancellation;
    if (args.cancellation != nullptr) {
      call->token = args.cancellation->Register([weak = std::weak_ptr<Call>(call), receiver = args.cancellation] {
        if (auto call = weak.lock()) call->cancellation.StartCancel(receiver->status());
      });
      if (call->token == CancellationManager::kInvalidToken) {
        return done(CancelledReceive(key, args.cancellation->status()));
      }
    }
    absl::Status aborted;
    {
      MutexLock lock(mu_);
      aborted = status_;
      if (aborted.ok()) calls_.insert(call);
    }
    if (!aborted.ok()) {
      if (call->receiver != nullptr) call->receiver->TryDeregister(call->token);
      return done(aborted);
    }
    CallOptions options;
    options.cancellation = &call->cancellation;
    options.route = &call->route;
    call->worker->RecvTensorAsync(options, options_.step_id, key,
                                  [self = shared_from_this(), call, key = std::string(key),
                                   done = std::move(done)](absl::StatusOr<Received> received) mutable {
                                    absl::Status aborted;
                                    {
                                      MutexLock lock(self->mu_);
                                      self->calls_.erase(call);
                                      aborted = self->status_;
                                    }
                                    // After `done` the receiver's cancellation may be destroyed.
                                    if (call->receiver != nullptr) call->receiver->TryDeregister(call->token);
                                    const absl::Status cancelled = call->cancellation.status();
                                    if (!received.ok() && !aborted.ok()) {
                                      received = aborted;
                                    } else if (!received.ok() && !cancelled.ok()) {
                                      received = CancelledReceive(key, cancelled);
                                    }
                                    if (received.ok()) {
                                      if (self->options_.log != nullptr) self->options_.log->Add(key, call->route);
                                      if (auto status = self->Decode(&*received); !status.ok()) received = status;
                                    }
                                    done(std::move(received));
                                  });
  }

  absl::Status Decode(Received* received) const {
    if (options_.variants == nullptr || received->tensor.dtype() != DT_VARIANT) return absl::OkStatus();
    return options_.variants->DecodeKnown(&received->tensor);
  }

  static absl::Status CancelledReceive(absl::string_view key, const absl::Status& reason) {
    return errors::Cancelled("The receive of ", key, " was cancelled: ", reason.message());
  }

  const RemoteRendezvousOptions options_;
  Mutex mu_;
  absl::Status status_ GUARDED_BY(mu_);
  absl::flat_hash_set<std::shared_ptr<Call>> calls_ GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Rendezvous> NewRemoteRendezvous(RemoteRendezvousOptions options) {
  return std::make_shared<RemoteRendezvous>(std::move(options));
}

}  // namespace weir
