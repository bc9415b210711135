#include "tools/watch/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// Collects families. A family without a sample is left out.
class Families {
 public:
  void Counter(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    Find(name, help, MetricType::Counter).metric.push_back({.label = std::move(labels), .counter = {value}});
  }
  void Gauge(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    Find(name, help, MetricType::Gauge).metric.push_back({.label = std::move(labels), .gauge = {value}});
  }
  void Histogram(const std::string& name, const std::string& help, const DurationHistogram::Snapshot& snapshot) {
    ClientMetric::Histogram histogram;
    histogram.sample_sum = snapshot.sum_seconds;
    for (int i = 0; i < DurationHistogram::kBuckets; ++i) {
      histogram.sample_count += snapshot.counts[i];
      const bool is_last = i + 1 == DurationHistogram::kBuckets;
      const double bound = is_last ? std::numeric_limits<double>::infinity() : DurationHistogram::UpperBoundSeconds(i);
      histogram.bucket.push_back({histogram.sample_count, bound});
    }
    Find(name, help, MetricType::Histogram).metric.push_back({.histogram = std::move(histogram)});
  }
  const std::vector<MetricFamily>& all() const { return families_; }

 private:
  MetricFamily& Find(const std::string& name, const std::string& help, MetricType type) {
    for (MetricFamily& family : families_) {
      if (family.name == name) return family;
    }
    return families_.emplace_back(MetricFamily{.name = name, .help = help, .type = type});
  }

  std::vector<MetricFamily> families_;
};

void AddTask(const TaskReport& report, Families* out) {
  out->Gauge("weir_build_info", "The version of the server's program.", 1, {{"version", report.version()}});
  out->Gauge("weir_task_serving", "Whether the task serves (1) or is stopping (0).", report.reason().empty() ? 1 : 0);
  for (const auto& peer : report.peer()) {
    if (peer.health() != "unknown") {
      out->Gauge("weir_peer_up", "Whether another task of the cluster answers this one.", peer.health() == "up" ? 1 : 0,
                 {{"task", peer.task()}});
    }
    out->Counter("weir_peer_losses_total", "How often another task was up and then did not answer, or had restarted.",
                 static_cast<double>(peer.losses()), {{"task", peer.task()}});
    out->Counter("weir_peer_restarts_total", "Restarts of another task that this one has seen.",
                 static_cast<double>(peer.restarts()), {{"task", peer.task()}});
  }
}

