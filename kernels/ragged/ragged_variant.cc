#include "kernels/ragged/ragged_variant.h"

#include "kernels/device/variant_nesting.h"
#include "kernels/ragged/family.h"

namespace weir {

RaggedVariant::RaggedVariant(std::vector<Tensor> splits, Tensor values)
    : splits(std::move(splits)), values(std::move(values)), depth(VariantDepth(this->values) + 1) {}

std::string RaggedVariant::DebugString() const {
  return absl::StrCat("ragged tensor of rank ", splits.size(), ", values ", values.DebugString());
}

// The wire form is TensorFlow's: the splits, then the values.
absl::Status RaggedVariant::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->clear();
  *tensors = splits;
  tensors->push_back(values);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<VariantValue>> RaggedVariant::Decode(absl::string_view metadata,
                                                                    std::vector<Tensor> tensors) {
  if (tensors.empty()) return errors::InvalidArgument("A RaggedTensorVariant without tensors");
  Tensor values = std::move(tensors.back());
  tensors.pop_back();
  return std::unique_ptr<VariantValue>(std::make_unique<RaggedVariant>(std::move(tensors), std::move(values)));
}

absl::StatusOr<std::unique_ptr<VariantValue>> RaggedVariant::MapTensors(const TensorMapping& fn) const {
  auto mapped = std::make_unique<RaggedVariant>(*this);
  ASSIGN_OR_RETURN(mapped->values, fn(values));
  return std::unique_ptr<VariantValue>(std::move(mapped));
}

std::shared_ptr<const RaggedVariant> RaggedIn(const Variant& variant) {
  if (const auto* ragged = variant.get<RaggedVariant>()) return std::make_shared<RaggedVariant>(*ragged);
  const auto* encoded = variant.get<EncodedVariant>();
  if (encoded == nullptr || encoded->TypeName() != RaggedVariant::kTypeName || encoded->tensors().empty()) {
    return nullptr;
  }
  std::vector<Tensor> splits = encoded->tensors();
  Tensor values = std::move(splits.back());
  splits.pop_back();
  return std::make_shared<RaggedVariant>(std::move(splits), std::move(values));
}

absl::Status RegisterRaggedVariants(VariantRegistry& variants) {
  return variants.Register(RaggedVariant::kTypeName, &RaggedVariant::Decode);
}

}  // namespace weir
