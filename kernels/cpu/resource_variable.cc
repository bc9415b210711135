// Variables that are named by a handle: VarHandleOp and what reads and assigns through one.
#include <atomic>

#include "kernels/cpu/state.h"
#include "kernels/cpu/variable_access.h"

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

class ReadVariableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("dtype", &dtype_); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    absl::StatusOr<std::shared_ptr<Variable>> found = ctx.resources()->Lookup<Variable>(*handle);
    if (!found.ok()) return Missing(*handle, found.status().message());
    Variable& variable = **found;
    Tensor value;
    {
      std::lock_guard<std::mutex> lock(*variable.mutex());
      if (!variable.is_initialized()) return Missing(*handle, "The variable exists, but has no value.");
      value = *variable.tensor();
    }
    if (value.dtype() != dtype_) {
      return errors::InvalidArgument("Trying to read variable ", handle->name, " with wrong dtype. Expected ",
                                     DataTypeName(value.dtype()), " got ", DataTypeName(dtype_));
    }
    ctx.set_output(0, std::move(value));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  static absl::Status Missing(const ResourceHandle& handle, absl::string_view why) {
    return errors::FailedPrecondition(
        "Could not find variable ", handle.name,
        ". This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized. "
        "Debug info: container=",
        handle.container, ", status error message=", why, ". Error while reading resource variable ", handle.name,
        " from Container: ", handle.container, ". This could mean that the variable was uninitialized.");
  }

  DataType dtype_ = DT_INVALID;
};

class AssignVariableKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("dtype", &dtype_));
    return ctx.GetAttr("validate_shape", &validate_shape_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& value = ctx.input(1);
    if (value.dtype() != dtype_) {
      return errors::InvalidArgument("Variable and value dtypes don't match; respectively, ", DataTypeName(dtype_),
                                     " and ", DataTypeName(value.dtype()));
    }
    ASSIGN_OR_RETURN(const ResourceHandle* handle, HandleFromInput(ctx, 0));
    ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, FindOrCreate(ctx, *handle));
    Tensor old = value;  // the old value's memory is given back after the lock
    std::lock_guard<std::mutex> lock(*variable->mutex());
    if (variable->dtype() != dtype_) {
      return errors::InvalidArgument("Trying to assign variable with wrong dtype. Expected ",
                                     DataTypeName(variable->dtype()), " got ", DataTypeName(dtype_));
    }
    if (validate_shape_ && variable->is_initialized() && variable->tensor()->shape() != value.shape()) {
      return errors::InvalidArgument("Trying to assign to variable with tensor with wrong shape. Expected ",
                                     variable->tensor()->shape().ToString(), " got ", value.shape().ToString());
    }
    std::swap(*variable->tensor(), old);
    variable->set_initialized(true);
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }

 private:
  absl::StatusOr<std::shared_ptr<Variable>> FindOrCreate(OpKernelContext& ctx, const ResourceHandle& handle) const {
    absl::StatusOr<std::shared_ptr<Variable>> found = ctx.resources()->Lookup<Variable>(handle);
    if (found.status().code() != absl::StatusCode::kNotFound) return found;
    return ctx.resources()->LookupOrCreate<Variable>(
        handle.container, handle.name,
        [this]() -> absl::StatusOr<std::shared_ptr<Variable>> { return std::make_shared<Variable>(dtype_); });
  }

  DataType dtype_ = DT_INVALID;
  bool validate_shape_ = false;
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
  RETURN_IF_ERROR(kernels.Register<ReadVariableKernel>(Kernel("ReadVariableOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<AssignVariableKernel>(Kernel("AssignVariableOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<VariableShapeKernel>(Kernel("VariableShape").Cpu()));
  return kernels.Register<DestroyResourceKernel>(Kernel("DestroyResourceOp").Cpu());
}

}  // namespace weir
