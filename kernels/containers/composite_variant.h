// The value that variants of composite tensors hold: ragged and sparse ones, and types that programs define.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"

namespace weir {

// `metadata` is a serialised tensorflow.CompositeTensorVariantMetadata, which only the client understands.
struct CompositeVariant final : public VariantValue {
  static constexpr char kTypeName[] = "CompositeTensorVariant";

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<CompositeVariant>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* encoded, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view encoded, std::vector<Tensor> tensors);

  // Notes that `component` is about to become one. ResourceExhausted when that nests variants too deep.
  absl::Status Admit(const Tensor& component);

  std::string metadata;
  std::vector<Tensor> components;
  int depth = 1;  // of variants, this one included
};

}  // namespace weir
