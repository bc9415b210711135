#include "absl/strings/str_format.h"
#include "core/clock.h"
#include "core/gpu/gpu_allocator.h"
#include "distribute/transport/grpc_channel.h"
#include "tools/commands.h"
#include "tools/device_list.h"
#include "tools/task_client.h"
#include "weir/status.pb.h"
#include "weir/transport.pb.h"

namespace weir {
namespace {

// Memory of the task's GPUs, and statistics of captured graphs; nothing for a task that does not support it.
absl::Status PrintGpus(const std::string& address, const CallOptions& options, std::ostream& out) {
  GrpcChannel channel({.address = address}, nullptr);
  ListGpusResponse response;
  const absl::Status status =
      channel.CallMessage("/weir.StatusService/ListGpus", options, ListGpusRequest(), &response);
  if (absl::IsUnimplemented(status)) return absl::OkStatus();
  RETURN_IF_ERROR(status);
  for (const auto& gpu : response.gpu()) {
    GpuAllocatorStats memory;
    memory.bytes_in_use = gpu.bytes_in_use();
    memory.peak_bytes_in_use = gpu.peak_bytes_in_use();
    memory.bytes_reserved = gpu.bytes_reserved();
    memory.bytes_limit = gpu.bytes_limit();
    memory.largest_free_block = gpu.largest_free_block();
    memory.bytes_in_pools = gpu.bytes_in_graphs();
    memory.num_pools = gpu.graphs();
    memory.num_regions = gpu.regions();
    memory.num_waits = gpu.waits();
    memory.num_retries = gpu.retries();
    memory.fragmentation = gpu.fragmentation();
    out << absl::StrFormat("memory of %s: %s\n", gpu.name(), memory.ToString());
    if (gpu.graphs_captured() + gpu.captures_failed() == 0) continue;
    out << absl::StrFormat("graphs of %s: %d captured, %d replayed, %d captures failed, %d dropped\n", gpu.name(),
                           gpu.graphs_captured(), gpu.graphs_replayed(), gpu.captures_failed(), gpu.graphs_dropped());
  }
  return absl::OkStatus();
}

// The links through which the task exchanges collective buffers and calls of steps; nothing for a task without links or
// without support.
absl::Status PrintLinks(const std::string& address, const CallOptions& options, std::ostream& out) {
  GrpcChannel channel({.address = address}, nullptr);
  ListLinksResponse response;
  const absl::Status status =
      channel.CallMessage("/weir.TransportService/ListLinks", options, ListLinksRequest(), &response);
  if (absl::IsUnimplemented(status)) return absl::OkStatus();
  RETURN_IF_ERROR(status);
  for (const auto& link : response.link()) {
    out << absl::StrFormat("link %s %s through %s, %s: sent %d frames, %d bytes; received %d frames, %d bytes\n",
                           link.accepted() ? "for" : "to", link.task(), link.transport(),
                           link.use() == LinkUse::CALLS ? "steps" : "collectives", link.frames_sent(),
                           link.bytes_sent(), link.frames_received(), link.bytes_received());
  }
  return absl::OkStatus();
}

absl::Status PrintResources(const std::string& address, const CallOptions& options, std::ostream& out) {
  GrpcChannel channel({.address = address}, nullptr);
  ListResourcesResponse response;
  RETURN_IF_ERROR(channel.CallMessage("/weir.StatusService/ListResources", options, ListResourcesRequest(), &response));
  for (const auto& device : response.device()) {
    out << absl::StrFormat("resources of %s: %d bytes\n", device.name(), device.bytes());
    for (const std::string& resource : device.resource()) out << "  " << resource << "\n";
    if (device.left_out() > 0) out << absl::StrFormat("  and %d more\n", device.left_out());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status PrintStatus(const std::string& target, bool resources, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(target));
  RETURN_IF_ERROR(PrintDevices(address, out));
  const CallOptions options{.deadline = MonotonicNow() + absl::Seconds(10)};
  RETURN_IF_ERROR(PrintGpus(address, options, out));
  RETURN_IF_ERROR(PrintLinks(address, options, out));
  return resources ? PrintResources(address, options, out) : absl::OkStatus();
}

}  // namespace weir
