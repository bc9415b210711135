// Stacks: what the forward pass of a loop keeps for the backward pass.
#include <atomic>

#include "core/gpu/cancellable_copy.h"
#include "core/gpu/gpu_op_kernel.h"
#include "core/tensor/index_tensor.h"
#include "kernels/containers/family.h"
#include "kernels/containers/sequence_memory.h"
#include "kernels/containers/stack.h"
#include "kernels/device/named_resource.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

class StackKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("elem_type", &type_));
    RETURN_IF_ERROR(ctx.GetAttr("stack_name", &name_));
    if (name_.empty()) name_ = ctx.name();
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    int64_t max_size = -1;
    if (ctx.num_inputs() == 0) return SetReference(ctx);
    ASSIGN_OR_RETURN(max_size, ReadInteger(ctx.input(0), "max_size"));
    auto stack = std::make_shared<Stack>(name_, type_, max_size);
    ctx.set_output(0, Tensor::Scalar(OwningHandle(ctx, std::move(stack), name_, "Stack")));
    return absl::OkStatus();
  }

 private:
  // The first version's stacks live as long as the step.
  absl::Status SetReference(OpKernelContext& ctx) {
    const std::string& container = ctx.step().step_container->name();
    const std::string name = absl::StrCat(name_, "_", next_.fetch_add(1, std::memory_order_relaxed));
    auto stack = std::make_shared<Stack>(name_, type_, /*max_size=*/-1);
    *stack->reference() = Tensor::Vector<tstring>({container, name});
    RETURN_IF_ERROR(ctx.resources()->Create(container, name, stack));
    ctx.set_output_ref(0, stack->reference_mutex(), stack->reference());
    return absl::OkStatus();
  }

  DataType type_ = DT_INVALID;
  std::string name_;
  std::atomic<int64_t> next_{0};
};

class StackPushKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    RETURN_IF_ERROR(stack->Push({ctx.input(1)}));
    ctx.set_output(0, ctx.input(1));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class StackPopKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    ASSIGN_OR_RETURN(Stack::Value value, PopFor(ctx, *stack));
    ctx.set_output(0, std::move(value.tensor));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

// On a GPU a tensor may wait in host memory while others need the device's.
class GpuStackPushKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    device_ = FindGpu(ctx.device());
    if (device_ == nullptr) return errors::Internal("Node '", ctx.name(), "' is not on a GPU");
    return ctx.GetAttr("swap_memory", &swaps_);
  }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    absl::StatusOr<std::shared_ptr<Stack>> stack = FindStack(ctx);
    if (!stack.ok()) return done(stack.status());
    const Tensor value = ctx.input(1);
    if (!swaps_ || !IsWorthSwapping(**stack, value)) {
      ctx.set_output(0, value);
      return done((*stack)->Push({value}));
    }
    const GpuAllocationScope scope(ctx.node_def().name());
    CopyToHost(*device_, ctx.cancellation(), value,
               [&ctx, value, stack = *std::move(stack), done = std::move(done)](absl::StatusOr<Tensor> host) {
                 if (!host.ok()) return done(host.status());
                 ctx.set_output(0, value);
                 done(stack->Push({*std::move(host), /*is_swapped=*/true}));
               });
  }
  bool IsExpensive() const override { return false; }

 private:
  // TensorFlow's thresholds: a tensor of more bytes than these, while more of the memory than this share is in use.
  static constexpr int64_t kMinBytes = 2048;
  static constexpr double kFullness = 0.7;

  bool IsWorthSwapping(const Stack& stack, const Tensor& value) const {
    if (StaysOnHostInVariants(value.dtype()) || value.dtype() == DT_VARIANT) return false;
    if (value.TotalBytes() <= kMinBytes || !stack.IsUsefulToSwap(value)) return false;
    const GpuAllocator& memory = device_->memory();
    return static_cast<double>(memory.Stats().bytes_in_use) > kFullness * static_cast<double>(memory.options().limit);
  }

  GpuDevice* device_ = nullptr;
  bool swaps_ = false;
};

class GpuStackPopKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream&) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    ASSIGN_OR_RETURN(Stack::Value value, PopFor(ctx, *stack));
    if (value.is_swapped) {
      ASSIGN_OR_RETURN(value.tensor, gpu().ToDevice(value.tensor));
    }
    ctx.set_output(0, std::move(value.tensor));
    return absl::OkStatus();
  }
};

class StackCloseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Stack> stack, FindStack(ctx));
    stack->Close();
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterStackKernels(KernelRegistry& kernels) {
  for (const std::string version : {"", "V2"}) {
    const auto on = [&version](const char* op) { return Kernel(op + version).Cpu(); };
    RETURN_IF_ERROR(kernels.Register<StackKernel>(on("Stack")));
    RETURN_IF_ERROR(kernels.Register<StackPushKernel>(on("StackPush")));
    RETURN_IF_ERROR(kernels.Register<StackPopKernel>(on("StackPop")));
    RETURN_IF_ERROR(kernels.Register<StackCloseKernel>(on("StackClose")));
  }
  const auto on_gpu = [](const char* op) { return Kernel(op).Device(kDeviceGpu).HostMemory("handle"); };
  const auto typed = [&on_gpu](const char* op, const char* attr) {
    return on_gpu(op).Types(attr, kGpuSequenceTypes).HostMemory(kInt32Arguments);
  };
  RETURN_IF_ERROR(kernels.Register<StackKernel>(typed("StackV2", "elem_type")));
  RETURN_IF_ERROR(kernels.Register<GpuStackPushKernel>(typed("StackPushV2", "T")));
  RETURN_IF_ERROR(kernels.Register<GpuStackPopKernel>(typed("StackPopV2", "elem_type")));
  return kernels.Register<StackCloseKernel>(on_gpu("StackCloseV2"));
}

}  // namespace weir
