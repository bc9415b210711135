#include "kernels/state/variable_kernels.h"

#include "core/kernel/variable.h"
#include "core/tensor/resource_handle.h"

namespace weir {
namespace {

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
      return errors::InvalidArgument("Trying to read variable with wrong dtype. Expected ", DataTypeName(dtype_),
                                     " got ", DataTypeName(value.dtype()));
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

}  // namespace

absl::StatusOr<const ResourceHandle*> HandleFromInput(const OpKernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() != DT_RESOURCE || input.NumElements() != 1) {
    return errors::InvalidArgument("Input ", i, " must be a resource handle, got ", input.DebugString());
  }
  return input.data<ResourceHandle>();
}

std::unique_ptr<OpKernel> NewReadVariable() { return std::make_unique<ReadVariableKernel>(); }
std::unique_ptr<OpKernel> NewAssignVariable() { return std::make_unique<AssignVariableKernel>(); }

}  // namespace weir
