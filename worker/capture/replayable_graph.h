// A part of a step that a GPU has captured, with the memory that it works on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu_capture.h"
#include "core/gpu/gpu_memory_pool.h"
#include "core/mutex.h"
#include "core/op_kernel.h"
#include "worker/plan.h"

namespace weir {

// What a segment of a graph is made of, for all its captures.
struct CaptureSource {
  GpuDevice* gpu = nullptr;
  std::shared_ptr<const Plan> plan;  // arguments and results are the segment's inputs and outputs
  std::vector<bool> input_is_on_host, output_is_on_host;
  std::string name;
  int warm_ups = 0;
};

// Thread-safe. What it reads lies in buffers of its own, into which a replay copies the inputs, and what it gives is
// copied out of them behind it, all in the order of the compute stream: so that replays of several steps may be
// enqueued one behind the other, and nobody but the graph ever sees its memory. Variables it reads and writes where
// they are.
class ReplayableGraph {
 public:
  // Runs the plan's kernels so that they are captured, and nothing else happens. For inputs of these shapes, and with
  // the values of those in host memory as they are. An error says why that cannot be; nothing has been changed then.
  static absl::StatusOr<std::unique_ptr<ReplayableGraph>> Capture(const CaptureSource& source, OpKernelContext& ctx);

  enum class Outcome {
    kDone,
    kShared,  // somebody holds the value of a variable that is to be updated: nothing was enqueued
    kStale,   // a variable has moved, or is another one: nothing was enqueued, and nothing ever will be
  };
  // Enqueues the graph for a step, and sets the outputs. An error is the step's.
  absl::StatusOr<Outcome> Replay(OpKernelContext& ctx);

 private:
  // An input or output in the graph's memory, in a variable's, or in the host's.
  struct Buffer {
    DataType dtype = DT_INVALID;
    TensorShape shape;
    void* data = nullptr;
    Tensor held;  // not where it is a variable's
  };
  struct Variables;

  explicit ReplayableGraph(const CaptureSource& source);
  absl::Status AllocateInputs(OpKernelContext& ctx);
  absl::Status Run(OpKernelContext& ctx, std::vector<Tensor> arguments, std::vector<Tensor>* results);
  absl::Status FindVariables(const std::vector<GpuCapture::VariableUse>& uses, OpKernelContext& ctx);
  absl::Status KeepOutputs(std::vector<Tensor> results);
  // nullopt where all are as they were.
  std::optional<Outcome> Check(const Variables& variables) const;
  absl::Status Enqueue(OpKernelContext& ctx, const std::vector<Tensor>& outputs);

  const CaptureSource& source_;
  GpuMemoryPool pool_;
  std::vector<Buffer> inputs_, outputs_;
  // Which input names a variable, and how that was.
  std::vector<std::pair<int, GpuCapture::VariableUse>> variables_;
  std::vector<std::shared_ptr<const void>> kept_;  // GpuCapture::Keep
  std::unique_ptr<GpuGraph> graph_;
  Mutex mu_;  // held while a replay is enqueued
};

}  // namespace weir
