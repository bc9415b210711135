// Values that may be missing.
#pragma once

#include <optional>

#include "core/tensor/variant_tensors.h"
#include "kernels/data/dataset.h"

namespace weir {

// The value that variants of optionals hold.
class OptionalVariant final : public VariantValue, public VariantOnDevice {
 public:
  static constexpr char kTypeName[] = "tensorflow::data::Optional";

  explicit OptionalVariant(std::optional<Element> value);
  const std::optional<Element>& value() const { return value_; }
  // Of variants, this one included.
  int depth() const { return depth_; }
  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<OptionalVariant>(value_); }
  std::string DebugString() const override { return value_ ? "Optional<value>" : "Optional<none>"; }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const override;

 private:
  const std::optional<Element> value_;
  int depth_ = 1;
};

Tensor OptionalTensor(std::optional<Element> value);
// InvalidArgument, naming `op`, unless `tensor` is a variant scalar that holds an optional.
absl::StatusOr<std::optional<Element>> OptionalFromTensor(const Tensor& tensor, absl::string_view op);

}  // namespace weir
