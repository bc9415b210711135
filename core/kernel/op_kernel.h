// The interface of kernels. Free of protobuf, so that a kernel file compiles in a second or two.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/api.h"
#include "core/device/device.h"
#include "core/device/resource_manager.h"
#include "core/rendezvous/rendezvous.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace tensorflow {
class AttrValue;
class NodeDef;
class OpDef;
}  // namespace tensorflow

namespace WEIR_API weir {

class FunctionRuntime;
class OpKernelContext;
class StepCommit;  // core/kernel/step_commit.h
class StepContainer;

// A kernel's node and device during construction. Input and output types are resolved.
class OpKernelConstruction {
 public:
  OpKernelConstruction(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def, Device* device,
                       DataTypeVector input_types, DataTypeVector output_types, FunctionRuntime* functions);

  const std::string& name() const;
  const std::string& op() const;
  const tensorflow::NodeDef& node_def() const { return node_; }
  const tensorflow::OpDef& op_def() const { return op_def_; }
  Device* device() const { return device_; }
  FunctionRuntime* functions() const { return functions_; }
  const DataTypeVector& input_types() const { return input_types_; }
  const DataTypeVector& output_types() const { return output_types_; }

  bool HasAttr(absl::string_view name) const;
  // InvalidArgument, naming node and attr, if it is missing or has another type. V is one of: std::string, int64_t,
  // int32_t, float, bool, DataType, TensorShape, PartialTensorShape, Tensor, std::vector of the first seven
  // (DataTypeVector for types), tensorflow::NameAttrList, std::vector<tensorflow::NameAttrList>.
  template <typename V>
  absl::Status GetAttr(absl::string_view name, V* value) const;

 private:
  const tensorflow::NodeDef& node_;
  const tensorflow::OpDef& op_def_;
  Device* const device_;
  const DataTypeVector input_types_, output_types_;
  FunctionRuntime* const functions_;
};

// One node's computation on one device. Init runs once, then Compute runs in many steps and threads concurrently: a
// kernel has no mutable state outside of resources unless it synchronises it.
class OpKernel {
 public:
  virtual ~OpKernel() = default;

  // Reads and checks attributes. Called once, before anything else.
  virtual absl::Status Init(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  // Must not block on other nodes, on the network or on disk. Must check shapes, types and indices of inputs: inputs
  // can be fed, so it must not rely on shape inference.
  virtual absl::Status Compute(OpKernelContext& ctx) = 0;

  // False if it is cheap and never blocks: the executor runs it inline. Otherwise its measured cost decides.
  virtual bool IsExpensive() const { return true; }
};

// A kernel that completes asynchronously (a receive, a dequeue, a function call).
class AsyncOpKernel : public OpKernel {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // Returns at once. `done` runs exactly once, when the outputs are set, on any thread, with no lock held. `ctx` lives
  // until then. Cancellation must lead to `done` promptly. May throw std::bad_alloc, but only before it has passed
  // `done` on.
  virtual void ComputeAsync(OpKernelContext& ctx, DoneCallback done) = 0;
  // Runs ComputeAsync and waits; for tests and for callers that may block.
  absl::Status Compute(OpKernelContext& ctx) final;
};

// An input: a tensor and, for a reference type, the mutex that guards it.
struct TensorValue {
  Tensor* tensor = nullptr;  // nullptr: dead or absent (Merge)
  std::mutex* ref_mutex = nullptr;
  bool is_ref() const { return ref_mutex != nullptr; }
};

// An output: a value, or a reference to a variable's tensor. If neither is set, the output is dead (Switch).
struct OpOutput {
  Tensor value;
  Tensor* ref = nullptr;
  std::mutex* ref_mutex = nullptr;
  bool has_value = false;  // value or ref is set
};

// Arguments and results of a call, for _Arg and _Retval. Distinct indices may be used from any threads.
class CallFrame {
 public:
  virtual ~CallFrame() = default;
  virtual absl::StatusOr<Tensor> GetArg(int index) = 0;
  virtual absl::Status SetRetval(int index, const Tensor& value) = 0;
};

// Values kept between the steps of one session (GetSessionHandle). Thread-safe.
class SessionState;

// Shared by all nodes of a step on one device. Pointers are owned by the step and outlive its kernels' calls.
struct StepContext {
  int64_t step_id = 0;
  Device* device = nullptr;
  Rendezvous* rendezvous = nullptr;
  CancellationManager* cancellation = nullptr;
  StepContainer* step_container = nullptr;  // resources that are destroyed with the step
  CallFrame* call_frame = nullptr;
  FunctionRuntime* functions = nullptr;
  SessionState* session_state = nullptr;
  StepCommit* commit = nullptr;  // null: the step's updates take effect as they run
  int call_depth = 0;            // depth of nested function calls
  std::string session_handle;
};

// One call of one kernel. Not thread-safe.
class OpKernelContext {
 public:
  OpKernelContext(const StepContext* step, const tensorflow::NodeDef* node, absl::Span<const TensorValue> inputs,
                  absl::Span<const DataType> output_types, absl::Span<OpOutput> outputs, FrameAndIter frame_iter = {},
                  bool is_input_dead = false)
      : step_(step),
        node_(node),
        inputs_(inputs),
        output_types_(output_types),
        outputs_(outputs),
        frame_iter_(frame_iter),
        is_input_dead_(is_input_dead) {}
  OpKernelContext(const OpKernelContext&) = delete;

