#include "kernels/containers/variant_arithmetic.h"

#include <algorithm>

#include "core/tensor/variant_registry.h"
#include "kernels/containers/tensor_list.h"
#include "kernels/containers/tensor_map.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/ragged/ragged_variant.h"

namespace weir {
namespace {

// One op's walk over variants. Variants share what they hold, so that few of them can stand for very many: their number
// is limited.
class Walk {
 public:
  Walk(const OpKernelContext& ctx, const SequenceMemory& memory) : ctx_(ctx), memory_(memory) {}

  absl::StatusOr<Variant> ZerosLike(const Variant& value);
  absl::StatusOr<Variant> Add(const Variant& a, const Variant& b);

 private:
  static constexpr int64_t kMaxVariants = int64_t{1} << 20;

  absl::Status Count() {
    if (++count_ <= kMaxVariants) return absl::OkStatus();
    return errors::ResourceExhausted("A variant holds more than ", kMaxVariants, " others");
  }

  // One that is still encoded has its tensors in host memory, whatever device has it.
  std::shared_ptr<const RaggedVariant> Ragged(const Variant& value) const {
    const bool is_elsewhere = &memory_ != &HostSequences() && value.get<EncodedVariant>() != nullptr;
    return is_elsewhere ? nullptr : RaggedIn(value);
  }

  // Elementwise over a tensor of variants.
  template <typename Fn>
  static absl::StatusOr<Tensor> MapVariants(const Tensor& like, Fn fn) {
    Tensor result(DT_VARIANT, like.shape());
    for (int64_t i = 0; i < like.NumElements(); ++i) {
      ASSIGN_OR_RETURN(result.data<Variant>()[i], fn(i));
    }
    return result;
  }

  absl::StatusOr<Tensor> ZerosLike(const Tensor& tensor) {
    if (tensor.dtype() != DT_VARIANT) return memory_.Zeros(ctx_, tensor.dtype(), tensor.shape());
    return MapVariants(tensor, [&](int64_t i) { return ZerosLike(tensor.data<Variant>()[i]); });
  }
  absl::StatusOr<Variant> ZerosLike(const OptionalVariant& optional);

  absl::StatusOr<Tensor> Add(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) {
      return errors::InvalidArgument("Trying to add two tensors with incompatible element shapes. One is ",
                                     a.shape().ToString(), " and the other is ", b.shape().ToString());
    }
    if (a.dtype() != b.dtype()) {
      return errors::InvalidArgument("Trying to add tensors of different dtypes: ", DataTypeName(a.dtype()), " and ",
                                     DataTypeName(b.dtype()));
    }
    if (a.dtype() != DT_VARIANT) return Sum(a, b);
    return MapVariants(a, [&](int64_t i) { return Add(a.data<Variant>()[i], b.data<Variant>()[i]); });
  }
  absl::StatusOr<Tensor> Sum(const Tensor& a, const Tensor& b) {
    if (memory_.CanAdd(a.dtype())) return memory_.Sum(ctx_, a, b);
    return errors::Unimplemented("AddN of lists of ", DataTypeName(a.dtype()), " on ", ctx_.device()->type());
  }
  absl::StatusOr<Variant> Add(const OptionalVariant& a, const OptionalVariant& b);
  absl::StatusOr<Variant> Add(const TensorMap& a, const TensorMap& b);

  const OpKernelContext& ctx_;
  const SequenceMemory& memory_;
  int64_t count_ = 0;
};

absl::StatusOr<const TensorList*> ListIn(const Variant& value, absl::string_view op) {
  if (const TensorList* const list = value.get<TensorList>(); list != nullptr) return list;
  return errors::Internal(op, " of variants knows tensor lists and maps, ragged tensors and optionals only, saw: ",
                          value.empty() ? "an empty variant" : value.TypeName());
}

absl::StatusOr<Variant> Walk::ZerosLike(const OptionalVariant& optional) {
  std::optional<Element> zeros = optional.value();
  if (zeros.has_value()) {
    for (Tensor& component : *zeros) {
      ASSIGN_OR_RETURN(component, ZerosLike(component));
    }
  }
  return Variant(std::make_shared<OptionalVariant>(std::move(zeros)));
}

absl::StatusOr<Variant> Walk::Add(const OptionalVariant& a, const OptionalVariant& b) {
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
      ASSIGN_OR_RETURN((*sum)[i], Add((*sum)[i], (*b.value())[i]));
    }
  }
  return Variant(std::make_shared<OptionalVariant>(std::move(sum)));
}

