#include "tools/watch/task_reporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/gpu/gpu_device.h"
#include "core/memory/allocator.h"
#include "core/threads/compute_pool.h"
#include "distribute/transport/message_method.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/stream/stream_links.h"
#include "graph/text/graph_text.h"
#include "master/master.h"
#include "tools/watch/process_metrics.h"
#include "tools/watch/stored_checkpoints.h"
#include "worker/worker.h"

namespace weir {
namespace {

constexpr size_t kMaxSamples = 150;
constexpr size_t kMaxLongSteps = 20;
constexpr int kMaxWaits = 50;  // of a step
constexpr size_t kMaxAttrBytes = 1024;
constexpr absl::Duration kFresh = absl::Seconds(3);  // an older state of the peers is asked for anew
constexpr absl::Duration kAnswerWithin = absl::Milliseconds(300);

std::string Hex(uint64_t number) { return absl::StrFormat("%016x", number); }

std::vector<std::pair<std::string, std::string>> PeersOf(const WatchedTask& task) {
  std::vector<std::pair<std::string, std::string>> peers;
  const auto known = task.membership->Get();
  for (const auto& [job, tasks] : known->cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      if (std::string name = TaskName(job, index); name != task.task) peers.emplace_back(std::move(name), address);
    }
  }
  return peers;
}

void Describe(const StepMetrics::Snapshot& steps, TaskReport::Steps* out) {
  out->set_started(steps.started);
  out->set_running(steps.Running());
  out->set_seconds(steps.seconds.sum_seconds);
  for (int code = 0; code < StepMetrics::kCodes; ++code) {
    if (code == static_cast<int>(absl::StatusCode::kOk)) {
      out->set_succeeded(steps.ended[code]);
    } else if (steps.ended[code] > 0) {
      out->set_failed(out->failed() + steps.ended[code]);
      TaskReport::CodeCount* const failed = out->add_failed_by_code();
      failed->set_code(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
      failed->set_steps(steps.ended[code]);
    }
  }
}

void Describe(const StepWait& wait, TaskReport::Wait* out) {
  out->set_node(wait.node());
  out->set_op(wait.op());
  out->set_device(wait.device());
  out->set_seconds(static_cast<double>(wait.waited_micros()) * 1e-6);
  out->set_shared_object(wait.shared_object());
}

void Describe(const ListLinksResponse::Link& link, TaskReport::Link* out) {
  out->set_task(link.task());
  out->set_transport(link.transport());
  out->set_use(link.use() == LinkUse::CALLS ? "steps" : "collectives");
  out->set_accepted(link.accepted());
  out->set_sent_frames(link.frames_sent());
  out->set_sent_bytes(link.bytes_sent());
  out->set_received_frames(link.frames_received());
  out->set_received_bytes(link.bytes_received());
}

TaskReport::Transport Transport(const char* name, const ByteCounts* counts) {
  TaskReport::Transport transport;
  transport.set_name(name);
  if (counts == nullptr) return transport;
  transport.set_sent_bytes(counts->sent.value());
  transport.set_received_bytes(counts->received.value());
  return transport;
}

void AddLinks(const ListLinksResponse& links, TaskReport* report, TaskReport::Transport* transport) {
  for (const auto& link : links.link()) {
    Describe(link, report->add_link());
    transport->set_sent_bytes(transport->sent_bytes() + link.bytes_sent());
    transport->set_received_bytes(transport->received_bytes() + link.bytes_received());
  }
}

}  // namespace

TaskReporter::TaskReporter(WatchedTask task)
    : task_(std::move(task)),
      start_(MonotonicNow()),
      master_metrics_(task_.master->metrics()),
      worker_metrics_(task_.worker->metrics()),
      peers_({.peers = [this] { return PeersOf(task_); }, .workers = task_.workers}),
      master_(task_.master),
      worker_(task_.worker) {}

void TaskReporter::MeasureStepTimes() {
  MutexLock lock(parts_mu_);
  if (master_ != nullptr) master_->MeasureStepTimes();
  if (worker_ != nullptr) worker_->MeasureStepTimes();
}

void TaskReporter::SetServer(const GrpcServer* server) {
  MutexLock lock(mu_);
  server_ = server;
  if (server != nullptr) address_ = server->address();
}

void TaskReporter::SetHttpAddress(const std::string& address) {
  MutexLock lock(mu_);
  http_address_ = address;
}

void TaskReporter::SetStopping(const std::string& reason) {
  MutexLock lock(mu_);
  stopping_ = reason;
}

void TaskReporter::Detach() {
  peers_.Stop();
  MutexLock lock(parts_mu_);
  master_ = nullptr;
  worker_ = nullptr;
}

std::string TaskReporter::WhyNotServing() const {
  MutexLock lock(mu_);
  return stopping_;
}

TaskReport TaskReporter::Counts() {
  TaskReport report;
  AddState(&report);
  AddPeers(&report);
  AddSessions(&report);
  AddSteps(&report);
  AddTransports(&report);
  AddMemory(&report);
  AddRates(&report);
  return report;
}

TaskReport TaskReporter::Report() {
  TaskReport report = Counts();
  AddWaits(&report);
  AddCheckpoints(&report);
  return report;
}

void TaskReporter::AddState(TaskReport* report) const {
  report->set_task(task_.task);
  report->set_version(WEIR_VERSION);
  report->set_incarnation(Hex(task_.devices.front()->incarnation()));
  report->set_uptime_seconds(absl::ToDoubleSeconds(MonotonicNow() - start_));
  ComputePool& pool = task_.devices.front()->work_queue()->compute_pool();
  report->mutable_queues()->set_compute_threads(pool.num_threads());
  report->mutable_queues()->set_compute_queued(pool.num_queued());
  MutexLock lock(mu_);
  report->set_address(address_);
  report->set_http_address(http_address_);
  report->set_state(stopping_.empty() ? "serving" : "stopping");
  report->set_reason(stopping_);
  if (server_ != nullptr) report->mutable_queues()->set_running_calls(server_->running_calls());
}

void TaskReporter::AddPeers(TaskReport* report) const {
  const absl::Time now = MonotonicNow();
  for (const PeerWatch::Peer& peer : peers_.Peers()) {
    TaskReport::Peer* const out = report->add_peer();
    const bool is_known = peer.health != PeerWatch::Health::kUnknown;
    out->set_task(peer.task);
    out->set_address(peer.address);
    out->set_health(!is_known ? "unknown" : peer.health == PeerWatch::Health::kUp ? "up" : "down");
    if (peer.incarnation != 0) out->set_incarnation(Hex(peer.incarnation));
    if (is_known) out->set_since_seconds(absl::ToDoubleSeconds(now - peer.since));
    out->set_restarts(peer.restarts);
    out->set_losses(peer.losses);
    out->set_reason(peer.reason);
  }
}

void TaskReporter::AddSessions(TaskReport* report) {
  MutexLock lock(parts_mu_);
  if (master_ == nullptr) return;
  for (const SessionSummary& session : master_->Sessions()) {
    TaskReport::Session* const out = report->add_session();
    out->set_id(session.number);
    out->set_age_seconds(absl::ToDoubleSeconds(session.age));
    out->set_nodes(session.nodes);
    out->set_graph_version(session.graph_version);
    out->set_signatures(static_cast<int64_t>(session.client_graphs));
    out->set_callables(static_cast<int64_t>(session.callables));
    out->set_steps(session.steps);
    out->set_running_steps(static_cast<int64_t>(session.running_steps));
    out->mutable_task()->Add(session.tasks.begin(), session.tasks.end());
  }
  for (const WorkerSessionSummary& session : worker_->Sessions()) {
    TaskReport::WorkerSession* const out = report->add_worker_session();
    out->set_master(session.master);
    out->set_graphs(static_cast<int64_t>(session.graphs));
    out->set_running_steps(static_cast<int64_t>(session.running_steps));
  }
}

void TaskReporter::AddWaits(TaskReport* report) {
  MutexLock lock(parts_mu_);
  if (master_ == nullptr) return;
  for (const StepSummary& step : master_->LongestSteps(kMaxLongSteps, MonotonicNow() + kAnswerWithin)) {
    TaskReport::Step* const out = report->add_long_step();
    out->set_session(step.session);
    out->set_age_seconds(absl::ToDoubleSeconds(step.age));
    out->mutable_running_on()->Add(step.running_on.begin(), step.running_on.end());
    for (const StepWait& wait : step.waits) {
      if (out->wait_size() < kMaxWaits) {
        Describe(wait, out->add_wait());
      } else {
        out->set_more_waits(out->more_waits() + 1);
      }
    }
  }
  std::vector<StepWait> waits = worker_->Waits();
  std::sort(waits.begin(), waits.end(),
            [](const auto& a, const auto& b) { return a.waited_micros() > b.waited_micros(); });
  if (waits.size() > kMaxWaits) waits.resize(kMaxWaits);
  for (const StepWait& wait : waits) Describe(wait, report->add_worker_wait());
}

void TaskReporter::AddSteps(TaskReport* report) const {
  Describe(master_metrics_->steps.Get(), report->mutable_master_steps());
  Describe(worker_metrics_->steps.Get(), report->mutable_worker_steps());
  TaskReport::Recoveries* const recoveries = report->mutable_recoveries();
  recoveries->set_worker_sessions_reopened(master_metrics_->worker_sessions_reopened.value());
  recoveries->set_graphs_rebuilt(master_metrics_->graphs_rebuilt.value());
  recoveries->set_sessions_adopted(master_metrics_->sessions_adopted.value());
  recoveries->set_sessions_orphaned(worker_metrics_->sessions_orphaned.value());
  TaskReport::Totals* const totals = report->mutable_totals();
  totals->set_sessions_created(master_metrics_->sessions_created.value());
  totals->set_graphs_built(master_metrics_->graphs_built.value());
  totals->set_worker_graphs_registered(worker_metrics_->graphs_registered.value());
  totals->set_calls_served(task_.transport->calls_served.value());
}

void TaskReporter::AddTransports(TaskReport* report) {
  // Links that have ended come first: one that ends meanwhile is then left out, not counted twice.
  TaskReport::Transport calls = Transport("grpc", &task_.transport->calls);
  TaskReport::Transport streams =
      Transport("stream", task_.streams != nullptr ? &task_.streams->ended_bytes() : nullptr);
  TaskReport::Transport rings =
      Transport("shared_memory_ring", task_.links != nullptr ? &task_.links->ended_bytes() : nullptr);
  TaskReport::Transport tensors = Transport("shared_memory_tensor", &task_.transport->shared_tensors);
  ListLinksResponse stream_links, ring_links;
  if (task_.streams != nullptr) task_.streams->Describe(&stream_links);
  if (task_.links != nullptr) task_.links->Describe(&ring_links);
  AddLinks(ring_links, report, &rings);
  AddLinks(stream_links, report, &streams);
  std::vector<TaskReport::Transport> transports = {std::move(calls), std::move(streams), std::move(rings),
                                                   std::move(tensors)};
  MutexLock lock(mu_);
  reported_.resize(transports.size());
  for (size_t i = 0; i < transports.size(); ++i) {
    transports[i].set_sent_bytes(std::max(transports[i].sent_bytes(), reported_[i].sent_bytes()));
    transports[i].set_received_bytes(std::max(transports[i].received_bytes(), reported_[i].received_bytes()));
    reported_[i] = transports[i];
    *report->add_transport() = std::move(transports[i]);
  }
}

void TaskReporter::AddMemory(TaskReport* report) const {
  const AllocatorStats tensors = CpuAllocator()->Stats();
  report->mutable_memory()->set_tensors(tensors.bytes_in_use);
  report->mutable_memory()->set_peak_tensors(tensors.peak_bytes_in_use);
  report->mutable_memory()->set_resident(ResidentBytes());
  for (Device* device : task_.devices) {
    auto* const gpu = dynamic_cast<GpuDevice*>(device);
    if (gpu == nullptr) continue;
    const GpuAllocatorStats memory = gpu->memory().Stats();
    TaskReport::Gpu* const out = report->add_gpu();
    out->set_device(device->name());
    out->set_in_use(memory.bytes_in_use);
    out->set_reserved(memory.bytes_reserved);
    out->set_limit(memory.bytes_limit);
  }
}

void TaskReporter::AddCheckpoints(TaskReport* report) const {
  if (!task_.checkpoint_store.empty()) AddStoredCheckpoints(task_.checkpoint_store, report);
}

TaskReporter::Sums TaskReporter::SumsNow() {
  TaskReport transports;
  AddTransports(&transports);
  Sums sums{.time = MonotonicNow(),
            .master_steps = master_metrics_->steps.Get().EndedOfAll(),
            .worker_steps = worker_metrics_->steps.Get().EndedOfAll()};
  for (const TaskReport::Transport& transport : transports.transport()) {
    sums.sent += transport.sent_bytes();
    sums.received += transport.received_bytes();
  }
  return sums;
}

void TaskReporter::Sample() {
  const Sums sums = SumsNow();
  MutexLock lock(mu_);
  samples_.push_back(sums);
  if (samples_.size() > kMaxSamples) samples_.pop_front();
}

void TaskReporter::AddRates(TaskReport* report) const {
  const absl::Time now = MonotonicNow();
  MutexLock lock(mu_);
  for (size_t i = 1; i < samples_.size(); ++i) {
    const Sums &before = samples_[i - 1], &after = samples_[i];
    const double seconds = absl::ToDoubleSeconds(after.time - before.time);
    if (seconds <= 0) continue;
    const auto rate = [seconds](uint64_t from, uint64_t to) {
      return static_cast<double>(to - std::min(from, to)) / seconds;
    };
    TaskReport::Rate* const out = report->add_rate();
    out->set_age_seconds(absl::ToDoubleSeconds(now - after.time));
    out->set_master_steps(rate(before.master_steps, after.master_steps));
    out->set_worker_steps(rate(before.worker_steps, after.worker_steps));
    out->set_sent_bytes(rate(before.sent, after.sent));
    out->set_received_bytes(rate(before.received, after.received));
  }
}

ServerMethod TaskReportMethod(TaskReporter* reporter) {
  return {.path = "/weir.StatusService/GetTaskReport",
          .handle =
              [reporter](ServerCall* call) {
                ServeMessage<GetTaskReportRequest, GetTaskReportResponse>(
                    call, [reporter](const CallOptions&, auto messages, auto done) {
                      reporter->peers().Refresh(kFresh);
                      *messages->response.mutable_report() = reporter->Report();
                      done(absl::OkStatus());
                    });
              },
          .blocks = true};
}

absl::StatusOr<std::string> TaskReporter::GraphText(int64_t session) {
  std::shared_ptr<const Graph> graph;
  {
    MutexLock lock(parts_mu_);
    if (master_ == nullptr) return errors::Unavailable("The task is stopping");
    ASSIGN_OR_RETURN(graph, master_->SessionGraph(session));
  }
  return PrintGraph(*graph, {.max_attr_bytes = kMaxAttrBytes});
}

}  // namespace weir
