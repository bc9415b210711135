#include "core/tensor/variant_tensors.h"

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/tensor/variant.h"

namespace weir {
namespace {

constexpr int64_t kMaxVariants = int64_t{1} << 24;

// One pass over all variants. Shared ones are visited once.
class Pass {
 public:
  // Called with each tensor when it is first visited; returns its replacement.
  using Replace = std::function<absl::StatusOr<Tensor>(const Tensor& tensor)>;
  explicit Pass(Replace replace) : replace_(std::move(replace)) {}

  absl::StatusOr<Tensor> Of(const Tensor& tensor) {
    if (StaysOnHostInVariants(tensor.dtype()) || tensor.NumElements() == 0) return tensor;
    const Key key(tensor.raw_data(), tensor.dtype(), tensor.NumElements());
    if (const auto known = tensors_.find(key); known != tensors_.end()) return known->second.Reshaped(tensor.shape());
    ASSIGN_OR_RETURN(Tensor replaced, tensor.dtype() == DT_VARIANT ? OfVariants(tensor) : replace_(tensor));
    tensors_.emplace(key, replaced);
    return replaced;
  }

 private:
  using Key = std::tuple<const void*, DataType, int64_t>;

  absl::StatusOr<Tensor> OfVariants(const Tensor& tensor) {
    Tensor replaced(DT_VARIANT, tensor.shape());
    for (int64_t i = 0; i < tensor.NumElements(); ++i) {
      ASSIGN_OR_RETURN(replaced.data<Variant>()[i], Of(tensor.data<Variant>()[i]));
    }
    return replaced;
  }

  absl::StatusOr<Variant> Of(const Variant& variant) {
    const auto* const on_device = variant.get<VariantOnDevice>();
    if (on_device == nullptr) return variant;
    if (const auto known = variants_.find(variant.value()); known != variants_.end()) return known->second;
    if (++count_ > kMaxVariants) {
      return errors::ResourceExhausted("Variants that hold more than ", kMaxVariants, " others are not copied");
    }
    ASSIGN_OR_RETURN(std::unique_ptr<VariantValue> value,
                     on_device->MapTensors([this](const Tensor& tensor) { return Of(tensor); }));
    return variants_.emplace(variant.value(), Variant(std::move(value))).first->second;
  }

  const Replace replace_;
  int64_t count_ = 0;
  absl::flat_hash_map<Key, Tensor> tensors_;
  absl::flat_hash_map<const VariantValue*, Variant> variants_;
};

}  // namespace

absl::StatusOr<VariantTensors> VariantTensors::Of(Tensor variants) {
  VariantTensors found(std::move(variants));
  Pass collect([&found](const Tensor& tensor) {
    found.tensors_.push_back(tensor);
    return tensor;
  });
  RETURN_IF_ERROR(collect.Of(found.variants_).status());
  return found;
}

absl::StatusOr<Tensor> VariantTensors::With(absl::Span<const Tensor> copies) const {
  size_t next = 0;
  return Pass([&](const Tensor&) { return copies[next++]; }).Of(variants_);
}

}  // namespace weir
