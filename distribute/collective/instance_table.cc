#include "distribute/collective/instance_table.h"

#include <optional>
#include <utility>

#include "core/tensor_shape.h"
#include "core/types.h"
#include "distribute/collective/call_signature.h"

namespace weir {
namespace {

constexpr int kBroadcast = 1;

CallSignature SignatureOf(const tensorflow::CompleteInstanceRequest& request) {
  const auto shape = TensorShape::FromProto(request.shape());
  return {.collective = absl::StrCat(request.type()),
          .dtype = static_cast<DataType>(request.data_type()),
          .shape = shape.ok() ? shape->ToString() : "?"};
}

}  // namespace

absl::Status InstanceTable::Compare(const Instance& instance, const tensorflow::CompleteInstanceRequest& request) {
  const CallSignature known = SignatureOf(instance.first), own = SignatureOf(request);
  if (!(known == own)) {
    return SignatureMismatch(request.instance_key(), instance.first.device(), known, request.device(), own);
  }
  if (instance.first.group_size() != request.group_size()) {
    return errors::Internal("Collective instance ", request.instance_key(), " expected group_size ",
                            instance.first.group_size(), " but got ", request.group_size());
  }
  return absl::OkStatus();
}

void InstanceTable::Answer(Instance instance, const absl::Status& status) {
  for (auto& [device, waiter] : instance.waiters) {
    if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
    waiter.response->set_instance_key(instance.first.instance_key());
    waiter.response->set_source_rank(instance.source_rank);
    waiter.done(status);
  }
}

void InstanceTable::Declare(const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
                            tensorflow::CompleteInstanceResponse* response, DoneCallback done) {
  const int size = groups_->SizeOf(request.group_key());
  const int rank = groups_->RankOf(request.group_key(), request.device());
  if (rank < 0) {
    return done(errors::FailedPrecondition("Device ", request.device(), " is not a member of collective group ",
                                           request.group_key(), ", or its leader was restarted"));
  }
  const Key key(request.group_key(), request.instance_key(), request.step_id());
  absl::Status status;
  std::optional<Instance> ended;
  std::optional<absl::Status> cancelled;  // before it could be registered
  {
    MutexLock lock(mu_);
    Instance& instance = instances_[key];
    if (instance.waiters.empty()) instance.first = request;
    status = Compare(instance, request);
    if (status.ok() && request.is_source()) {
      if (instance.source_rank >= 0 && instance.source_rank != rank) {
        status = errors::Internal("Instance ", request.instance_key(), " already has source ", instance.source_rank,
                                  ", received second claim from ", rank);
      }
      instance.source_rank = rank;
    }
    if (status.ok() && instance.waiters.contains(request.device())) {
      status = errors::Aborted("Instance ", request.instance_key(), " was declared twice by ", request.device());
    }
    Waiter& waiter = instance.waiters[status.ok() ? request.device() : request.device() + " again"];
    waiter.response = response;
    waiter.done = std::move(done);
    if (status.ok() && instance.waiters.size() == size) {
      if (request.type() == kBroadcast && instance.source_rank < 0) {
        status = errors::Internal("Instance ", request.instance_key(),
                                  " found no source for broadcast.  This could mean that there were group_size=", size,
                                  " BcastRecvs but no BcastSend.");
      }
      ended = std::move(instance);
    } else if (!status.ok()) {
      ended = std::move(instance);
    } else {
      waiter.cancellation = options.cancellation;
      if (options.cancellation != nullptr) {
        waiter.token = options.cancellation->Register(
            [this, key, device = request.device(), c = options.cancellation] { GiveUp(key, device, c->status()); });
        if (waiter.token == CancellationManager::kInvalidToken) cancelled = options.cancellation->status();
      }
    }
    if (ended) instances_.erase(key);
  }
  if (ended) return Answer(*std::move(ended), status);
  // If not, `options` may point to what is gone: another member can have answered this one by now.
  if (cancelled) GiveUp(key, request.device(), *cancelled);
}

void InstanceTable::GiveUp(const Key& key, const std::string& device, const absl::Status& status) {
  std::optional<Waiter> gone;
  {
    MutexLock lock(mu_);
    const auto instance = instances_.find(key);
    if (instance == instances_.end()) return;
    const auto it = instance->second.waiters.find(device);
    if (it == instance->second.waiters.end()) return;
    gone = std::move(it->second);
    instance->second.waiters.erase(it);
    if (instance->second.waiters.empty()) instances_.erase(instance);
  }
  if (gone->cancellation != nullptr) gone->cancellation->TryDeregister(gone->token);
  gone->done(status);
}

}  // namespace weir
