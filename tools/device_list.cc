#include "tools/device_list.h"

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/device/device_name.h"
#include "core/threads/blocking_call.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_master_client.h"
#include "distribute/transport/workers/grpc_worker_pool.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "tools/task_client.h"

namespace weir {
namespace {

constexpr absl::Duration kListTimeout = absl::Seconds(10);
constexpr absl::Duration kTaskTimeout = absl::Seconds(3);

// A question to a task, and its answer.
struct Question {
  std::shared_ptr<WorkerInterface> worker;
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
  Awaited<absl::Status> answered;
};

void PrintDevice(const tensorflow::DeviceAttributes& device, absl::string_view where, std::ostream& out) {
  out << absl::StrFormat("%s %s incarnation %016x memory %d %s\n", device.name(), device.device_type(),
                         device.incarnation(), device.memory_limit(), where);
}

void Ask(WorkerPool& workers, const std::string& task, Question* question) {
  absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = workers.Get(task);
  if (!worker.ok()) return question->answered.Set(worker.status());
  question->worker = *std::move(worker);
  question->worker->GetStatusAsync({.deadline = MonotonicNow() + kTaskTimeout}, &question->request, &question->response,
                                   [question](absl::Status status) { question->answered.Set(std::move(status)); });
}

// Asks all tasks at once. `why` is the master's error.
absl::Status PrintTaskByTask(const std::string& address, const absl::Status& why, std::ostream& out) {
  GrpcChannel channel({.address = address}, nullptr);
  const absl::StatusOr<TaskReport> report = GetTaskReport(&channel, {.deadline = MonotonicNow() + kListTimeout});
  if (absl::IsUnimplemented(report.status())) return why;
  RETURN_IF_ERROR(report.status());
  ClusterSpec cluster;
  std::vector<std::pair<std::string, std::string>> tasks = {{report->task(), address}};
  for (const auto& peer : report->peer()) tasks.emplace_back(peer.task(), peer.address());
  for (const auto& [task, where] : tasks) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::Parse(task));
    RETURN_IF_ERROR(cluster.AddTask(name.job.value_or(""), name.task.value_or(-1), where));
  }
  GrpcWorkerPool workers({.cluster = std::move(cluster)});
  RETURN_IF_ERROR(workers.status());
  std::deque<Question> questions(tasks.size());  // they end before the pool
  for (size_t i = 0; i < tasks.size(); ++i) Ask(workers, tasks[i].first, &questions[i]);
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (const absl::Status status = questions[i].answered.Take(); !status.ok()) {
      out << absl::StrFormat("%s at %s does not answer: %s\n", tasks[i].first, tasks[i].second, status.message());
      continue;
    }
    for (const auto& device : questions[i].response.device_attributes()) {
      PrintDevice(device, i == 0 ? "(this task)" : "", out);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintDevices(const std::string& address, std::ostream& out) {
  GrpcMasterClient master(GrpcChannelOptions{.address = address});
  tensorflow::ListDevicesResponse response;
  const absl::Status status = master.ListDevices({.deadline = MonotonicNow() + kListTimeout}, {}, &response);
  if (!status.ok() && !absl::IsUnimplemented(status)) return PrintTaskByTask(address, status, out);
  RETURN_IF_ERROR(status);
  for (const auto& device : response.local_device()) PrintDevice(device, "(this task)", out);
  for (const auto& device : response.remote_device()) PrintDevice(device, "", out);
  return absl::OkStatus();
}

}  // namespace weir
