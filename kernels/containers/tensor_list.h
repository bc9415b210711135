// The value that variants of tensor lists hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "core/tensor/variant_tensors.h"

namespace weir {

// Tensors of one dtype whose shapes agree with one partial shape; elements may be missing. A value: changing a copy
// leaves the original alone, the tensors are shared.
struct TensorList final : public VariantValue, public VariantOnDevice {
  static constexpr char kTypeName[] = "tensorflow::TensorList";
  static constexpr int64_t kMaxSize = int64_t{1} << 24;

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<TensorList>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);

  absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const override;

  // Notes that `element` is about to become an element. ResourceExhausted when that nests variants too deep.
  absl::Status Admit(const Tensor& element);

  DataType dtype = DT_INVALID;
  PartialTensorShape element_shape;
  int64_t max_size = -1;  // of elements; -1: none
  std::vector<std::optional<Tensor>> elements;
  int depth = 1;  // of variants, this one included; never too small
};

}  // namespace weir
