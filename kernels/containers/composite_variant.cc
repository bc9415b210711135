#include "kernels/containers/composite_variant.h"

#include <algorithm>

#include "kernels/containers/family.h"
#include "kernels/device/variant_nesting.h"

namespace weir {

std::string CompositeVariant::DebugString() const {
  return absl::StrCat("composite tensor of ", components.size(), " components");
}

absl::Status CompositeVariant::Encode(std::string* encoded, std::vector<Tensor>* tensors) const {
  *encoded = metadata;
  *tensors = components;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> CompositeVariant::Decode(absl::string_view encoded,
                                                                       std::vector<Tensor> tensors) {
  auto value = std::make_unique<CompositeVariant>();
  value->metadata = std::string(encoded);
  for (const Tensor& component : tensors) RETURN_IF_ERROR(value->Admit(component));
  value->components = std::move(tensors);
  return std::unique_ptr<VariantValue>(std::move(value));
}

absl::Status CompositeVariant::Admit(const Tensor& component) {
  RETURN_IF_ERROR(CheckNesting(component));
  depth = std::max(depth, VariantDepth(component) + 1);
  return absl::OkStatus();
}

absl::Status RegisterCompositeVariants(VariantRegistry& variants) {
  return variants.Register(CompositeVariant::kTypeName, &CompositeVariant::Decode);
}

}  // namespace weir
