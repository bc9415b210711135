#include "distribute/collective/task/task_collectives.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "core/logging.h"
#include "distribute/collective/shared_step_id.h"
#include "distribute/collective/task/step_collectives.h"

namespace weir {
namespace {

// Beyond this many, all groups are requested again.
constexpr size_t kMaxKnownGroups = 4096;

// TensorFlow's words for an op that does not fit a group.
absl::Status CheckMember(const FormedGroup& formed, const CollectiveGroup& group, const std::string& op_name,
                         const std::string& device) {
  if (formed.members.size() != group.size) {
    return errors::Internal("Collective Op ", op_name, " has group_size ", group.size, " and group_key ", group.key,
                            " but that group has size ", formed.members.size());
  }
  const auto rank = formed.rank_of.find(device);
  if (rank == formed.rank_of.end()) {
    return errors::Internal("Collective Op ", op_name, " is assigned to device ", device, " and group_key ", group.key,
                            " but that group doesn't contain that device.");
  }
  if (group.rank >= 0 && group.rank != rank->second) {
    return errors::InvalidArgument("Collective Op ", op_name, " at ", device, " wants rank ", group.rank,
                                   " of group_key ", group.key, " but has ", rank->second);
  }
  return absl::OkStatus();
}

}  // namespace

struct TaskCollectives::GroupCall {
  JoinGroupRequest request;
  JoinGroupResponse response;
  std::shared_ptr<WorkerInterface> leader;
  const std::string& device() const { return request.group().device_attributes().name(); }
};

std::string DefaultCollectiveLeader(const std::vector<std::string>& tasks) {
  for (const char* job : {"/job:chief/", "/job:master/", "/job:worker/"}) {
    for (const std::string& task : tasks) {
      if (absl::StartsWith(task, job)) return task;
    }
  }
  return tasks.empty() ? "" : tasks.front();
}

TaskCollectives::TaskCollectives(Options options)
    : options_(std::move(options)),
      groups_({.tasks = [workers = options_.workers] { return workers->Tasks(); },
               .timers = options_.timers,
               .on_reset = [this](const std::string& formation,
                                  const absl::Status& status) { instances_.EndFormation(formation, status); }}),
      instances_({.groups = &groups_, .timers = options_.timers}),
      exchanges_(&sequences_) {}

std::shared_ptr<CollectiveExecutor> TaskCollectives::NewStep(int64_t step_id, const std::string& leader,
                                                             absl::Time deadline) {
  StepExchanges::Result exchange = exchanges_.Begin(step_id);
  std::shared_ptr<StepCollectives> executor;
  {
    MutexLock lock(mu_);
    std::weak_ptr<StepCollectives>& known = steps_[step_id];
    executor = known.lock();
    if (executor == nullptr) {
      executor = std::make_shared<StepCollectives>(
          this, step_id, leader.empty() ? DefaultCollectiveLeader(options_.workers->Tasks()) : leader,
          std::move(exchange));
      known = executor;
    }
  }
  executor->EndBy(deadline);
  return executor;
}

void TaskCollectives::EndStep(int64_t step_id) {
  {
    MutexLock lock(mu_);
    const auto it = steps_.find(step_id);
    if (it != steps_.end() && it->second.expired()) steps_.erase(it);
  }
  exchanges_.End(step_id,
                 errors::Aborted("Step ", step_id, " has ended on ", options_.task, " without this collective"));
}

void TaskCollectives::RecvBuf(const CallOptions& options, const RecvBufArgs& args,
                              WorkerInterface::ResultCallback<ReceivedBytes> done) {
  const absl::StatusOr<BufferKey> key = BufferKey::Parse(args.key);
  if (!key.ok()) return done(key.status());
  const StepExchanges::Result step = exchanges_.Find(args.step_id);
  if (!step.ok()) return done(step.status());
  const StepExchange::Result exchange = (*step)->Find(key->instance);
  if (!exchange.ok()) return done(exchange.status());
  // Keeps the step, which may not have begun here, and its collective until the answer.
  (*exchange)->Take(key->message, key->signature, args.num_bytes, options.cancellation,
                    [step = *step, exchange = *exchange, done = std::move(done)](absl::StatusOr<ReceivedBytes> bytes) {
                      done(std::move(bytes));
                    });
}

bool TaskCollectives::IsVoid(const KnownGroup& known, const GroupRequest& request) const {
  const bool is_shared = SharedStepId::IsShared(request.step_id);
  if (is_shared && known.last_step == request.step_id) return false;
  // A retry after being overtaken keeps the formation: a peer already waits in it.
  if (is_shared && request.begins_anew) return !known.began_anew || !sequences_.WasOvertaken(known.last_step);
  return known.is_void || (known.last_step != 0 && sequences_.HasFailed(known.last_step));
}

std::shared_ptr<const FormedGroup> TaskCollectives::FindKnown(const GroupRequest& request, uint64_t* void_formation) {
  MutexLock lock(mu_);
  const auto it = known_.find(GroupId(request.leader, request.group.key));
  if (it == known_.end()) return nullptr;
  KnownGroup& known = it->second;
  if (IsVoid(known, request)) {
    *void_formation = known.group->formation;
    return nullptr;
  }
  if (SharedStepId::IsShared(request.step_id) && known.last_step != request.step_id) {
    known.last_step = request.step_id;
    known.began_anew = request.begins_anew;
    known.is_void = false;
  }
  return known.group;
}

void TaskCollectives::FindGroup(const CallOptions& call, const GroupRequest& request, GroupCallback done) {
  uint64_t void_formation = 0;
  std::shared_ptr<const FormedGroup> known = FindKnown(request, &void_formation);
  if (known == nullptr) return AskLeader(call, request, void_formation, std::move(done));
  const absl::Status misfit = CheckMember(*known, request.group, request.op_name, request.device->name());
  misfit.ok() ? done(std::move(known)) : done(misfit);
}

std::shared_ptr<TaskCollectives::GroupCall> TaskCollectives::NewGroupCall(const GroupRequest& request) const {
  auto call = std::make_shared<GroupCall>();
  tensorflow::CompleteGroupRequest& group = *call->request.mutable_group();
  group.set_group_key(request.group.key);
  group.set_group_size(request.group.size);
  group.set_device_type(request.device->type());
  request.device->ToProto(group.mutable_device_attributes());
  return call;
}

void TaskCollectives::Send(const CallOptions& options, const std::string& leader,
                           const std::shared_ptr<GroupCall>& call, DoneCallback done) {
  if (leader == options_.task) return groups_.Join(options, call->request, &call->response, std::move(done));
  auto worker = options_.workers->Get(leader);
  if (!worker.ok()) return done(worker.status());
  call->leader = *std::move(worker);
  call->leader->JoinGroupAsync(options, &call->request, &call->response, std::move(done));
}

void TaskCollectives::CheckGroup(const CallOptions& call, const GroupRequest& request, const FormedGroup& group,
                                 DoneCallback done) {
  const std::shared_ptr<GroupCall> checking = NewGroupCall(request);
  checking->request.set_checked_formation(group.formation);
  Send(call, request.leader, checking,
       [checking, done = std::move(done)](absl::Status status) { done(std::move(status)); });
}

void TaskCollectives::AskLeader(const CallOptions& call, const GroupRequest& request, uint64_t void_formation,
                                GroupCallback done) {
  const std::shared_ptr<GroupCall> joining = NewGroupCall(request);
  joining->request.set_void_formation(void_formation);
  GpuMembership membership;
  if (const GpuDevice* const gpu = FindGpu(request.device); gpu != nullptr) {
    if (const auto library = LibraryOf(*gpu); library != nullptr) {
      membership = {.library = library->name(), .place = library->PlaceOf(gpu->runtime())};
    }
  }
  *joining->request.mutable_member() = DescribeMember(request.group.rank, membership);
  Send(call, request.leader, joining, [this, joining, request, done = std::move(done)](absl::Status status) {
    if (absl::IsUnimplemented(status)) {  // the answer of servers that are not Weir's
      status = errors::Unimplemented("Collective group ", request.group.key, " needs a leader among Weir's tasks; ",
                                     request.leader, " is not one: ", status.message());
    }
    if (!status.ok()) return done(Annotate(status, request.op_name));
    auto formed = GroupFromResponse(joining->response);
    if (!formed.ok()) return done(formed.status());
    const absl::Status misfit = CheckMember(**formed, request.group, request.op_name, joining->device());
    if (!misfit.ok()) return done(misfit);
    Learned(request, *formed);
    done(*std::move(formed));
  });
}

void TaskCollectives::Learned(const GroupRequest& request, const std::shared_ptr<const FormedGroup>& group) {
  MutexLock lock(mu_);
  if (known_.size() >= kMaxKnownGroups) known_.clear();
  KnownGroup& known = known_[GroupId(request.leader, request.group.key)];
  const bool is_new = known.group == nullptr || known.group->formation != group->formation;
  known.group = group;
  if (!is_new) return;  // it may be void already
  known.is_void = false;
  known.last_step = SharedStepId::IsShared(request.step_id) ? request.step_id : 0;
  known.began_anew = request.begins_anew;
}

void TaskCollectives::ForgetGroup(const std::string& leader, const FormedGroup& group) {
  MutexLock lock(mu_);
  const auto known = known_.find(GroupId(leader, group.key));
  if (known == known_.end() || known->second.group->formation != group.formation) return;
  known->second.is_void = known->second.last_step != 0;
  if (!known->second.is_void) known_.erase(known);
}

std::shared_ptr<GpuCollectiveLibrary> TaskCollectives::LibraryOf(const GpuDevice& gpu) const {
  for (const auto& library : options_.gpu_libraries) {
    if (library->Serves(gpu.runtime()).ok()) return library;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<GpuGroupMember>> TaskCollectives::GpuMemberOf(const std::string& leader,
                                                                             const FormedGroup& group, int rank,
                                                                             GpuDevice& gpu) {
  const std::shared_ptr<GpuCollectiveLibrary> library = LibraryOf(gpu);
  if (library == nullptr || library->name() != group.members[rank].gpu.library) {
    return errors::Internal("The collective leader ", leader, " says that ", gpu.name(), " has the library '",
                            group.members[rank].gpu.library, "', which it has not said of itself");
  }
  return gpu_members_.Find(
      {.leader = leader, .group = group.key, .device = gpu.name()}, group.formation,
      {.device = &gpu, .library = library, .rank = rank, .size = static_cast<int>(group.members.size())});
}

void TaskCollectives::LogGpuFallback(const GpuDevice& gpu, const absl::Status& reason) {
  {
    MutexLock lock(mu_);
    if (std::exchange(has_said_, true)) return;
  }
  std::vector<std::string> reasons = {std::string(reason.message())};
  for (const auto& library : options_.gpu_libraries) {
    const absl::Status serves = library->Serves(gpu.runtime());
    if (LibraryOf(gpu) == nullptr) reasons.push_back(absl::StrCat(library->name(), ": ", serves.message()));
  }
  WEIR_LOG(WARNING).With("device", gpu.name()).With("reason", absl::StrJoin(reasons, "; "))
      << "GPU collectives run on the host";
}

void TaskCollectives::FindSource(const CallOptions& call, const std::string& leader,
                                 std::shared_ptr<const tensorflow::CompleteInstanceRequest> request,
                                 std::function<void(absl::StatusOr<int>)> done) {
  auto response = std::make_shared<tensorflow::CompleteInstanceResponse>();
  std::shared_ptr<WorkerInterface> worker;
  if (leader != options_.task) {
    auto found = options_.workers->Get(leader);
    if (!found.ok()) return done(found.status());
    worker = *std::move(found);
  }
  auto declared = [request, response, worker, done = std::move(done)](const absl::Status& status) {
    // The leader was restarted, or has dropped the group: the next step forms it anew.
    if (absl::IsFailedPrecondition(status)) return done(errors::Aborted(status.message()));
    if (!status.ok()) return done(status);
    done(response->source_rank());
  };
  if (worker == nullptr) return instances_.Declare(call, *request, response.get(), std::move(declared));
  worker->CompleteInstanceAsync(call, request.get(), response.get(), std::move(declared));
}

}  // namespace weir
