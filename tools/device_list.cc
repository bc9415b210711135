#include "tools/device_list.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_master_client.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "tools/task_client.h"

namespace weir {
namespace {

constexpr absl::Duration kListTimeout = absl::Seconds(10);
constexpr absl::Duration kPeersTimeout = absl::Seconds(10);  // of all together
constexpr absl::Duration kPeerTimeout = absl::Seconds(2);

void PrintDevice(const tensorflow::DeviceAttributes& device, absl::string_view where, std::ostream& out) {
  out << absl::StrFormat("%s %s incarnation %016x memory %d %s\n", device.name(), device.device_type(),
                         device.incarnation(), device.memory_limit(), where);
}

absl::Status PrintTask(GrpcChannel* channel, absl::Time deadline, absl::string_view where, std::ostream& out) {
  tensorflow::GetStatusResponse response;
  RETURN_IF_ERROR(channel->CallMessage("/tensorflow.WorkerService/GetStatus", {.deadline = deadline},
                                       tensorflow::GetStatusRequest(), &response));
  for (const auto& device : response.device_attributes()) PrintDevice(device, where, out);
  return absl::OkStatus();
}

// Asks each task itself. `why` is the master's error.
absl::Status PrintTaskByTask(const std::string& address, const absl::Status& why, std::ostream& out) {
  GrpcChannel channel({.address = address}, nullptr);
  const absl::StatusOr<TaskReport> report = GetTaskReport(&channel, {.deadline = MonotonicNow() + kPeersTimeout});
  if (absl::IsUnimplemented(report.status())) return why;
  RETURN_IF_ERROR(report.status());
  const absl::Time deadline = MonotonicNow() + kPeersTimeout;
  RETURN_IF_ERROR(PrintTask(&channel, deadline, "(this task)", out));
  for (const auto& peer : report->peer()) {
    std::string reason = peer.reason();
    if (peer.health() != "down") {
      GrpcChannel to_peer({.address = peer.address()}, nullptr);
      const absl::Status status = PrintTask(&to_peer, std::min(deadline, MonotonicNow() + kPeerTimeout), "", out);
      if (status.ok()) continue;
      reason = std::string(status.message());
    }
    out << absl::StrFormat("%s at %s does not answer: %s\n", peer.task(), peer.address(), reason);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintDevices(const std::string& address, std::ostream& out) {
  GrpcMasterClient master(GrpcChannelOptions{.address = address});
  tensorflow::ListDevicesResponse response;
  const absl::Status status = master.ListDevices({.deadline = MonotonicNow() + kListTimeout}, {}, &response);
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return PrintTaskByTask(address, status, out);
  RETURN_IF_ERROR(status);
  for (const auto& device : response.local_device()) PrintDevice(device, "(this task)", out);
  for (const auto& device : response.remote_device()) PrintDevice(device, "", out);
  return absl::OkStatus();
}

}  // namespace weir
