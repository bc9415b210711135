#include "worker/worker_step.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"
#include "kernels/device/resource_users.h"
#include "worker/commit/own_transfers.h"
#include "worker/device_work.h"

namespace weir {
namespace {

// "node 'q' (QueueDequeueV2) on /job:ps/…", and for a receive the tensor and its sender.
std::string Describe(const Node& node, const Device& device) {
  const std::string text = absl::StrCat("node '", node.name(), "' (", node.op(), ") on ", device.name());
  std::string tensor, sender;
  if (!node.IsRecv() || !GetNodeAttr(node.def(), "tensor_name", &tensor).ok() ||
      !GetNodeAttr(node.def(), "send_device", &sender).ok()) {
    return text;
  }
  return absl::StrCat("tensor '", tensor, "' from ", sender, " in ", text);
}

// The keys, without frame and iteration, under which nodes send that need this one.
std::vector<std::string> SendsAfter(const Node& node) {
  std::vector<std::string> keys;
  absl::flat_hash_set<const Node*> seen = {&node};
  std::vector<const Node*> open = {&node};
  while (!open.empty()) {
    const Node* const next = open.back();
    open.pop_back();
    std::string source, destination, name;
    int64_t incarnation = 0;
    if (next->IsSend() && GetNodeAttr(next->def(), "send_device", &source).ok() &&
        GetNodeAttr(next->def(), "recv_device", &destination).ok() &&
        GetNodeAttr(next->def(), "tensor_name", &name).ok() &&
        GetNodeAttr(next->def(), "send_device_incarnation", &incarnation).ok()) {
      keys.push_back(RendezvousKey::Prefix(source, static_cast<uint64_t>(incarnation), destination, name));
    }
    for (const Edge* edge : next->out_edges()) {
      if (seen.insert(edge->dst).second) open.push_back(edge->dst);
    }
  }
  return keys;
}

// The reason of a cancellation, with the origin of the wait that it ended if it is that the time is over.
absl::Status WithOriginOf(absl::Status reason, const absl::Status& wait) {
  const std::optional<ErrorOrigin> origin = OriginOf(wait);
  if (!origin || !absl::IsDeadlineExceeded(reason)) return reason;
  return WithOrigin(std::move(reason), *origin);
}

}  // namespace

void ActiveCount::Add() {
  MutexLock lock(mu_);
  ++active_;
}

void ActiveCount::Remove() {
  MutexLock lock(mu_);
  if (--active_ == 0) none_.notify_all();
}

void ActiveCount::Wait() {
  MutexLock lock(mu_);
  while (active_ > 0) lock.Wait(none_);
}

WorkerStep::WorkerStep(Options options) : active_(options.active), options_(std::move(options)) {}

void WorkerStep::JoinCommit(const CommitRole& role) {
  waits_.emplace(&cancellation_);
  commit_ = std::make_shared<StepParticipation>(StepParticipation::Options{
      .session_handle = options_.session->options().handle,
      .step_id = options_.step_id,
      .task = options_.task,
      .coordinator = role.coordinator,
      .coordinator_incarnation = role.coordinator_incarnation,
      .relays = role.relays,
      .decider = role.decider,
      .decider_incarnation = role.decider_incarnation,
      .has_lost_standby = role.relays && options_.has_lost_standby
                              ? [lost = options_.has_lost_standby, standby = role.coordinator] { return lost(standby); }
                              : std::function<bool()>(),
      .outcomes = options_.outcomes,
      .peers = options_.peers,
      .suspension = std::exchange(options_.suspension, nullptr),  // what is decided must take effect
      .rendezvous = options_.rendezvous,
      .now = MonotonicNow,
      .after = [timers = options_.timers](
                   absl::Duration pause,
                   std::function<void()> call) { timers->Schedule(MonotonicNow() + pause, std::move(call)); },
      .cancel =
          [weak = weak_from_this()](const absl::Status& reason) {
            if (auto step = weak.lock()) step->cancellation_.StartCancel(reason);
          },
      .waits = &*waits_,
      .cancel_waits =
          [weak = weak_from_this()](const absl::Status& reason) {
            if (auto step = weak.lock()) step->waits_->StartCancel(reason);
          },
      .is_ending = options_.is_ending});
}

void WorkerStep::Cancel(const absl::Status& reason) {
  is_given_up_ = true;
  commit_ != nullptr ? commit_->Cancel(reason) : cancellation_.StartCancel(reason);
}

WorkerStep::Unit& WorkerStep::NewUnit() {
  MutexLock lock(units_mu_);
  return units_.emplace_back();
}

void WorkerStep::GoOnWithoutFailedNodes() {
  const std::shared_ptr<Rendezvous> with_peers = options_.rendezvous;
  std::shared_ptr<OwnTransfers> own;
  if (options_.units->size() > 1) {
    own = std::make_shared<OwnTransfers>(options_.units->front().device->parsed_name().TaskName(), with_peers);
    options_.rendezvous = own;
  }
  skipped_ = [this, own, with_peers](const Node& node, const absl::Status& status) {
    for (const std::string& edge : own != nullptr ? SendsAfter(node) : std::vector<std::string>()) {
      own->WillNotSend(edge, MarkDerived(status));
    }
    // Other tasks may wait for what this node would have sent, and this one for them. The master, if it has given up
    // the step, has told them.
    if (!is_given_up_) with_peers->StartAbort(status);
  };
}

absl::Status WorkerStep::Prepare(const std::vector<Tensor>& feeds) {
  // The task may have been suspended before the step could be cancelled.
  if (options_.suspension != nullptr) RETURN_IF_ERROR(options_.suspension->Check());
  if (const auto& role = options_.graph->commit_role(); role.has_value()) {
    if (options_.outcomes == nullptr || options_.timers == nullptr || (!role->coordinator.empty() && !options_.peers)) {
      return errors::Unimplemented("Task ", options_.task, " takes part in no commit of steps: it runs without peers");
    }
    JoinCommit(*role);
    if (options_.rendezvous != nullptr) GoOnWithoutFailedNodes();
  }
  for (const GraphUnit& planned : *options_.units) {
    Unit& unit = NewUnit();
    unit.container.emplace(options_.step_id, planned.device);
    if (options_.collectives != nullptr) {
      const absl::Status created = planned.device->resources()->Create<CollectiveExecutor>(
          unit.container->name(), CollectiveExecutor::kName, options_.collectives);
      // Another client's part of the same step may have created it.
      if (!absl::IsAlreadyExists(created)) RETURN_IF_ERROR(created);
    }
    unit.context.step_id = options_.step_id;
    unit.context.device = planned.device;
    unit.context.rendezvous = options_.rendezvous.get();
    unit.context.cancellation = &cancellation_;
    unit.context.step_container = &*unit.container;
    unit.context.functions = planned.functions.get();
    unit.context.commit = commit_.get();
    unit.context.session_handle = options_.session->options().handle;
    unit.feeds.reserve(planned.feeds.size());
    for (int feed : planned.feeds) unit.feeds.push_back(feeds[feed]);
    if (options_.exec_opts.record_timeline() || options_.exec_opts.record_costs()) {
      unit.stats = std::make_unique<StatsCollector>(*planned.device, planned.executor->plan(), planned.gpu);
      if (options_.transfers != nullptr) options_.transfers->Start();
    }
  }
  std::weak_ptr<WorkerStep> weak = weak_from_this();
  if (CancellationManager* const caller = options_.cancellation; caller != nullptr) {
    caller_token_ = caller->Register([weak, caller] {
      if (auto step = weak.lock()) step->Cancel(caller->status());
    });
    if (caller_token_ == CancellationManager::kInvalidToken) return caller->status();
  }
  session_token_ = options_.session->AddStep(
      options_.step_id,
      [weak](const absl::Status& reason) {
        if (auto step = weak.lock()) step->Cancel(reason);
      },
      [weak] {
        const auto step = weak.lock();
        return step != nullptr ? step->Waits() : std::vector<StepWait>();
      });
  if (!session_token_) return errors::Cancelled("The session was closed");
  // A fence cancels the steps that are known; it has recorded the step before.
  if (options_.outcomes != nullptr) {
    RETURN_IF_ERROR(options_.outcomes->CheckNotAborted(options_.session->options().handle, options_.step_id));
  }
  // It may have been suspended meanwhile, which cancels the steps that are known.
  if (options_.suspension != nullptr) RETURN_IF_ERROR(options_.suspension->Check());
  if (options_.timers != nullptr && options_.deadline != absl::InfiniteFuture()) {
    timer_ = options_.timers->Schedule(options_.deadline, [weak] {
      if (auto step = weak.lock()) step->TimeOut();
    });
  }
  return absl::OkStatus();
}

void WorkerStep::Run(const std::vector<Tensor>& feeds, DoneCallback done) {
  done_ = std::move(done);
  {
    MutexLock lock(mu_);
    pending_ = options_.units->size() + 1;
  }
  absl::Status prepared = Prepare(feeds);
  const size_t num_units = prepared.ok() ? units_.size() : 0;
  for (size_t i = 0; i < num_units; ++i) {
    Unit& unit = units_[i];
    const StepArgs args{.context = &unit.context,
                        .arguments = unit.feeds,
                        .results = &unit.results,
                        .observer = unit.stats.get(),
                        .poller = options_.poller,
                        .suspension = options_.suspension,
                        .waits = &unit.waits,
                        .skipped = skipped_ != nullptr ? &skipped_ : nullptr};
    // The last unit runs on this thread; the others start first.
    const bool on_caller = i + 1 == num_units;
    const GraphUnit& planned = (*options_.units)[i];
    if (on_caller && options_.caller_waits) {
      UnitRan(planned, planned.executor->RunSync(args));
      continue;
    }
    planned.executor->RunAsync(args, on_caller, [self = shared_from_this(), &planned](const absl::Status& status) {
      self->UnitRan(planned, status);
    });
  }
  if (!prepared.ok()) {
    MutexLock lock(mu_);
    pending_ = 1;
  }
  UnitDone(prepared);
}

void WorkerStep::UnitRan(const GraphUnit& unit, const absl::Status& status) {
  if (unit.gpu == nullptr || !status.ok()) return UnitDone(status);
  AwaitDeviceWork(*unit.gpu, unit.executor->plan(), cancellation_,
                  [self = shared_from_this()](const absl::Status& ended) { self->UnitDone(ended); });
}

void WorkerStep::UnitDone(const absl::Status& status) {
  {
    MutexLock lock(mu_);
    if (!status.ok() && (status_.ok() || (IsDerived(status_) && !IsDerived(status)))) status_ = status;
    if (--pending_ > 0) return;
  }
  Finish();
}

void WorkerStep::Finish() {
  if (options_.cancellation != nullptr) options_.cancellation->TryDeregister(caller_token_);
  if (session_token_) options_.session->RemoveStep(*session_token_);
  if (timer_) options_.timers->Cancel(*timer_);
  absl::Status status;
  {
    MutexLock lock(mu_);
    status = status_;
  }
  // Waits only report that they were cancelled; report the reason.
  for (const CancellationManager* cancellation : {waits_.has_value() ? &*waits_ : nullptr, &cancellation_}) {
    if (cancellation == nullptr || !absl::IsCancelled(status) || !cancellation->IsCancelled()) continue;
    status = WithOriginOf(cancellation->status(), status);
  }
  absl::StatusOr<RunGraphResult> result{RunGraphResult()};
  if (status.ok()) {
    result = Result();
  } else {
    result = std::move(status);
  }
  std::deque<Unit> units;
  {
    MutexLock lock(units_mu_);
    units.swap(units_);
  }
  units.clear();
  options_.collectives.reset();  // before `done`: peers must not wait for an ended step
  std::exchange(done_, nullptr)(std::move(result));
}

std::vector<StepWait> WorkerStep::Waits() {
  std::vector<StepWait> waits;
  const absl::Time now = MonotonicNow();
  const auto describe = [&](const std::string& node, const std::string& op, const Device& device, absl::Time since) {
    StepWait& wait = waits.emplace_back();
    wait.set_step_id(options_.step_id);
    wait.set_node(node);
    wait.set_op(op);
    wait.set_device(device.name());
    wait.set_waited_micros(absl::ToInt64Microseconds(now - since));
    return &wait;
  };
  MutexLock lock(units_mu_);
  for (size_t i = 0; i < units_.size(); ++i) {
    Device& device = *(*options_.units)[i].device;
    // Kernels of called functions too.
    absl::flat_hash_set<std::string> shared;
    if (const auto users = ResourceUsers::Find(*device.resources()); users != nullptr) {
      for (const ResourceUsers::Wait& wait : users->WaitsFrom(now)) {
        if (wait.step_id != options_.step_id || !shared.insert(wait.node).second) continue;
        describe(wait.node, wait.op, device, wait.since)->set_shared_object(wait.object);
      }
    }
    for (const StepWaits::Wait& wait : units_[i].waits.Get()) {
      if (!shared.contains(wait.node->name())) describe(wait.node->name(), wait.node->op(), device, wait.since);
    }
  }
  return waits;
}

std::vector<std::string> WorkerStep::WaitTexts() {
  constexpr size_t kMost = 8;
  std::vector<std::string> texts;
  MutexLock lock(units_mu_);
  for (size_t i = 0; i < units_.size(); ++i) {
    for (const StepWaits::Wait& wait : units_[i].waits.Get()) {
      if (texts.size() < kMost) texts.push_back(Describe(*wait.node, *(*options_.units)[i].device));
    }
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

void WorkerStep::TimeOut() {
  const std::vector<std::string> waits = WaitTexts();
  absl::Status reason = errors::DeadlineExceeded("Step ", options_.step_id, " did not end before its deadline",
                                                 waits.empty() ? "" : "; it waited for ", absl::StrJoin(waits, ", "));
  Cancel(reason);
}

RunGraphResult WorkerStep::Result() {
  RunGraphResult result;
  result.fetches.resize(options_.graph->num_fetches());
  TransferLog::Routes routes;
  if (options_.exec_opts.record_timeline() && options_.transfers != nullptr) routes = options_.transfers->routes();
  for (size_t i = 0; i < units_.size(); ++i) {
    const std::vector<int>& fetches = (*options_.units)[i].fetches;
    for (size_t k = 0; k < fetches.size(); ++k) result.fetches[fetches[k]] = std::move(units_[i].results[k]);
    if (options_.exec_opts.record_timeline()) units_[i].stats->AddTo(routes, &result.step_stats);
    if (options_.exec_opts.record_costs()) units_[i].stats->AddTo(&result.cost_graph);
  }
  if (options_.exec_opts.record_partition_graphs()) result.partition_graphs = options_.graph->PartitionGraphs();
  return result;
}

}  // namespace weir
