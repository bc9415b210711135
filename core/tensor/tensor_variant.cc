#include "core/tensor/tensor_variant.h"

namespace weir {

absl::Status TensorVariant::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->clear();
  tensors->assign(1, tensor_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> TensorVariant::Decode(absl::string_view metadata,
                                                                    std::vector<Tensor> tensors) {
  if (tensors.size() != 1) return errors::InvalidArgument("A variant of one tensor holds ", tensors.size());
  return std::unique_ptr<VariantValue>(std::make_unique<TensorVariant>(std::move(tensors[0])));
}

absl::Status RegisterTensorVariants(VariantRegistry& variants) {
  return variants.Register(TensorVariant::kTypeName, &TensorVariant::Decode);
}

Variant MakeTensorVariant(Tensor tensor) { return Variant(std::make_shared<TensorVariant>(std::move(tensor))); }

const Tensor* TensorIn(const Variant& variant) {
  if (const auto* value = variant.get<TensorVariant>()) return &value->tensor();
  const auto* encoded = variant.get<EncodedVariant>();
  const bool holds_one =
      encoded != nullptr && encoded->TypeName() == TensorVariant::kTypeName && encoded->tensors().size() == 1;
  return holds_one ? &encoded->tensors()[0] : nullptr;
}

}  // namespace weir
