#include "kernels/device/wide.h"

#include "kernels/elementwise/cast/cpu_cast.h"

namespace weir {

DataType WideType(DataType type) { return type == DT_HALF || type == DT_BFLOAT16 ? DT_FLOAT : type; }

absl::StatusOr<Tensor> ConvertTensor(OpKernelContext& ctx, const Tensor& tensor, DataType type) {
  if (tensor.dtype() == type) return tensor;
  const CastLoop cast = FindCast(tensor.dtype(), type);
  if (cast == nullptr) {
    return errors::Unimplemented("Cannot convert ", DataTypeName(tensor.dtype()), " to ", DataTypeName(type));
  }
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(type, tensor.shape()));
  cast(tensor.raw_data(), result.raw_data(), tensor.NumElements());
  return result;
}

absl::StatusOr<Tensor> Widen(OpKernelContext& ctx, const Tensor& tensor) {
  return ConvertTensor(ctx, tensor, WideType(tensor.dtype()));
}

absl::StatusOr<WideOutput> WideOutput::Allocate(OpKernelContext& ctx, int i, const TensorShape& shape) {
  WideOutput output;
  output.index_ = i;
  ASSIGN_OR_RETURN(output.tensor_, ctx.allocate_temp(WideType(ctx.expected_output_dtype(i)), shape));
  return output;
}

absl::Status WideOutput::Finish(OpKernelContext& ctx) {
  ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, tensor_, ctx.expected_output_dtype(index_)));
  ctx.set_output(index_, std::move(narrow));
  return absl::OkStatus();
}

}  // namespace weir