void AddSteps(const std::string& part, const std::string& what, const StepMetrics::Snapshot& steps, Families* out) {
  const std::string prefix = absl::StrCat("weir_", part, "_");
  out->Counter(prefix + "steps_started_total", absl::StrCat("Steps that have started: ", what, "."),
               static_cast<double>(steps.started));
  for (int code = 0; code < StepMetrics::kCodes; ++code) {
    out->Counter(prefix + "steps_total", absl::StrCat("Steps that have ended, by status code: ", what, "."),
                 static_cast<double>(steps.ended[code]),
                 {{"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}});
  }
  out->Gauge(prefix + "steps_running", absl::StrCat("Steps that run now: ", what, "."),
             static_cast<double>(steps.Running()));
  out->Histogram(prefix + "step_seconds", absl::StrCat("Durations of steps: ", what, "."), steps.seconds);
}

void AddSessions(const TaskReport& report, Families* out) {
  out->Gauge("weir_master_sessions", "Open sessions of the task's master.", report.session_size());
  out->Counter("weir_master_sessions_created_total", "Sessions that clients have created.",
               static_cast<double>(report.totals().sessions_created()));
  out->Counter("weir_master_graphs_built_total", "Graphs of a session's signatures that were prepared and registered.",
               static_cast<double>(report.totals().graphs_built()));
  int64_t graphs = 0;
  for (const auto& session : report.worker_session()) graphs += session.graphs();
  out->Gauge("weir_worker_sessions", "Sessions that masters have open on the task's worker.",
             report.worker_session_size());
  out->Gauge("weir_worker_graphs", "Graphs that are registered with the task's worker.", static_cast<double>(graphs));
  out->Counter("weir_worker_graphs_registered_total", "Graphs that masters have registered with the task's worker.",
               static_cast<double>(report.totals().worker_graphs_registered()));
}

void AddRecoveries(const TaskReport::Recoveries& recoveries, Families* out) {
  out->Counter("weir_master_worker_sessions_reopened_total",
               "Worker sessions opened again on tasks that were lost or restarted.",
               static_cast<double>(recoveries.worker_sessions_reopened()));
  out->Counter("weir_master_graphs_rebuilt_total", "Graphs registered again after a task was lost.",
               static_cast<double>(recoveries.graphs_rebuilt()));
  out->Counter("weir_master_sessions_adopted_total", "Sessions taken over from an earlier process of this master.",
               static_cast<double>(recoveries.sessions_adopted()));
  out->Counter("weir_worker_sessions_orphaned_total", "Sessions ended because their master was lost or has restarted.",
               static_cast<double>(recoveries.sessions_orphaned()));
}

void AddTransports(const TaskReport& report, Families* out) {
  for (const auto& transport : report.transport()) {
    out->Counter("weir_transport_sent_bytes_total", "Bytes sent to clients and other tasks.",
                 static_cast<double>(transport.sent_bytes()), {{"transport", transport.name()}});
    out->Counter("weir_transport_received_bytes_total", "Bytes received from clients and other tasks.",
                 static_cast<double>(transport.received_bytes()), {{"transport", transport.name()}});
  }
  out->Gauge("weir_transport_links", "Open links to other tasks, through streams or shared memory.",
             report.link_size());
  out->Counter("weir_grpc_calls_total", "gRPC calls that the task has served.",
               static_cast<double>(report.totals().calls_served()));
  out->Gauge("weir_grpc_calls_running", "gRPC calls that are being served.",
             static_cast<double>(report.queues().running_calls()));
}

void AddResources(const TaskReport& report, Families* out) {
  out->Gauge("weir_compute_threads", "Threads that compute.", static_cast<double>(report.queues().compute_threads()));
  out->Gauge("weir_compute_queue_tasks", "Tasks that wait for a compute thread.",
             static_cast<double>(report.queues().compute_queued()));
  out->Gauge("weir_tensor_memory_bytes", "Host memory of tensors in this process.",
             static_cast<double>(report.memory().tensors()));
  out->Gauge("weir_tensor_memory_peak_bytes", "The most host memory that tensors of this process have used.",
             static_cast<double>(report.memory().peak_tensors()));
  for (const auto& gpu : report.gpu()) {
    out->Gauge("weir_gpu_memory_in_use_bytes", "GPU memory of tensors.", static_cast<double>(gpu.in_use()),
               {{"device", gpu.device()}});
    out->Gauge("weir_gpu_memory_reserved_bytes", "GPU memory taken from the device.",
               static_cast<double>(gpu.reserved()), {{"device", gpu.device()}});
    out->Gauge("weir_gpu_memory_limit_bytes", "The most GPU memory that the device may take.",
               static_cast<double>(gpu.limit()), {{"device", gpu.device()}});
  }
}

void AddProcess(const ProcessMetrics& process, Families* out) {
  out->Gauge("process_start_time_seconds", "Start time of the process since the epoch.", process.start_time_seconds);
  out->Counter("process_cpu_seconds_total", "Processor time of the process.", process.cpu_seconds);
  out->Gauge("process_resident_memory_bytes", "Resident memory of the process.",
             static_cast<double>(process.resident_bytes));
  out->Gauge("process_virtual_memory_bytes", "Address space of the process.",
             static_cast<double>(process.virtual_bytes));
  out->Gauge("process_threads", "Threads of the process.", static_cast<double>(process.threads));
  out->Gauge("process_open_fds", "Open file descriptors of the process.", static_cast<double>(process.open_files));
  out->Gauge("process_max_fds", "The most file descriptors that the process may open.",
             static_cast<double>(process.max_open_files));
}

}  // namespace

std::string MetricsText(const ScrapedTask& task) {
  Families families;
  AddTask(task.report, &families);
  AddSteps("master", "calls of RunStep and RunCallable at the task's master", task.master_steps, &families);
  AddSteps("worker", "calls of RunGraph at the task's worker", task.worker_steps, &families);
  AddSessions(task.report, &families);
  AddRecoveries(task.report.recoveries(), &families);
  AddTransports(task.report, &families);
  AddResources(task.report, &families);
  families.Counter("weir_http_requests_total", "Requests that the HTTP server has answered.",
                   static_cast<double>(task.http_answered));
  families.Counter("weir_http_connections_dropped_total", "HTTP connections closed before their answer was read.",
                   static_cast<double>(task.http_dropped));
  AddProcess(task.process, &families);
  for (const GaugeSample& sample : task.gauges) {
    Labels labels;
    for (const auto& [name, value] : sample.labels) labels.push_back({name, value});
    families.Gauge(sample.name, sample.help, sample.value, std::move(labels));
  }
  return prometheus::TextSerializer().Serialize(families.all());
}

}  // namespace weir
