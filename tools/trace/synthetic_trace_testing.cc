#include "tools/trace/synthetic_trace_testing.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weir {

SyntheticTrace::SyntheticTrace() : trace_(kWorker) { trace_.tasks = {kPs, kPs1, kWorker, kWorker1}; }

void SyntheticTrace::Step(int64_t start, int64_t end) {
  TracedStep& step = trace_.steps.emplace_back();
  trace_.wanted = static_cast<int>(trace_.steps.size());
  step.set_step_id(static_cast<int64_t>(trace_.steps.size()));
  step.set_session("s");
  step.set_master(kWorker);
  step.set_start_nanos(start * 1000);
  step.set_end_nanos(end * 1000);
}

tensorflow::DeviceStepStats* SyntheticTrace::Device(const std::string& name) {
  tensorflow::StepStats& stats = *trace_.steps.back().mutable_stats();
  for (auto& device : *stats.mutable_dev_stats()) {
    if (device.device() == name) return &device;
  }
  stats.add_dev_stats()->set_device(name);
  return stats.mutable_dev_stats(stats.dev_stats_size() - 1);
}

tensorflow::NodeExecStats* SyntheticTrace::Node(const std::string& task, const std::string& name, const std::string& op,
                                                int64_t start, int64_t end, uint32_t thread) {
  tensorflow::NodeExecStats* const node = Device(task + "/device:CPU:0")->add_node_stats();
  node->set_node_name(name);
  node->set_timeline_label(absl::StrCat(name, " = ", op, "()"));
  node->set_all_start_nanos(start * 1000);
  node->set_all_end_rel_nanos((end - start) * 1000);
  node->set_thread_id(thread);
  return node;
}

void SyntheticTrace::Tensor(const std::string& from, const std::string& to, const std::string& tensor, int64_t sent,
                            int64_t start, int64_t end, int64_t bytes) {
  Node(from, tensor + "/_send", "_Send", sent - 1, sent)
      ->set_timeline_label(absl::StrCat(tensor, "/_send = _Send(", tensor, " @", to, "/device:CPU:0)"));
  tensorflow::NodeExecStats* const receive = Node(to, tensor + "/_recv", "_Recv", start, end);
  receive->set_timeline_label(
      absl::StrCat(tensor, "/_recv = _Recv(", tensor, " @", from, "/device:CPU:0) through a stream"));
  receive->add_output()->mutable_tensor_description()->mutable_allocation_description()->set_requested_bytes(bytes);
}

Timeline SyntheticTrace::Build() const { return BuildTimeline(trace_, ActivityForTest); }

Activity ActivityForTest(absl::string_view op) {
  if (op == "IteratorGetNext") return Activity::kInput;
  if (op == "CollectiveReduce") return Activity::kCollective;
  if (op == "QueueDequeue") return Activity::kWait;
  return op == "While" ? Activity::kCall : Activity::kCompute;
}

}  // namespace weir
