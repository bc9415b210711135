#include "kernels/state/reference_variables.h"

#include <optional>
#include <utility>

namespace weir {

bool ReadersSeeUpdates(const Tensor& value) {
  if (IsFloating(value.dtype()) || IsComplex(value.dtype())) return true;
  return IsPlainType(value.dtype()) && value.NumElements() == 1;
}

namespace {

// A value that updates may change in place must be the variable's own.
absl::StatusOr<Tensor> ValueToKeep(OpKernelContext& ctx, VariableCopier& copier) {
  if (!ctx.input_is_ref(1)) {
    std::optional<Tensor> own = ctx.forward_input(1, ctx.input(1).dtype(), ctx.input(1).shape());
    if (own.has_value()) return *std::move(own);
  }
  const Tensor value = ctx.locked_input(1);
  if (!value.IsInitialized()) return errors::Internal("Right hand side of AssignOp is not initialized");
  if (ReadersSeeUpdates(value)) return copier.Clone(value);
  return value;
}

// After it `value` may hold what was there before, to be freed without the lock.
absl::Status Replace(Tensor& target, Tensor& value, bool validate_shape, VariableCopier& copier) {
  if (target.dtype() != value.dtype()) {
    return errors::InvalidArgument("Assign requires types of both tensors to match. lhs type= ",
                                   DataTypeName(target.dtype()), " rhs type= ", DataTypeName(value.dtype()));
  }
  if (validate_shape && target.shape() != value.shape()) {
    return errors::InvalidArgument("Assign requires shapes of both tensors to match. lhs shape= ",
                                   target.shape().ToString(), " rhs shape= ", value.shape().ToString());
  }
  const bool has_readers = target.IsInitialized() && !target.RefCountIsOne();
  if (has_readers && ReadersSeeUpdates(target) && target.shape() == value.shape()) {
    return value.TotalBytes() > 0 ? copier.Overwrite(target, value) : absl::OkStatus();
  }
  std::swap(target, value);
  return absl::OkStatus();
}

}  // namespace

absl::Status AssignReference(OpKernelContext& ctx, bool validate_shape, VariableCopier& copier) {
  if (!ctx.input_is_ref(0)) return errors::InvalidArgument("lhs input needs to be a ref type");
  ASSIGN_OR_RETURN(Tensor value, ValueToKeep(ctx, copier));
  {
    std::lock_guard<std::mutex> lock(*ctx.ref_mutex(0));
    RETURN_IF_ERROR(Replace(*ctx.ref_input(0), value, validate_shape, copier));
  }
  ctx.forward_ref_input_to_ref_output(0, 0);
  return absl::OkStatus();
}

absl::Status CheckAssignUpdate(const OpKernelContext& ctx, const TensorShape& variable, const TensorShape& update) {
  if (variable == update) return absl::OkStatus();
  if (ctx.input_is_ref(0)) {
    return errors::InvalidArgument("Parameters and update must be the same size: ", variable.ToString(), " and ",
                                   update.ToString());
  }
  return errors::InvalidArgument("Cannot update variable with shape ", variable.ToString(),
                                 " using a Tensor with shape ", update.ToString(), ", shapes must be equal.");
}

}  // namespace weir
