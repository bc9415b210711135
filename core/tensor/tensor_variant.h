// A tensor inside a variant, as used by SerializeSparse and datasets of sparse tensors.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"

namespace weir {

class TensorVariant final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "tensorflow::Tensor";

  explicit TensorVariant(Tensor tensor) : tensor_(std::move(tensor)) {}
  const Tensor& tensor() const { return tensor_; }

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<TensorVariant>(tensor_); }
  std::string DebugString() const override { return tensor_.DebugString(); }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);

 private:
  const Tensor tensor_;
};

Variant MakeTensorVariant(Tensor tensor);
// The tensor in `variant`, even if it came from another process and is still encoded; nullptr if there is none.
const Tensor* TensorIn(const Variant& variant);

absl::Status RegisterTensorVariants(VariantRegistry& variants);

}  // namespace weir
