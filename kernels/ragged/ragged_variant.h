// The value that variants of ragged tensors hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "core/tensor/variant_tensors.h"

namespace weir {

// Splits, outermost first, and values of at least one dimension.
struct RaggedVariant final : public VariantValue, public VariantOnDevice {
  static constexpr char kTypeName[] = "RaggedTensorVariant";

  RaggedVariant(std::vector<Tensor> splits, Tensor values);

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<RaggedVariant>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);
  // Splits are always read on the host.
  absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const override;

  std::vector<Tensor> splits;
  Tensor values;
  int depth;  // of variants, this one included
};

// The ragged tensor in `variant`, also where that came from another process and is still encoded; nullptr: none.
std::shared_ptr<const RaggedVariant> RaggedIn(const Variant& variant);

}  // namespace weir
