// Times the nodes of one step, for TensorFlow's StepStats and CostGraphDef.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/mutex.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
#include "distribute/transport/transfer_log.h"
#include "tensorflow/core/framework/cost_graph.pb.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "worker/device_lane.h"
#include "worker/executor/step_execution.h"

namespace weir {

// The nodes of one device. Thread-safe. Keeps the first kMaxEvents runs of nodes, and counts those that a long loop
// adds.
class StatsCollector : public StepObserver {
 public:
  static constexpr size_t kMaxEvents = size_t{1} << 18;

  // For a step that begins now. `gpu`: the device, if it is a GPU; else null.
  StatsCollector(Device& device, const Plan& plan, GpuDevice* gpu);

  void NodeDone(const Node& node, int64_t start_nanos, int64_t end_nanos, absl::Span<const OpOutput> outputs) override;
  // Call after the step. Receives in `routes` are labelled with their route. GPU activity is a separate device, with
  // TensorFlow's name: "…/device:GPU:0/stream:all".
  void AddTo(const TransferLog::Routes& routes, tensorflow::StepStats* stats);
  void AddTo(tensorflow::CostGraphDef* costs);

 private:
  struct Output {
    DataType dtype = DT_INVALID;  // for missing values
    TensorShape shape;
    int64_t bytes = 0;
    absl::string_view allocator;
  };
  struct Event {
    const Node* node;
    int64_t start_nanos, end_nanos;
    uint64_t thread;
    absl::InlinedVector<Output, 2> outputs;
  };

  Output Describe(const OpOutput& output) const;
  void AddLaneTo(tensorflow::StepStats* stats);
  void AddMemoryTo(const Event& event, tensorflow::NodeExecStats* node) const;

  const std::string device_;
  const absl::string_view allocator_;  // the device's allocator name, which outlives this
  const Plan& plan_;
  const std::unique_ptr<DeviceLane> lane_;  // null without a GPU
  Mutex mu_;
  std::vector<Event> events_ GUARDED_BY(mu_);
  int64_t num_left_out_ GUARDED_BY(mu_) = 0;
  int64_t left_out_start_nanos_ GUARDED_BY(mu_) = 0, left_out_end_nanos_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
