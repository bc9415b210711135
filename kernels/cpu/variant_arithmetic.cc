#include "kernels/cpu/variant_arithmetic.h"

#include "kernels/cpu/ragged/ragged_variant.h"
#include "kernels/cpu/tensor_list.h"
#include "kernels/cpu/tensor_sequence.h"
#include "kernels/data/optional.h"

namespace weir {
namespace {

absl::StatusOr<const TensorList*> ListIn(const Variant& value, absl::string_view op) {
  if (const TensorList* const list = value.get<TensorList>(); list != nullptr) return list;
  return errors::Internal(op, " of variants knows tensor lists, ragged tensors and optionals only, saw: ",
                          value.empty() ? "an empty variant" : value.TypeName());
}

// Elementwise over a tensor of variants.
template <typename Fn>
absl::StatusOr<Tensor> MapVariants(const Tensor& like, Fn fn) {
  Tensor result(DT_VARIANT, like.shape());
  for (int64_t i = 0; i < like.NumElements(); ++i) {
    ASSIGN_OR_RETURN(result.data<Variant>()[i], fn(i));
  }
  return result;
}

absl::StatusOr<Tensor> ZerosLike(const OpKernelContext& ctx, const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT) return ZeroTensor(ctx, tensor.dtype(), tensor.shape());
  return MapVariants(tensor, [&](int64_t i) { return ZerosLikeVariant(ctx, tensor.data<Variant>()[i]); });
}

absl::StatusOr<Tensor> Sum(const Tensor& a, const Tensor& b, const AddTensors& add) {
  if (a.shape() != b.shape()) {
    return errors::InvalidArgument("Trying to add two lists of tensors with incompatible element shapes: ",
                                   a.shape().ToString(), " and ", b.shape().ToString());
  }
  if (a.dtype() != DT_VARIANT) return add(a, b);
  return MapVariants(a, [&](int64_t i) { return AddVariants(a.data<Variant>()[i], b.data<Variant>()[i], add); });
}

absl::StatusOr<Variant> OptionalZerosLike(const OpKernelContext& ctx, const OptionalVariant& optional) {
  std::optional<Element> zeros = optional.value();
  if (zeros.has_value()) {
    for (Tensor& component : *zeros) {
      ASSIGN_OR_RETURN(component, ZerosLike(ctx, component));
    }
  }
  return Variant(std::make_shared<OptionalVariant>(std::move(zeros)));
}

absl::StatusOr<Variant> AddOptionals(const OptionalVariant& a, const OptionalVariant& b, const AddTensors& add) {
  if (a.value().has_value() != b.value().has_value()) {
    return errors::InvalidArgument("Cannot add optionals because one has a value and the other doesn't.");
  }
  std::optional<Element> sum = a.value();
  if (sum.has_value()) {
    if (sum->size() != b.value()->size()) {
      return errors::InvalidArgument("Cannot add optionals because they have different numbers of components (",
                                     sum->size(), " vs. ", b.value()->size(), ").");
    }
    for (size_t i = 0; i < sum->size(); ++i) {
      ASSIGN_OR_RETURN((*sum)[i], Sum((*sum)[i], (*b.value())[i], add));
    }
  }
  return Variant(std::make_shared<OptionalVariant>(std::move(sum)));
}

}  // namespace

absl::StatusOr<Variant> ZerosLikeVariant(const OpKernelContext& ctx, const Variant& value) {
  if (const std::shared_ptr<const RaggedVariant> ragged = RaggedIn(value)) {
    ASSIGN_OR_RETURN(Tensor zeros, ZerosLike(ctx, ragged->values));
    return Variant(std::make_shared<RaggedVariant>(ragged->splits, std::move(zeros)));
  }
  if (const auto* const optional = value.get<OptionalVariant>()) return OptionalZerosLike(ctx, *optional);
  ASSIGN_OR_RETURN(const TensorList* list, ListIn(value, "ZerosLike"));
  auto zeros = std::make_shared<TensorList>(*list);
  for (std::optional<Tensor>& element : zeros->elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(element, ZerosLike(ctx, *element));
  }
  return Variant(std::move(zeros));
}

absl::StatusOr<Variant> AddVariants(const Variant& a, const Variant& b, const AddTensors& add) {
  if (const std::shared_ptr<const RaggedVariant> x = RaggedIn(a), y = RaggedIn(b); x != nullptr && y != nullptr) {
    if (x->values.dtype() != y->values.dtype() || x->splits.size() != y->splits.size()) {
      return errors::InvalidArgument("Can only add RaggedTensorVariants of the same dtype and ragged rank");
    }
    ASSIGN_OR_RETURN(Tensor sum, Sum(x->values, y->values, add));
    return Variant(std::make_shared<RaggedVariant>(x->splits, std::move(sum)));
  }
  if (const auto* const x = a.get<OptionalVariant>(), * const y = b.get<OptionalVariant>();
      x != nullptr && y != nullptr) {
    return AddOptionals(*x, *y, add);
  }
  ASSIGN_OR_RETURN(const TensorList* x, ListIn(a, "AddN"));
  ASSIGN_OR_RETURN(const TensorList* y, ListIn(b, "AddN"));
  if (x->dtype != y->dtype) {
    return errors::InvalidArgument("Trying to add two lists of tensors of different dtypes. One is ",
                                   DataTypeName(x->dtype), " and the other is ", DataTypeName(y->dtype));
  }
  if (x->elements.size() != y->elements.size()) {
    return errors::InvalidArgument("Trying to add two lists of tensors with different lengths. One is ",
                                   x->elements.size(), " and the other is ", y->elements.size());
  }
  auto sum = std::make_shared<TensorList>(*x);
  ASSIGN_OR_RETURN(sum->element_shape, x->element_shape.MergeWith(y->element_shape));
  for (size_t i = 0; i < sum->elements.size(); ++i) {
    std::optional<Tensor>& element = sum->elements[i];
    const std::optional<Tensor>& other = y->elements[i];
    if (!element.has_value()) {
      element = other;
    } else if (other.has_value()) {
      ASSIGN_OR_RETURN(element, Sum(*element, *other, add));
    }
  }
  return Variant(std::move(sum));
}

}  // namespace weir
