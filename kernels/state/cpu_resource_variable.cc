// Variables that are named by a handle: VarHandleOp and what reads and assigns through one.
#include <atomic>

#include "kernels/state/family.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

// The shared_name that asks for a variable of its own at every execution.
constexpr char kAnonymousName[] = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

class VarHandleKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("container", &container_));
    RETURN_IF_ERROR(ctx.GetAttr("shared_name", &name_));
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_and_shape_.dtype));
    RETURN_IF_ERROR(ctx.GetAttr("shape", &dtype_and_shape_.shape));
    anonymous_ = name_ == kAnonymousName;
    if (anonymous_) {
      name_ = absl::StrCat("_AnonymousVar_", ctx.name());
    } else {
      if (name_.empty()) name_ = ctx.name();
      handle_ = MakeHandle(*ctx.device(), name_);
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    if (!anonymous_) {
      ctx.set_output(0, handle_);
      return absl::OkStatus();
    }
    const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    ctx.set_output(0, MakeHandle(*ctx.device(), absl::StrCat(name_, "_", ctx.step().step_id, "_", number)));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  Tensor MakeHandle(Device& device, absl::string_view name) const {
    ResourceHandle handle = device.resources()->MakeHandle<Variable>(
        device.name(), container_.empty() ? ResourceManager::kDefaultContainer : container_, name, "Var");
    handle.dtypes_and_shapes = {dtype_and_shape_};
    return Tensor::Scalar(std::move(handle));
  }

  std::string container_, name_;
  ResourceHandle::DtypeAndShape dtype_and_shape_;
  bool anonymous_ = false;
  Tensor handle_;
  std::atomic<uint64_t> next_{0};
};

class VarIsInitializedKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(HandleFromInput(ctx, 0).status());
    absl::StatusOr<std::shared_ptr<Variable>> variable = LookupVariable(ctx, 0);
    ctx.set_output(0, Tensor::Scalar(variable.ok() && (*variable)->is_initialized()));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class VariableShapeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, LookupVariable(ctx, 0));
    TensorShape shape;
    {
      std::lock_guard<std::mutex> lock(*variable->mutex());
      shape = variable->tensor()->shape();
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({shape.dims()})));
    for (int i = 0; i < shape.dims(); ++i) {
      if (output->dtype() == DT_INT64) {
        output->data<int64_t>()[i] = shape.dim_size(i);
      } else if (shape.dim_size(i) <= INT32_MAX) {
        output->data<int32_t>()[i] = static_cast<int32_t>(shape.dim_size(i));
      } else {
        return errors::InvalidArgument("VariableShape output 0 is int32, but dim ", i, " of the variable is ",
                                       shape.dim_size(i), ": set out_type to int64");
      }
    }
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class DestroyResourceKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    return ctx.GetAttr("ignore_lookup_error", &ignore_lookup_error_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    absl::Status status = ctx.resources()->Delete(*handle);
    if (ignore_lookup_error_ && status.code() == absl::StatusCode::kNotFound) return absl::OkStatus();
    return status;
  }

 private:
  bool ignore_lookup_error_ = true;
};

}  // namespace

absl::Status RegisterResourceVariableKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<VarHandleKernel>(Kernel("VarHandleOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<VarIsInitializedKernel>(Kernel("VarIsInitializedOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register(Kernel("ReadVariableOp").Cpu(), &NewReadVariable));
  RETURN_IF_ERROR(kernels.Register(Kernel("AssignVariableOp").Cpu(), &NewAssignVariable));
  RETURN_IF_ERROR(kernels.Register<VariableShapeKernel>(Kernel("VariableShape").Cpu()));
  return kernels.Register<DestroyResourceKernel>(Kernel("DestroyResourceOp").Cpu());
}

}  // namespace weir