  const StepContext& step() const { return *step_; }
  Device* device() const { return step_->device; }
  Allocator* allocator() const { return step_->device->allocator(); }
  WorkQueue* work_queue() const { return step_->device->work_queue(); }
  ResourceManager* resources() const { return step_->device->resources(); }
  Rendezvous* rendezvous() const { return step_->rendezvous; }
  CancellationManager* cancellation() const { return step_->cancellation; }
  const tensorflow::NodeDef& node_def() const { return *node_; }
  FrameAndIter frame_iter() const { return frame_iter_; }
  bool is_input_dead() const { return is_input_dead_; }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return inputs_[i].tensor != nullptr; }
  bool input_is_ref(int i) const { return inputs_[i].is_ref(); }
  // The value of input i. For a reference it reads without the mutex; use locked_input if a writer may be active.
  const Tensor& input(int i) const { return *inputs_[i].tensor; }
  DataType input_dtype(int i) const { return inputs_[i].tensor->dtype(); }
  // A copy (of the handle, not the bytes) taken under the reference's mutex if there is one.
  Tensor locked_input(int i) const;
  // Reference inputs: the variable's tensor, to be read or replaced with the mutex held.
  Tensor* ref_input(int i) const { return inputs_[i].tensor; }
  std::mutex* ref_mutex(int i) const { return inputs_[i].ref_mutex; }

  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  DataType expected_output_dtype(int i) const { return output_types_[i]; }
  // Uninitialised memory of the output's type. RESOURCE_EXHAUSTED names node and size.
  absl::StatusOr<Tensor*> allocate_output(int i, const TensorShape& shape);
  // As above, but reuses the buffer of the first listed input that is not shared and has the same dtype and number of
  // bytes. The kernel must allow its output to overwrite that input.
  absl::StatusOr<Tensor*> forward_input_or_allocate_output(std::initializer_list<int> candidates, int i,
                                                           const TensorShape& shape);
  // Whether input i's buffer is unshared and of that type, so that the kernel may overwrite it; if so its tensor is
  // moved out.
  std::optional<Tensor> forward_input(int i, DataType dtype, const TensorShape& shape);
  absl::StatusOr<Tensor> allocate_temp(DataType dtype, const TensorShape& shape) const;
  void set_output(int i, Tensor value);
  void set_output_ref(int i, std::mutex* mutex, Tensor* tensor);
  // Forwards a reference input as a reference output.
  void forward_ref_input_to_ref_output(int input, int output);
  bool has_output(int i) const { return outputs_[i].has_value; }
  Tensor* mutable_output(int i) { return &outputs_[i].value; }

 private:
  absl::Status AllocationError(const absl::Status& status) const;

  const StepContext* const step_;
  const tensorflow::NodeDef* const node_;
  const absl::Span<const TensorValue> inputs_;
  const absl::Span<const DataType> output_types_;
  const absl::Span<OpOutput> outputs_;
  const FrameAndIter frame_iter_;
  const bool is_input_dead_;
};

// Resources that live as long as one step (temporary variables, stacks, tensor arrays). Thread-safe.
class StepContainer {
 public:
  StepContainer(int64_t step_id, Device* device);
  // Removes the step's remaining resources.
  ~StepContainer();
  // The container's name in the device's ResourceManager.
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  Device* const device_;
};

}  // namespace weir