// What one map lacks counts as zeros.
absl::StatusOr<Variant> Walk::Add(const TensorMap& a, const TensorMap& b) {
  auto sum = std::make_shared<TensorMap>(a);
  for (const auto& [identity, item] : b.items()) {
    ASSIGN_OR_RETURN(const Tensor* other, a.Find(item.key));
    Tensor value = item.value;
    if (other != nullptr) {
      ASSIGN_OR_RETURN(value, Add(*other, item.value));
    }
    RETURN_IF_ERROR(sum->Insert(item.key, std::move(value)));
  }
  return Variant(std::move(sum));
}

absl::StatusOr<Variant> Walk::ZerosLike(const Variant& value) {
  RETURN_IF_ERROR(Count());
  if (const std::shared_ptr<const RaggedVariant> ragged = Ragged(value)) {
    ASSIGN_OR_RETURN(Tensor zeros, ZerosLike(ragged->values));
    return Variant(std::make_shared<RaggedVariant>(ragged->splits, std::move(zeros)));
  }
  if (const auto* const optional = value.get<OptionalVariant>()) return ZerosLike(*optional);
  if (value.get<TensorMap>() != nullptr) return Variant(std::make_shared<TensorMap>());
  ASSIGN_OR_RETURN(const TensorList* list, ListIn(value, "ZerosLike"));
  auto zeros = std::make_shared<TensorList>(*list);
  for (std::optional<Tensor>& element : zeros->elements) {
    if (!element.has_value()) continue;
    ASSIGN_OR_RETURN(element, ZerosLike(*element));
  }
  return Variant(std::move(zeros));
}

absl::StatusOr<Variant> Walk::Add(const Variant& a, const Variant& b) {
  RETURN_IF_ERROR(Count());
  if (const std::shared_ptr<const RaggedVariant> x = Ragged(a), y = Ragged(b); x != nullptr && y != nullptr) {
    if (x->values.dtype() != y->values.dtype() || x->splits.size() != y->splits.size()) {
      return errors::InvalidArgument("Can only add RaggedTensorVariants of the same dtype and ragged rank");
    }
    ASSIGN_OR_RETURN(Tensor sum, Add(x->values, y->values));
    return Variant(std::make_shared<RaggedVariant>(x->splits, std::move(sum)));
  }
  if (const auto* const x = a.get<OptionalVariant>(), * const y = b.get<OptionalVariant>();
      x != nullptr && y != nullptr) {
    return Add(*x, *y);
  }
  if (const auto* const x = a.get<TensorMap>(), * const y = b.get<TensorMap>(); x != nullptr && y != nullptr) {
    return Add(*x, *y);
  }
  if (!a.empty() && !b.empty() && a.TypeName() != b.TypeName()) {
    return errors::Internal("BinaryOpVariants: Variants a and b have different type ids.  Type names: '", a.TypeName(),
                            "' vs. '", b.TypeName(), "'");
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
  const absl::StatusOr<PartialTensorShape> shape = x->element_shape.MergeWith(y->element_shape);
  if (!shape.ok()) {
    return errors::InvalidArgument("Trying to add two lists of tensors with incompatible element shapes. One is ",
                                   x->element_shape.ToString(), " and the other is ", y->element_shape.ToString());
  }
  auto sum = std::make_shared<TensorList>(*x);
  sum->depth = std::max(x->depth, y->depth);
  sum->element_shape = *shape;
  for (size_t i = 0; i < sum->elements.size(); ++i) {
    std::optional<Tensor>& element = sum->elements[i];
    const std::optional<Tensor>& other = y->elements[i];
    if (!element.has_value()) {
      element = other;
    } else if (other.has_value()) {
      ASSIGN_OR_RETURN(element, Add(*element, *other));
    }
  }
  return Variant(std::move(sum));
}

}  // namespace

absl::StatusOr<Variant> ZerosLikeVariant(const OpKernelContext& ctx, const SequenceMemory& memory,
                                         const Variant& value) {
  return Walk(ctx, memory).ZerosLike(value);
}

absl::StatusOr<Variant> AddVariants(const OpKernelContext& ctx, const SequenceMemory& memory, const Variant& a,
                                    const Variant& b) {
  return Walk(ctx, memory).Add(a, b);
}

}  // namespace weir
