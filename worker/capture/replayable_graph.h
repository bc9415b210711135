// A captured part of a step, with its memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu_capture.h"
#include "core/gpu/gpu_memory_pool.h"
#include "core/kernel/op_kernel.h"
#include "core/mutex.h"
#include "worker/executor/plan.h"

namespace weir {

// What all captures of a segment share.
struct CaptureSource {
  GpuDevice* gpu = nullptr;
  std::shared_ptr<const Plan> plan;  // arguments and results are the segment's inputs and outputs
  std::vector<bool> input_is_on_host, output_is_on_host;
  std::string name;
  int warm_ups = 0;
};

// Thread-safe.
// - A replay copies inputs into the graph's own buffers and results out of them, all in the order of the compute
//   stream. So replays of several steps may be queued at once, and only the graph uses its memory.
// - Variables are read and written in place.
class ReplayableGraph {
 public:
  // Runs the plan's kernels under capture, without executing them. The graph is valid for inputs of these shapes, and
  // for these values of inputs in host memory. An error says why capture is impossible; nothing has changed then.
  static absl::StatusOr<std::unique_ptr<ReplayableGraph>> Capture(const CaptureSource& source, OpKernelContext& ctx);

  enum class Outcome {
    kDone,
    kShared,  // the value of a variable to be updated is in use elsewhere: nothing was enqueued
    kStale,   // a variable was moved or replaced: nothing was enqueued, now or ever again
  };
  // Enqueues the graph for a step and sets the outputs. An error is the step's error.
  absl::StatusOr<Outcome> Replay(OpKernelContext& ctx);

 private:
  // An input or output: in the graph's memory, in a variable's, or in host memory.
  struct Buffer {
    DataType dtype = DT_INVALID;
    TensorShape shape;
    void* data = nullptr;
    Tensor held;  // unset for variables
  };
  struct Variables;

  explicit ReplayableGraph(const CaptureSource& source);
  absl::Status AllocateInputs(OpKernelContext& ctx);
  absl::Status Run(OpKernelContext& ctx, std::vector<Tensor> arguments, std::vector<Tensor>* results);
  absl::Status FindVariables(const std::vector<GpuCapture::VariableUse>& uses, OpKernelContext& ctx);
  absl::Status KeepOutputs(std::vector<Tensor> results);
  // nullopt if all variables are unchanged.
  std::optional<Outcome> Check(const Variables& variables) const;
  absl::Status Enqueue(OpKernelContext& ctx, const std::vector<Tensor>& outputs);

  const CaptureSource& source_;
  GpuMemoryPool pool_;
  std::vector<Buffer> inputs_, outputs_;
  // The inputs that name variables, and the variables' state at capture.
  std::vector<std::pair<int, GpuCapture::VariableUse>> variables_;
  std::vector<std::shared_ptr<const void>> kept_;  // GpuCapture::Keep
  std::unique_ptr<GpuGraph> graph_;
  Mutex mu_;  // held while a replay is enqueued
};

}  // namespace weir
