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

absl::StatusOr<PartialTensorShape> KnownElementShape(const TensorList& list, const PartialTensorShape& argument) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, argument.MergeWith(list.element_shape));
  if (shape.IsFullyDefined()) return shape;
  for (const std::optional<Tensor>& element : list.elements) {
    if (element.has_value()) {
      ASSIGN_OR_RETURN(shape, shape.MergeWith(element->shape()));
    }
  }
  return shape;
}

absl::StatusOr<Tensor> ElementOrZeros(const OpKernelContext& ctx, const SequenceMemory& memory, const TensorList& list,
                                      int64_t i, const PartialTensorShape& argument) {
  if (list.elements[i].has_value()) {
    const Tensor& element = *list.elements[i];
    if (argument.IsCompatibleWith(element.shape())) return element;
    return errors::InvalidArgument("Incompatible shapes: the op expects an element of shape ", argument.ToString(),
                                   " but element ", i, " has shape ", element.shape().ToString());
  }
  ASSIGN_OR_RETURN(const PartialTensorShape shape, KnownElementShape(list, argument));
  if (!shape.IsFullyDefined()) {
    return errors::InvalidArgument("Trying to read an uninitialized tensor but element_shape is not fully defined: ",
                                   shape.ToString(), " and no list element is set.");
  }
  ASSIGN_OR_RETURN(const TensorShape known, shape.AsTensorShape());
  return memory.Zeros(ctx, list.dtype, known);
}

}  // namespace weir
