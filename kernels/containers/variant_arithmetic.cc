#include "kernels/containers/variant_arithmetic.h"

#include <algorithm>
#include <cstring>

#include "core/tensor/variant_registry.h"
#include "kernels/containers/tensor_list.h"
#include "kernels/containers/tensor_map.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/device/summarize.h"
#include "kernels/ragged/ragged_variant.h"

namespace weir {
namespace {

// Calls fn(a, b) with numbers that variants hold as "int", "float", "double" or "bool", the names that TensorFlow gives
// them; their encoding is their bytes. False for other variants, and for two of different types.
template <typename Fn>
bool WithNumbers(const Variant& a, const Variant& b, Fn fn) {
  const auto* const x = a.get<EncodedVariant>();
  const auto* const y = b.get<EncodedVariant>();
  if (x == nullptr || y == nullptr || x->TypeName() != y->TypeName()) return false;
  const auto read = [&]<typename T>(T p, T q) {
    if (x->metadata().size() != sizeof(T) || y->metadata().size() != sizeof(T)) return false;
    std::memcpy(&p, x->metadata().data(), sizeof(T));
    std::memcpy(&q, y->metadata().data(), sizeof(T));
    fn(p, q);
    return true;
  };
  if (x->TypeName() == "int") return read(int32_t{}, int32_t{});
  if (x->TypeName() == "float") return read(float{}, float{});
  if (x->TypeName() == "double") return read(double{}, double{});
  if (x->TypeName() != "bool" || x->metadata().size() != 1 || y->metadata().size() != 1) return false;
  fn(x->metadata()[0] != 0, y->metadata()[0] != 0);
  return true;
}

template <typename T>
Variant NumberLike(const Variant& like, T value) {
  const std::string bytes(reinterpret_cast<const char*>(&value), sizeof(T));
  return Variant(std::make_shared<EncodedVariant>(like.TypeName(), bytes, std::vector<Tensor>()));
}

template <typename T>
T AddNumbers(T a, T b) {
  if constexpr (std::is_same_v<T, int32_t>) return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  return static_cast<T>(a + b);
}

std::string TensorText(const Tensor& tensor) {
  return absl::StrCat("Tensor<type: ", DataTypeName(tensor.dtype()), " shape: ", tensor.shape().ToString(),
                      " values: ", Summarize(tensor, 3), ">");
}

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

absl::Status NoFunction(absl::string_view kind, absl::string_view op, absl::string_view type) {
  return errors::Internal("No unary variant ", kind, "_op function found for op ", op, " Variant type_name: ", type,
                          " for device type: CPU");
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
  Variant zero;
  if (WithNumbers(value, value, [&](auto number, auto) { zero = NumberLike(value, decltype(number){}); })) return zero;
  const auto* const list = value.get<TensorList>();
  if (list == nullptr) return NoFunction("unary", "ZEROS_LIKE", value.TypeName());
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
  Variant number;
  if (WithNumbers(a, b, [&](auto p, auto q) { number = NumberLike(a, AddNumbers(p, q)); })) return number;
  const auto *const x = a.get<TensorList>(), *const y = b.get<TensorList>();
  if (x == nullptr || y == nullptr) {
    return NoFunction("binary", "ADD", absl::StrCat("'", x == nullptr ? a.TypeName() : b.TypeName(), "'"));
  }
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

std::string ValueText(const Variant& value) {
  if (value.empty()) return "[empty]";
  std::string text;
  if (WithNumbers(value, value, [&](auto x, auto) { text = absl::StrCat(x); })) return text;
  if (value.get<TensorList>() != nullptr) return "TensorList";
  if (value.get<TensorMap>() != nullptr) return "TensorMap";
  if (const auto* const optional = value.get<OptionalVariant>()) {
    if (!optional->value().has_value()) return "OptionalVariant<None>";
    for (const Tensor& component : *optional->value()) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", TensorText(component));
    }
    return absl::StrCat("OptionalVariant<values: (", text, ")>");
  }
  const auto* const encoded = value.get<EncodedVariant>();
  if (encoded != nullptr && encoded->TypeName() == "tensorflow::Tensor" && encoded->tensors().size() == 1) {
    return TensorText(encoded->tensors()[0]);
  }
  return value.value()->DebugString();
}

}  // namespace

std::string VariantText(const Variant& value) {
  return absl::StrCat("Variant<type: ", value.TypeName(), " value: ", ValueText(value), ">");
}

absl::StatusOr<Variant> ZerosLikeVariant(const OpKernelContext& ctx, const SequenceMemory& memory,
                                         const Variant& value) {
  return Walk(ctx, memory).ZerosLike(value);
}

absl::StatusOr<Variant> AddVariants(const OpKernelContext& ctx, const SequenceMemory& memory, const Variant& a,
                                    const Variant& b) {
  return Walk(ctx, memory).Add(a, b);
}

}  // namespace weir
