#include "core/tensor/variant.h"

#include "absl/strings/str_cat.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant_registry.h"

namespace weir {

absl::Status EncodedVariant::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  *metadata = metadata_;
  *tensors = tensors_;
  return absl::OkStatus();
}

std::unique_ptr<VariantValue> EncodedVariant::Clone() const {
  return std::make_unique<EncodedVariant>(type_name_, metadata_, tensors_);
}

std::string EncodedVariant::DebugString() const {
  return absl::StrCat("<encoded ", type_name_, ", ", metadata_.size(), " bytes, ", tensors_.size(), " tensors>");
}

absl::Status VariantRegistry::Register(absl::string_view type_name, Decoder decoder) {
  if (!decoders_.try_emplace(std::string(type_name), std::move(decoder)).second) {
    return errors::AlreadyExists("A decoder for variants of type '", type_name, "' is already registered");
  }
  return absl::OkStatus();
}

absl::Status VariantRegistry::Decode(Variant* variant) const {
  const EncodedVariant* encoded = variant->get<EncodedVariant>();
  if (encoded == nullptr) return absl::OkStatus();
  auto decoder = decoders_.find(encoded->TypeName());
  if (decoder == decoders_.end()) {
    return errors::Unimplemented("No decoder is registered for variants of type '", encoded->TypeName(), "'");
  }
  std::vector<Tensor> tensors = encoded->tensors();
  for (Tensor& tensor : tensors) RETURN_IF_ERROR(Decode(&tensor));
  ASSIGN_OR_RETURN(std::unique_ptr<VariantValue> value, decoder->second(encoded->metadata(), std::move(tensors)));
  *variant = Variant(std::move(value));
  return absl::OkStatus();
}

absl::Status VariantRegistry::Decode(Tensor* tensor) const {
  if (tensor->dtype() != DT_VARIANT) return absl::OkStatus();
  for (Variant& variant : tensor->flat<Variant>()) RETURN_IF_ERROR(Decode(&variant));
  return absl::OkStatus();
}

absl::Status VariantRegistry::DecodeKnown(Tensor* tensor) const {
  if (tensor->dtype() != DT_VARIANT) return absl::OkStatus();
  Tensor decoded(DT_VARIANT, tensor->shape());
  const absl::Span<Variant> source = tensor->flat<Variant>(), target = decoded.flat<Variant>();
  for (size_t i = 0; i < source.size(); ++i) {
    target[i] = source[i];
    const absl::Status status = Decode(&target[i]);
    if (!status.ok() && !absl::IsUnimplemented(status)) return status;
  }
  *tensor = std::move(decoded);
  return absl::OkStatus();
}

}  // namespace weir
