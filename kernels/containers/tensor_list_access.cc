#include "kernels/containers/tensor_list_access.h"

#include <utility>

namespace weir {
namespace {

absl::StatusOr<const TensorList*> ListFrom(const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT || tensor.NumElements() != 1) {
    return errors::InvalidArgument("Input handle must be a scalar variant, saw: ", tensor.shape().ToString());
  }
  const Variant& variant = tensor.data<Variant>()[0];
  const TensorList* const list = variant.get<TensorList>();
  if (list != nullptr) return list;
  return errors::InvalidArgument("Input handle is not a list. Saw: '",
                                 variant.empty() ? "an empty variant" : variant.TypeName(), "'");
}

}  // namespace

absl::StatusOr<const TensorList*> ListInput(const OpKernelContext& ctx, int i) { return ListFrom(ctx.input(i)); }

void SetList(OpKernelContext& ctx, std::shared_ptr<TensorList> list) {
  ctx.set_output(0, Tensor::Scalar(Variant(std::move(list))));
}

absl::StatusOr<TensorList*> ForwardList(OpKernelContext& ctx) {
  RETURN_IF_ERROR(ListInput(ctx, 0).status());
  std::optional<Tensor> forwarded = ctx.forward_input(0, DT_VARIANT, TensorShape());
  ctx.set_output(
      0, forwarded.has_value() ? *std::move(forwarded) : Tensor::Scalar(Variant(ctx.input(0).data<Variant>()[0])));
  return ctx.mutable_output(0)->scalar<Variant>().get_mutable<TensorList>();
}

absl::Status CheckDtype(const TensorList& list, DataType dtype) {
  if (list.dtype == dtype) return absl::OkStatus();
  return errors::InvalidArgument("Invalid data types; op elements ", DataTypeName(dtype), " but list elements ",
                                 DataTypeName(list.dtype));
}

}  // namespace weir
