#include "distribute/collective/task/step_collectives.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/fingerprint.h"
#include "distribute/collective/gpu/gpu_collective.h"
#include "distribute/collective/scheduled_collective.h"
#include "distribute/collective/task_communicator.h"
#include "distribute/collective/waiting_call.h"
#include "distribute/transport/answer_margin.h"

namespace weir {
namespace {

// Time for the leader to answer beyond the caller's deadline.
constexpr absl::Duration kLeaderTime = absl::Seconds(1);

// When an op times out. The leader knows who is missing, so its deadline comes first.
struct Limits {
  absl::Time at_leader = absl::InfiniteFuture();  // a deadline for calls
  absl::Time here = absl::InfiniteFuture();
};

// `step`: the step's deadline, whose error cannot name the group.
Limits LimitsFor(absl::Duration timeout, absl::Time step) {
  const absl::Time now = MonotonicNow(), end = now + timeout;
  const absl::Duration margin = AnswerMargin(step - now);
  return {.at_leader = std::min(end + kLeaderTime, step - 2 * margin + kWaitingAnswerTime),
          .here = std::min(end + 2 * kLeaderTime, step - margin)};
}

absl::StatusOr<CollectiveKind> KindOf(CollectiveType type) {
  switch (type) {
    case CollectiveType::kReduce:
      return CollectiveKind::kAllReduce;
    case CollectiveType::kBroadcast:
      return CollectiveKind::kBroadcast;
    case CollectiveType::kGather:
      return CollectiveKind::kAllGather;
    case CollectiveType::kAllToAll:
      return CollectiveKind::kAllToAll;
    case CollectiveType::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case CollectiveType::kPermute:
      break;
  }
  return errors::Unimplemented("Collectives of type ", static_cast<int>(type));
}

// After these errors the group's members or their addresses may have changed.
bool SuggestsAnotherGroup(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

// One member's op, from its call to its `done`.
class StepCollectives::Op : public WatchedOp, public std::enable_shared_from_this<Op> {
 public:
  Op(TaskCollectives* task, int64_t step_id, std::string leader, CollectiveParams params, Device* device, Tensor input,
     Tensor* output, std::shared_ptr<StepExchange> exchange, absl::Time step_deadline, CancellationManager* caller,
     DoneCallback done)
      : task_(task),
        step_id_(step_id),
        leader_(std::move(leader)),
        params_(std::move(params)),
        device_(device),
        input_(std::move(input)),
        output_(output),
        exchange_(std::move(exchange)),
        step_deadline_(step_deadline),
        caller_(caller),
        done_(std::move(done)) {}

  void Start() {
    if (caller_ != nullptr) {
      token_ = caller_->Register([weak = weak_from_this(), caller = caller_] {
        if (auto self = weak.lock()) self->cancellation_.StartCancel(caller->status());
      });
      if (token_ == CancellationManager::kInvalidToken) return Finish(caller_->status());
    }
    CallOptions call{.cancellation = &cancellation_};
    const Limits limits = LimitsFor(params_.timeout, step_deadline_);
    if (limits.here < absl::InfiniteFuture() && task_->options().timers != nullptr) {
      call.deadline = limits.at_leader;
      MutexLock lock(mu_);
      timer_ = task_->options().timers->Schedule(limits.here, [weak = weak_from_this()] {
        if (auto self = weak.lock()) self->TimeOut();
      });
    }
    task_->FindGroup(call, {leader_, params_.group, params_.name, device_, step_id_, params_.begins_anew},
                     [self = shared_from_this(), call](absl::StatusOr<std::shared_ptr<const FormedGroup>> group) {
                       if (!group.ok()) return self->Fail(group.status());
                       self->group_ = *std::move(group);
                       {
                         MutexLock lock(self->mu_);
                         self->watched_group_ = self->group_;
                       }
                       self->FindSource(call);
                     });
  }

  std::shared_ptr<const FormedGroup> Group() const override {
    MutexLock lock(mu_);
    return watched_group_;
  }
  const CollectiveParams& params() const override { return params_; }
  const Device& device() const override { return *device_; }
  void WatchReceivers() override {
    if (const auto transport = communicator()) transport->WatchReceivers();
  }
  void Cancel(const absl::Status& status) override { cancellation_.StartCancel(status); }

 private:
  std::shared_ptr<TaskCommunicator> communicator() const {
    MutexLock lock(mu_);
    return communicator_;
  }

  void FindSource(const CallOptions& call) {
    if (params_.type != CollectiveType::kBroadcast) return Run(0);
    auto request = std::make_shared<tensorflow::CompleteInstanceRequest>();
    request->set_name(params_.name);
    request->set_type(static_cast<int>(params_.type));
    request->set_data_type(static_cast<tensorflow::DataType>(output_->dtype()));
    output_->shape().ToProto(request->mutable_shape());
    request->set_group_key(params_.group.key);
    request->set_group_size(params_.group.size);
    request->set_instance_key(params_.instance_key);
    request->set_device_type(device_->type());
    request->set_device(device_->name());
    request->set_is_source(params_.is_source);
    // The message has no field for a loop's iteration.
    const uint64_t execution = params_.execution.empty() ? 0 : Fingerprint64(params_.execution);
    request->set_step_id(static_cast<int64_t>(static_cast<uint64_t>(step_id_) ^ execution));
    task_->FindSource(call, leader_, request, [self = shared_from_this()](absl::StatusOr<int> source) {
      if (!source.ok()) return self->Fail(source.status());
      if (*source < 0 || *source >= self->group_->members.size()) {
        return self->Fail(errors::Internal("Collective leader ", self->leader_, " named source rank ", *source));
      }
      self->Run(*source);
    });
  }

  void Run(int source) {
    const auto kind = KindOf(params_.type);
    if (!kind.ok()) return Fail(kind.status());
    const int rank = group_->rank_of.at(device_->name());
    const InstanceKey instance{params_.group.key, group_->formation, params_.instance_key, params_.execution};
    StepExchange::Result exchange = exchange_->Open(instance);
    if (!exchange.ok()) return Fail(exchange.status());
    auto communicator =
        std::make_shared<TaskCommunicator>(TaskCommunicator::Options{.step_id = step_id_,
                                                                     .instance = instance,
                                                                     .rank = rank,
                                                                     .group = group_,
                                                                     .local_task = task_->options().task,
                                                                     .exchange = *std::move(exchange),
                                                                     .workers = task_->options().workers});
    {
      MutexLock lock(mu_);
      communicator_ = communicator;
    }
    CollectiveCall call{.kind = *kind, .dtype = output_->dtype(), .reduction = params_.reduction};
    call.root = source;
    call.wire = params_.wire;
    if (params_.is_mean) call.divisor = group_->topology->size();
    const bool is_broadcast = params_.type == CollectiveType::kBroadcast;
    call.count = is_broadcast ? output_->NumElements() : input_.NumElements();
    call.cancellation = &cancellation_;
    const std::string shape = (is_broadcast ? output_->shape() : input_.shape()).ToString();
    GpuDevice* const gpu = FindGpu(device_);
    if (gpu == nullptr) return RunOnHost(communicator, call, shape, input_, output_);
    if (absl::Status status = group_->CheckGpuLibrary(); !status.ok()) {
      task_->LogGpuFallback(*gpu, status);
      return RunThroughHost(*gpu, communicator, call, shape);
    }
    RunOnGpu(*gpu, communicator, call, shape);
  }

  DoneCallback Finisher() {
    return [self = shared_from_this()](absl::Status status) { self->Finish(std::move(status)); };
  }

  void Give(CollectiveCall& call, const Tensor& input, const Tensor& output) const {
    call.input = input.raw_data();
    call.output = output.raw_data();
    call.owner = std::make_shared<const std::pair<Tensor, Tensor>>(input, output);
  }

  // `output` lives until the end.
  void RunOnHost(const std::shared_ptr<TaskCommunicator>& communicator, CollectiveCall call, const std::string& shape,
                 const Tensor& input, Tensor* output) {
    Give(call, input, *output);
    const TaskCollectives::Options& options = task_->options();
    ScheduledCollective(communicator, {.work_queue = options.work_queue, .poller = options.poller, .shape = shape})
        .RunAsync(call, Finisher());
  }

  void RunOnGpu(GpuDevice& gpu, const std::shared_ptr<TaskCommunicator>& communicator, CollectiveCall call,
                const std::string& shape) {
    auto member = task_->GpuMemberOf(leader_, *group_, communicator->rank(), gpu);
    if (!member.ok()) return Fail(member.status());
    Give(call, input_, *output_);
    {
      MutexLock lock(mu_);
      waits_for_first_ = communicator->rank() != 0;
    }
    GpuCollective(communicator, *std::move(member), {.shape = shape}).RunAsync(call, Finisher());
  }

  // Uses the host's algorithms, with copies before and after.
  void RunThroughHost(GpuDevice& gpu, const std::shared_ptr<TaskCommunicator>& communicator, const CollectiveCall& call,
                      const std::string& shape) {
    absl::StatusOr<Tensor> result = Tensor::Allocate(CpuAllocator(), output_->dtype(), output_->shape());
    if (!result.ok()) return Fail(result.status());
    through_host_ = *std::move(result);
    const bool only_receives = params_.type == CollectiveType::kBroadcast && !params_.is_source;
    if (only_receives) return RunOnHost(communicator, call, shape, input_, &*through_host_);
    gpu.ToHost(input_, [self = shared_from_this(), communicator, call, shape](absl::StatusOr<Tensor> input) {
      if (!input.ok()) return self->Fail(input.status());
      self->RunOnHost(communicator, call, shape, *input, &*self->through_host_);
    });
  }

  // Runs later than the leader's own time-out.
  void TimeOut() {
    const std::shared_ptr<TaskCommunicator> transport = communicator();
    {
      // The first GPU's rank knows which members are missing, and notifies the others.
      MutexLock lock(mu_);
      if (transport != nullptr && std::exchange(waits_for_first_, false)) {
        const absl::Time end = std::min(MonotonicNow() + kLeaderTime, step_deadline_);
        timer_ = task_->options().timers->Schedule(end, [weak = weak_from_this()] {
          if (auto self = weak.lock()) self->TimeOut();
        });
        return;
      }
    }
    if (transport == nullptr) {
      cancellation_.StartCancel(errors::DeadlineExceeded("Collective has timed out waiting for other workers. ",
                                                         params_.name, " had no answer about group ", params_.group.key,
                                                         " from the leader ", leader_));
      return;
    }
    cancellation_.StartCancel(errors::DeadlineExceeded("Collective has timed out during execution. ", params_.name,
                                                       " at ", device_->name(), " waited in group ", params_.group.key,
                                                       " for ", absl::StrJoin(transport->Awaited(), ", ")));
  }

  // For errors before there is a communicator.
  void Fail(absl::Status status) {
    if (cancellation_.IsCancelled()) status = cancellation_.status();
    Finish(std::move(status));
  }

  void Finish(absl::Status status) {
    if (status.ok() && through_host_) {
      auto arrived = FindGpu(device_)->ToDevice(*through_host_);
      if (arrived.ok()) {
        *output_ = *std::move(arrived);
      } else {
        status = arrived.status();
      }
    }
    if (caller_ != nullptr) caller_->TryDeregister(token_);
    std::optional<TimerQueue::Token> timer;
    {
      MutexLock lock(mu_);
      timer = std::exchange(timer_, std::nullopt);
      communicator_ = nullptr;
      watched_group_ = nullptr;
    }
    if (timer) task_->options().timers->Cancel(*timer);
    // The step fails with its op: members that wait for this one, now or later, get the reason.
    if (!status.ok() && !absl::IsCancelled(status)) {
      exchange_->Abort(Annotate(status, absl::StrCat("At collective member ", device_->name())));
    }
    if (SuggestsAnotherGroup(status) && group_ != nullptr) task_->ForgetGroup(leader_, *group_);
    if (const auto later = StepExchanges::LaterStep(status)) task_->sequences().CatchUp(step_id_, *later);
    std::exchange(done_, nullptr)(std::move(status));
  }

  TaskCollectives* const task_;
  const int64_t step_id_;
  const std::string leader_;
  const CollectiveParams params_;
  Device* const device_;
  const Tensor input_;
  Tensor* const output_;
  std::optional<Tensor> through_host_;  // the result, if a GPU's collective runs on the host
  const std::shared_ptr<StepExchange> exchange_;
  const absl::Time step_deadline_;
  CancellationManager* const caller_;
  CancellationManager::Token token_ = CancellationManager::kInvalidToken;
  CancellationManager cancellation_;  // not a child of the caller's, which may be destroyed after `done`
  DoneCallback done_;
  std::shared_ptr<const FormedGroup> group_;
  mutable Mutex mu_;
  std::shared_ptr<const FormedGroup> watched_group_ GUARDED_BY(mu_);  // until the end
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);
  std::shared_ptr<TaskCommunicator> communicator_ GUARDED_BY(mu_);
  bool waits_for_first_ GUARDED_BY(mu_) = false;  // the first GPU's rank will report the reason
};

StepCollectives::StepCollectives(TaskCollectives* task, int64_t step_id, std::string leader,
                                 StepExchanges::Result exchange)
    : task_(task),
      step_id_(step_id),
      leader_(std::move(leader)),
      exchange_(std::move(exchange)),
      watch_(std::make_shared<StepWatch>(task, leader_)) {}

StepCollectives::~StepCollectives() {
  watch_->Stop();
  task_->EndStep(step_id_);
}

void StepCollectives::EndBy(absl::Time deadline) {
  MutexLock lock(mu_);
  deadline_ = std::min(deadline_, deadline);
}

absl::Time StepCollectives::deadline() {
  MutexLock lock(mu_);
  return deadline_;
}

std::string StepCollectives::DebugString() const { return absl::StrCat("Collectives of step ", step_id_); }

void StepCollectives::RunAsync(const CollectiveParams& params, Device* device, const Tensor& input, Tensor* output,
                               CancellationManager* cancellation, DoneCallback done) {
  if (!exchange_.ok()) return done(exchange_.status());
  auto op = std::make_shared<Op>(task_, step_id_, leader_, params, device, input, output, *exchange_, deadline(),
                                 cancellation, std::move(done));
  watch_->Add(op);
  op->Start();
}

void StepCollectives::JoinGroupAsync(const CollectiveGroup& group, const std::string& name, Device* device,
                                     absl::Duration timeout, CancellationManager* cancellation, DoneCallback done) {
  const CallOptions call{.deadline = LimitsFor(timeout, deadline()).at_leader, .cancellation = cancellation};
  task_->FindGroup(call, {leader_, group, name, device, step_id_},
                   [done = std::move(done)](const absl::StatusOr<std::shared_ptr<const FormedGroup>>& formed) {
                     done(formed.status());
                   });
}

}  // namespace weir
