#include "distribute/collective/instance_table.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
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

InstanceTable::Key InstanceTable::KeyOf(const tensorflow::CompleteInstanceRequest& request,
                                        const GroupTable::Membership& member) {
  return {request.group_key(), member.formation, request.instance_key(), request.step_id()};
}

absl::Status InstanceTable::CheckFits(const Instance& instance, const tensorflow::CompleteInstanceRequest& request,
                                      int rank) {
  const CallSignature known = SignatureOf(instance.first), own = SignatureOf(request);
  if (!(known == own)) {
    return SignatureMismatch(request.instance_key(), instance.first.device(), known, request.device(), own);
  }
  if (instance.first.group_size() != request.group_size()) {
    return errors::Internal("Collective instance ", request.instance_key(), " expected group_size ",
                            instance.first.group_size(), " but got ", request.group_size());
  }
  if (request.is_source() && instance.source_rank >= 0 && instance.source_rank != rank) {
    return errors::Internal("Instance ", request.instance_key(), " already has source ", instance.source_rank,
                            ", received second claim from ", rank);
  }
  return absl::OkStatus();
}

absl::Status InstanceTable::CheckComplete(const Instance& instance) {
  if (instance.first.type() != kBroadcast || instance.source_rank >= 0) return absl::OkStatus();
  return errors::Internal("Instance ", instance.first.instance_key(),
                          " found no source for broadcast.  This could mean that there were group_size=", instance.size,
                          " BcastRecvs but no BcastSend.");
}

absl::Status InstanceTable::TooLate(const Instance& instance) {
  std::vector<std::string> devices;
  for (const auto& [device, waiter] : instance.waiters) devices.push_back(device);
  std::sort(devices.begin(), devices.end());
  return errors::DeadlineExceeded("Collective has timed out waiting for other workers. ", devices.size(), " of ",
                                  instance.size, " members of group ", instance.first.group_key(),
                                  " have declared instance ", instance.first.instance_key(), ": ",
                                  absl::StrJoin(devices, ", "));
}

InstanceTable::InstanceAnswer InstanceTable::Take(const Key& key, absl::Status status) {
  const auto instance = instances_.find(key);
  InstanceAnswer answer{.status = std::move(status)};
  answer.response.set_instance_key(instance->second.first.instance_key());
  answer.response.set_source_rank(instance->second.source_rank);
  for (auto& [device, waiter] : instance->second.waiters) answer.waiters.push_back(std::move(waiter));
  instances_.erase(instance);
  return answer;
}

std::vector<InstanceTable::InstanceAnswer> InstanceTable::Admit(const CallOptions& options,
                                                                const tensorflow::CompleteInstanceRequest& request,
                                                                const GroupTable::Membership& member,
                                                                InstanceWaiter waiter) {
  const Key key = KeyOf(request, member);
  const std::string& device = request.device();
  std::vector<InstanceAnswer> answers;
  const auto answer = [&answers](InstanceWaiter to, absl::Status status) {
    answers.emplace_back().status = std::move(status);
    answers.back().waiters.push_back(std::move(to));
  };
  const auto give_up = [this, key, id = waiter.id](const std::optional<absl::Status>& cancelled) {
    GiveUp(key, id, cancelled);
  };
  if (absl::Status cancelled = waiter.call.Watch(options, options_.timers, give_up); !cancelled.ok()) {
    answer(std::move(waiter), std::move(cancelled));
    return answers;
  }
  const auto [it, is_new] = instances_.try_emplace(key);
  Instance& instance = it->second;
  if (is_new) {
    instance.first = request;
    instance.size = member.size;
  }
  if (const absl::Status fits = CheckFits(instance, request, member.rank); !fits.ok()) {
    answer(std::move(waiter), fits);
    answers.push_back(Take(key, fits));
    return answers;
  }
  if (request.is_source()) instance.source_rank = member.rank;
  if (const auto earlier = instance.waiters.find(device); earlier != instance.waiters.end()) {
    answer(std::move(earlier->second), errors::Aborted("Instance ", request.instance_key(), " was declared again by ",
                                                       device, ": that call is answered instead"));
    instance.waiters.erase(earlier);
  }
  instance.waiters.emplace(device, std::move(waiter));
  if (instance.waiters.size() == instance.size) answers.push_back(Take(key, CheckComplete(instance)));
  return answers;
}

void InstanceTable::Declare(const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
                            tensorflow::CompleteInstanceResponse* response, DoneCallback done) {
  const int32_t group = request.group_key();
  const std::optional<GroupTable::Membership> member = options_.groups->Find(group, request.device());
  if (!member) {
    return done(errors::FailedPrecondition("Device ", request.device(), " is not a member of collective group ", group,
                                           ", or its leader was restarted"));
  }
  const Key key = KeyOf(request, *member);
  std::vector<InstanceAnswer> answers;
  int64_t id = 0;
  {
    MutexLock lock(mu_);
    id = ++num_calls_;
    answers = Admit(options, request, *member, {id, WaitingCall(request.device(), std::move(done)), response});
  }
  // Another call may have answered this one by now, so `options` and `request` may be destroyed.
  for (InstanceAnswer& answer : answers) answer.Give();
  // EndFormation may have run between the lookup of the group and the wait.
  if (options_.groups->FormationOf(group) != member->formation) {
    GiveUp(key, id, errors::Aborted("Collective group ", group, " is formed anew"));
  }
}

void InstanceTable::EndFormation(const std::string& formation, const absl::Status& status) {
  std::vector<InstanceAnswer> answers;
  {
    MutexLock lock(mu_);
    std::vector<Key> ended;
    for (const auto& [key, instance] : instances_) {
      if (std::get<1>(key) == formation) ended.push_back(key);
    }
    for (const Key& key : ended) answers.push_back(Take(key, status));
  }
  for (InstanceAnswer& answer : answers) answer.Give();
}

void InstanceTable::GiveUp(const Key& key, int64_t id, const std::optional<absl::Status>& cancelled) {
  std::optional<InstanceWaiter> gone;
  absl::Status reason;
  {
    MutexLock lock(mu_);
    const auto instance = instances_.find(key);
    if (instance == instances_.end()) return;
    auto& waiters = instance->second.waiters;
    const auto it = absl::c_find_if(waiters, [id](const auto& waiter) { return waiter.second.id == id; });
    if (it == waiters.end()) return;
    reason = cancelled ? *cancelled : TooLate(instance->second);
    gone = std::move(it->second);
    waiters.erase(it);
    if (waiters.empty()) instances_.erase(instance);
  }
  gone->call.End(reason);
}

}  // namespace weir
