// Variables in a GPU's memory, of both kinds: what changes them by a value, and their shapes.
#include <algorithm>

#include "absl/strings/match.h"
#include "core/gpu/gpu_capture.h"
#include "kernels/device/gpu/gpu_variable.h"
#include "kernels/elementwise/gpu_elementwise.h"
#include "kernels/state/family.h"

namespace weir {
namespace {

// As on the CPU, but reports its reads to a capture.
class ReadKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return read_->Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(read_->Compute(ctx));
    GpuCapture* const capture = GpuCapture::Current();
    if (capture == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
    const std::lock_guard<std::mutex> lock(*variable->mutex());
    if (ctx.mutable_output(0)->raw_data() != variable->tensor()->raw_data()) {
      return errors::FailedPrecondition("a variable got another value while its use was captured");
    }
    return capture->Use(*variable, /*updates=*/false);
  }
  bool IsExpensive() const override { return false; }

 private:
  const std::unique_ptr<OpKernel> read_ = NewReadVariable();
};

// The CPU's, which gives the variable the value's memory. A capture writes the value where the variable's is: the graph
// that comes of it finds the variable there when it runs again.
class AssignKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return assign_->Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (GpuCapture::Current() == nullptr) return assign_->Compute(ctx);
    const Tensor value = ctx.input(1);
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, value.dtype()));
    if (variable.value().shape() != value.shape()) {
      return errors::FailedPrecondition("a variable is assigned a value of another shape");
    }
    GpuStream& stream = GpuCapture::Current()->stream();
    RETURN_IF_ERROR(variable.PrepareToUpdate(ctx, stream));
    return stream.CopyOnDevice(variable.value().raw_data(), value.raw_data(), static_cast<size_t>(value.TotalBytes()));
  }
  bool IsExpensive() const override { return false; }

 private:
  const std::unique_ptr<OpKernel> assign_ = NewAssignVariable();
};

// Copies by the device.
class DeviceCopier : public VariableCopier {
 public:
  DeviceCopier(OpKernelContext& ctx, GpuDevice& gpu) : ctx_(ctx), gpu_(gpu) {}

  absl::StatusOr<Tensor> Clone(const Tensor& value) override {
    ASSIGN_OR_RETURN(Tensor copy, ctx_.allocate_temp(value.dtype(), value.shape()));
    if (value.NumElements() > 0) RETURN_IF_ERROR(Copy(copy, value));
    return copy;
  }
  absl::Status Overwrite(Tensor& target, const Tensor& value) override {
    ASSIGN_OR_RETURN(const auto lock, gpu_.LockCopies(target));
    return Copy(target, value);
  }

 private:
  absl::Status Copy(Tensor& to, const Tensor& from) {
    return gpu_.compute().CopyOnDevice(to.raw_data(), from.raw_data(), static_cast<size_t>(from.TotalBytes()));
  }

  OpKernelContext& ctx_;
  GpuDevice& gpu_;
};

class AssignReferenceKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override { return ctx.GetAttr("validate_shape", &validate_shape_); }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream&) override {
    DeviceCopier copier(ctx, gpu());
    return AssignReference(ctx, validate_shape_, copier);
  }

 private:
  bool validate_shape_ = true;
};

// AssignAdd and AssignSub, of references and of resources.
class AssignUpdateKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    dtype_ = ctx.input_types()[1];
    ASSIGN_OR_RETURN(kernel_, FindElementwise(absl::StrContains(ctx.op(), "Add") ? "AddV2" : "Sub", dtype_));
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor update = ctx.input(1);
    RETURN_IF_ERROR(Update(ctx, update, stream));
    ForwardReference(ctx);
    return absl::OkStatus();
  }

 private:
  absl::Status Update(OpKernelContext& ctx, const Tensor& update, GpuStream& stream) {
    ASSIGN_OR_RETURN(LockedGpuVariable variable, LockedGpuVariable::Lock(ctx, 0, dtype_));
    RETURN_IF_ERROR(CheckAssignUpdate(ctx, variable.value().shape(), update.shape()));
    if (update.NumElements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(variable.PrepareToUpdate(ctx, stream));
    void* const value = variable.value().raw_data();
    return stream.LaunchWith(kernel_,
                             ElementwiseArgs{.x = value,
                                             .y = update.raw_data(),
                                             .out = value,
                                             .count = update.NumElements(),
                                             .operands = static_cast<ElementType>(dtype_)},
                             {ReadOf(update), WriteOf(variable.value())});
  }

  DataType dtype_ = DT_INVALID;
  GpuKernel kernel_;
};

class VariableShapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, ctx.resources()->Lookup<Variable>(*handle));
    TensorShape shape;
    {
      std::lock_guard<std::mutex> lock(*variable->mutex());
      shape = variable->tensor()->shape();
    }
    const DataType type = ctx.expected_output_dtype(0);
    ASSIGN_OR_RETURN(Tensor output,
                     Tensor::Allocate(ctx.device()->host_allocator(), type, TensorShape({shape.dims()})));
    for (int i = 0; i < shape.dims(); ++i) {
      if (type == DT_INT64) {
        output.data<int64_t>()[i] = shape.dim_size(i);
      } else if (shape.dim_size(i) <= INT32_MAX) {
        output.data<int32_t>()[i] = static_cast<int32_t>(shape.dim_size(i));
      } else {
        return errors::InvalidArgument("VariableShape output 0 is int32, but dim ", i, " of the variable is ",
                                       shape.dim_size(i), ": set out_type to int64");
      }
    }
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

}  // namespace

absl::Status RegisterGpuVariableKernels(KernelRegistry& kernels) {
  DataTypeVector summed = GpuVariableTypes();
  summed.erase(std::find(summed.begin(), summed.end(), DT_BOOL));
  for (const char* op : {"AssignAddVariableOp", "AssignSubVariableOp"}) {
    RETURN_IF_ERROR(kernels.Register<AssignUpdateKernel>(
        Kernel(op).Device(kDeviceGpu).Types("dtype", summed).HostMemory("resource")));
  }
  for (const char* op : {"AssignAdd", "AssignSub"}) {
    RETURN_IF_ERROR(kernels.Register<AssignUpdateKernel>(Kernel(op).Device(kDeviceGpu).Types("T", summed)));
  }
  RETURN_IF_ERROR(
      kernels.Register<AssignReferenceKernel>(Kernel("Assign").Device(kDeviceGpu).Types("T", GpuVariableTypes())));
  RETURN_IF_ERROR(kernels.Register<ReadKernel>(
      Kernel("ReadVariableOp").Device(kDeviceGpu).Types("dtype", GpuVariableTypes()).HostMemory("resource")));
  RETURN_IF_ERROR(kernels.Register<AssignKernel>(
      Kernel("AssignVariableOp").Device(kDeviceGpu).Types("dtype", GpuVariableTypes()).HostMemory("resource")));
  return kernels.Register<VariableShapeKernel>(
      Kernel("VariableShape").Device(kDeviceGpu).HostMemory("input").HostMemory("output"));
}

}  // namespace weir
