#include "core/kernel/op_kernel.h"

#include <condition_variable>
#include <mutex>

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {

OpKernelConstruction::OpKernelConstruction(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def,
                                           Device* device, DataTypeVector input_types, DataTypeVector output_types,
                                           FunctionRuntime* functions)
    : node_(node),
      op_def_(op_def),
      device_(device),
      input_types_(std::move(input_types)),
      output_types_(std::move(output_types)),
      functions_(functions) {}

const std::string& OpKernelConstruction::name() const { return node_.name(); }
const std::string& OpKernelConstruction::op() const { return node_.op(); }
bool OpKernelConstruction::HasAttr(absl::string_view name) const { return FindAttr(node_, name) != nullptr; }

template <typename V>
absl::Status OpKernelConstruction::GetAttr(absl::string_view name, V* value) const {
  return GetNodeAttr(node_, name, value);
}

#define WEIR_GET_ATTR(V)                                                                                            \
  template __attribute__((visibility("default"))) absl::Status OpKernelConstruction::GetAttr(absl::string_view, V*) \
      const;                                                                                                        \
  template __attribute__((visibility("default"))) absl::Status OpKernelConstruction::GetAttr(absl::string_view,     \
                                                                                             std::vector<V>*) const;
WEIR_GET_ATTR(std::string)
WEIR_GET_ATTR(int64_t)
WEIR_GET_ATTR(int32_t)
WEIR_GET_ATTR(float)
WEIR_GET_ATTR(bool)
WEIR_GET_ATTR(DataType)
WEIR_GET_ATTR(TensorShape)
WEIR_GET_ATTR(PartialTensorShape)
WEIR_GET_ATTR(Tensor)
WEIR_GET_ATTR(tensorflow::NameAttrList)
template __attribute__((visibility("default"))) absl::Status OpKernelConstruction::GetAttr(absl::string_view,
                                                                                           DataTypeVector*) const;

absl::Status AsyncOpKernel::Compute(OpKernelContext& ctx) {
  struct {
    std::mutex mu;
    std::condition_variable cv;
    bool done = false;
    absl::Status status;
  } call;
  ComputeAsync(ctx, [&call](absl::Status status) {
    // Held while notifying: the waiter destroys `call` as soon as it sees `done`.
    std::lock_guard<std::mutex> lock(call.mu);
    call.status = std::move(status);
    call.done = true;
    call.cv.notify_one();
  });
  std::unique_lock<std::mutex> lock(call.mu);
  call.cv.wait(lock, [&call] { return call.done; });
  return std::move(call.status);
}

Tensor OpKernelContext::locked_input(int i) const {
  const TensorValue& input = inputs_[i];
  if (!input.is_ref()) return *input.tensor;
  std::lock_guard<std::mutex> lock(*input.ref_mutex);
  return *input.tensor;
}

absl::Status OpKernelContext::AllocationError(const absl::Status& status) const {
  return WithOrigin(absl::Status(status.code(), absl::StrCat(status.message(), " for {{node ", node_->name(), "}}")),
                    ErrorOrigin{.device = device()->name(), .node = node_->name(), .op = node_->op()});
}

absl::StatusOr<Tensor*> OpKernelContext::allocate_output(int i, const TensorShape& shape) {
  OpOutput& output = outputs_[i];
  if (absl::Status status = output.value.Reset(allocator(), RemoveRef(output_types_[i]), shape); !status.ok()) {
    return AllocationError(status);
  }
  output.has_value = true;
  return &output.value;
}

absl::StatusOr<Tensor*> OpKernelContext::forward_input_or_allocate_output(std::initializer_list<int> candidates, int i,
                                                                          const TensorShape& shape) {
  for (int candidate : candidates) {
    std::optional<Tensor> forwarded = forward_input(candidate, RemoveRef(output_types_[i]), shape);
    if (!forwarded) continue;
    outputs_[i].value = *std::move(forwarded);
    outputs_[i].has_value = true;
    return &outputs_[i].value;
  }
  return allocate_output(i, shape);
}

std::optional<Tensor> OpKernelContext::forward_input(int i, DataType dtype, const TensorShape& shape) {
  const TensorValue& input = inputs_[i];
  if (input.tensor == nullptr || input.is_ref()) return std::nullopt;
  Tensor& tensor = *input.tensor;
  if (tensor.dtype() != dtype || tensor.NumElements() != shape.num_elements() || !tensor.RefCountIsOne() ||
      !tensor.IsAligned()) {
    return std::nullopt;
  }
  return std::move(tensor).TakeAs(shape);
}

absl::StatusOr<Tensor> OpKernelContext::allocate_temp(DataType dtype, const TensorShape& shape) const {
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(allocator(), dtype, shape);
  if (!tensor.ok()) return AllocationError(tensor.status());
  return tensor;
}

void OpKernelContext::set_output(int i, Tensor value) {
  outputs_[i].value = std::move(value);
  outputs_[i].has_value = true;
}

void OpKernelContext::set_output_ref(int i, std::mutex* mutex, Tensor* tensor) {
  outputs_[i].ref = tensor;
  outputs_[i].ref_mutex = mutex;
  outputs_[i].has_value = true;
}

void OpKernelContext::forward_ref_input_to_ref_output(int input, int output) {
  set_output_ref(output, inputs_[input].ref_mutex, inputs_[input].tensor);
}

}  // namespace weir
