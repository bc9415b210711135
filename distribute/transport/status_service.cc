#include "distribute/transport/status_service.h"

#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/device/resource_manager.h"
#include "core/gpu/gpu_device.h"
#include "distribute/transport/message_method.h"
#include "weir/status.pb.h"

namespace weir {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

void Describe(Device& device, size_t* room, ListResourcesResponse::Device* out) {
  out->set_name(device.name());
  out->set_bytes(device.resources()->MemoryUsed());
  const std::string all = device.resources()->DebugString();
  for (const absl::string_view line : absl::StrSplit(all, '\n', absl::SkipEmpty())) {
    if (line.size() > *room) {
      out->set_left_out(out->left_out() + 1);
      continue;
    }
    *room -= line.size();
    out->add_resource(std::string(line));
  }
}

void Describe(GpuDevice& device, ListGpusResponse::Gpu* out) {
  const GpuAllocatorStats memory = device.memory().Stats();
  out->set_name(device.name());
  out->set_bytes_in_use(memory.bytes_in_use);
  out->set_peak_bytes_in_use(memory.peak_bytes_in_use);
  out->set_bytes_reserved(memory.bytes_reserved);
  out->set_bytes_limit(memory.bytes_limit);
  out->set_largest_free_block(memory.largest_free_block);
  out->set_bytes_in_graphs(memory.bytes_in_pools);
  out->set_regions(memory.num_regions);
  out->set_waits(memory.num_waits);
  out->set_retries(memory.num_retries);
  out->set_fragmentation(memory.fragmentation);
  const GpuGraphStats& graphs = device.graph_stats();
  out->set_graphs(memory.num_pools);
  out->set_graphs_captured(graphs.captures);
  out->set_graphs_replayed(graphs.replays);
  out->set_captures_failed(graphs.failures);
  out->set_graphs_dropped(graphs.dropped);
}

}  // namespace

ServerMethod ListResourcesMethod(std::vector<Device*> devices) {
  return {"/weir.StatusService/ListResources", [devices = std::move(devices)](ServerCall* call) {
            ServeMessage<ListResourcesRequest, ListResourcesResponse>(
                call, [&](const CallOptions&, auto messages, auto done) {
                  size_t room = kMaxBytes;
                  for (Device* device : devices) Describe(*device, &room, messages->response.add_device());
                  done(absl::OkStatus());
                });
          }};
}

ServerMethod ListGpusMethod(const std::vector<Device*>& devices) {
  std::vector<GpuDevice*> gpus;
  for (Device* device : devices) {
    if (auto* gpu = dynamic_cast<GpuDevice*>(device)) gpus.push_back(gpu);
  }
  return {"/weir.StatusService/ListGpus", [gpus = std::move(gpus)](ServerCall* call) {
            ServeMessage<ListGpusRequest, ListGpusResponse>(call, [&](const CallOptions&, auto messages, auto done) {
              for (GpuDevice* gpu : gpus) Describe(*gpu, messages->response.add_gpu());
              done(absl::OkStatus());
            });
          }};
}

}  // namespace weir
