#include "worker/stats_collector.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/op/attr_value.h"
#include "core/rendezvous/rendezvous.h"
#include "graph/graph.h"

namespace weir {
namespace {

// From the steady clock to the time since the epoch, as MonotonicNow shows it: times of several steps stay comparable
// when the wall clock jumps.
int64_t EpochOffset() { return absl::ToUnixNanos(MonotonicNow()) - NowNanos(); }

// "name = Op(input, input:1)", and for a transfer "name = _Recv(tensor @device of the peer)", as in TensorFlow: tools
// parse it.
std::string Label(const Node& node) {
  if (std::string tensor, peer; (node.IsSend() || node.IsRecv()) &&
                                GetNodeAttr(node.def(), "tensor_name", &tensor).ok() &&
                                GetNodeAttr(node.def(), node.IsSend() ? "recv_device" : "send_device", &peer).ok()) {
    return absl::StrCat(node.name(), " = ", node.op(), "(", tensor, " @", peer, ")");
  }
  std::vector<std::string> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.input_edge(i);
    if (edge == nullptr) continue;
    inputs.push_back(edge->src_output == 0 ? edge->src->name()
                                           : absl::StrCat(edge->src->name(), ":", edge->src_output));
  }
  return absl::StrCat(node.name(), " = ", node.op(), "(", absl::StrJoin(inputs, ", "), ")");
}

// The route of a tensor that `node` received from another task; empty for other nodes.
std::string RouteOf(const Node& node, const TransferLog::Routes& routes) {
  std::string src, dst, name;
  int64_t incarnation = 0;
  if (routes.empty() || !node.IsRecv() || !GetNodeAttr(node.def(), "send_device", &src).ok() ||
      !GetNodeAttr(node.def(), "recv_device", &dst).ok() || !GetNodeAttr(node.def(), "tensor_name", &name).ok() ||
      !GetNodeAttr(node.def(), "send_device_incarnation", &incarnation).ok()) {
    return "";
  }
  const auto found = routes.find(RendezvousKey::Prefix(src, static_cast<uint64_t>(incarnation), dst, name));
  return found != routes.end() ? found->second : "";
}

void SetTimes(int64_t start_nanos, int64_t duration, tensorflow::NodeExecStats* node) {
  node->set_all_start_nanos(start_nanos);
  node->set_all_start_micros(start_nanos / 1000);
  node->set_op_end_rel_nanos(duration);
  node->set_all_end_rel_nanos(duration);
  node->set_op_end_rel_micros((duration + 999) / 1000);
  node->set_all_end_rel_micros((duration + 999) / 1000);
}

}  // namespace

StatsCollector::StatsCollector(Device& device, const Plan& plan, GpuDevice* gpu)
    : device_(device.name()),
      allocator_(device.allocator()->name()),
      plan_(plan),
      lane_(gpu != nullptr ? std::make_unique<DeviceLane>(*gpu, plan) : nullptr) {}

StatsCollector::Output StatsCollector::Describe(const OpOutput& output) const {
  Output described;
  if (!output.has_value || output.ref != nullptr) return described;
  const TensorBuffer* const buffer = output.value.buffer();
  const Allocator* const allocator = buffer != nullptr ? buffer->allocator() : nullptr;
  described.dtype = output.value.dtype();
  described.shape = output.value.shape();
  described.bytes = output.value.TotalBytes();
  described.allocator = allocator != nullptr ? allocator->name() : allocator_;
  return described;
}

void StatsCollector::NodeDone(const Node& node, int64_t start_nanos, int64_t end_nanos,
                              absl::Span<const OpOutput> outputs) {
  Event event{&node, start_nanos, end_nanos, std::hash<std::thread::id>()(std::this_thread::get_id()), {}};
  if (lane_ != nullptr) lane_->NodeDone(node, start_nanos);
  for (const OpOutput& output : outputs) event.outputs.push_back(Describe(output));
  MutexLock lock(mu_);
  if (events_.size() < kMaxEvents) {
    events_.push_back(std::move(event));
  } else {
    left_out_end_nanos_ = std::max(left_out_end_nanos_, end_nanos);
    if (num_left_out_++ == 0) left_out_start_nanos_ = start_nanos;
  }
}

void StatsCollector::AddTo(const TransferLog::Routes& routes, tensorflow::StepStats* stats) {
  if (lane_ != nullptr) AddLaneTo(stats);
  const int64_t offset = EpochOffset();
  tensorflow::DeviceStepStats* device = stats->add_dev_stats();
  device->set_device(device_);
  MutexLock lock(mu_);
  absl::flat_hash_map<uint64_t, uint32_t> threads;
  for (const Event& event : events_) {
    tensorflow::NodeExecStats* node = device->add_node_stats();
    node->set_node_name(event.node->name());
    SetTimes(event.start_nanos + offset, event.end_nanos - event.start_nanos, node);
    const std::string route = RouteOf(*event.node, routes);
    node->set_timeline_label(absl::StrCat(Label(*event.node), route.empty() ? "" : " ", route));
    node->set_thread_id(threads.try_emplace(event.thread, threads.size()).first->second);
    AddMemoryTo(event, node);
  }
  if (num_left_out_ == 0) return;
  tensorflow::NodeExecStats* node = device->add_node_stats();
  node->set_node_name(absl::StrCat(num_left_out_, " more nodes"));
  node->set_timeline_label(node->node_name());
  SetTimes(left_out_start_nanos_ + offset, left_out_end_nanos_ - left_out_start_nanos_, node);
}

// The timelines of TensorFlow's client group memory by allocator name.
void StatsCollector::AddMemoryTo(const Event& event, tensorflow::NodeExecStats* node) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < event.outputs.size(); ++i) {
    const Output& described = event.outputs[i];
    bytes += described.bytes;
    tensorflow::NodeOutput* output = node->add_output();
    output->set_slot(static_cast<int>(i));
    if (described.dtype == DT_INVALID) continue;
    tensorflow::TensorDescription* tensor = output->mutable_tensor_description();
    tensor->set_dtype(static_cast<tensorflow::DataType>(described.dtype));
    described.shape.ToProto(tensor->mutable_shape());
    tensor->mutable_allocation_description()->set_requested_bytes(described.bytes);
    tensor->mutable_allocation_description()->set_allocator_name(std::string(described.allocator));
  }
  tensorflow::AllocatorMemoryUsed* memory = node->add_memory();
  memory->set_allocator_name(std::string(allocator_));
  memory->set_total_bytes(bytes);
  memory->set_peak_bytes(bytes);
  memory->set_live_bytes(bytes);
}

void StatsCollector::AddLaneTo(tensorflow::StepStats* stats) {
  const absl::StatusOr<std::vector<DeviceLane::Span>> spans = lane_->Spans();
  if (!spans.ok()) {
    WEIR_LOG(WARNING).With("device", device_).With("reason", spans.status().message()) << "a trace lacks GPU times";
    return;
  }
  const int64_t offset = EpochOffset();
  tensorflow::DeviceStepStats* lane = stats->add_dev_stats();
  lane->set_device(absl::StrCat(device_, "/stream:all"));
  for (const DeviceLane::Span& span : *spans) {
    tensorflow::NodeExecStats* node = lane->add_node_stats();
    // The form that TensorFlow's tools expect.
    node->set_node_name(span.node == nullptr ? span.what : absl::StrCat(span.node->name(), ":", span.node->op()));
    node->set_timeline_label(span.what.empty() ? Label(*span.node) : span.what);
    node->set_thread_id(span.stream);
    SetTimes(span.start_nanos + offset, span.end_nanos - span.start_nanos, node);
  }
}

void StatsCollector::AddTo(tensorflow::CostGraphDef* costs) {
  MutexLock lock(mu_);
  absl::flat_hash_map<const Node*, int64_t> nanos;
  for (const Event& event : events_) nanos[event.node] += event.end_nanos - event.start_nanos;
  for (const Node* node : plan_.graph->nodes()) {
    tensorflow::CostGraphDef::Node* cost = costs->add_node();
    cost->set_name(node->name());
    cost->set_device(device_);
    cost->set_id(node->id());
    for (const Edge* edge : node->in_edges()) {
      if (edge->is_control()) {
        cost->add_control_input(edge->src->id());
      } else {
        auto* input = cost->add_input_info();
        input->set_preceding_node(edge->src->id());
        input->set_preceding_port(edge->src_output);
      }
    }
    if (auto it = nanos.find(node); it != nanos.end()) cost->set_compute_cost(it->second / 1000);
  }
}

}  // namespace weir
