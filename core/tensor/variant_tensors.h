// The tensors inside variants, for copying them between memories.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"

namespace weir {

// A VariantValue whose tensors are in the memory of its device. Tensors of other values stay in host memory on every
// device.
class VariantOnDevice {
 public:
  virtual ~VariantOnDevice() = default;
  using TensorMapping = std::function<absl::StatusOr<Tensor>(const Tensor& tensor)>;
  // A copy in which `fn` replaces each tensor, always in the same order. Tensors of variants are passed to `fn` like
  // others.
  virtual absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const = 0;
};

// The tensors in a variant tensor that belong in device memory, including those in nested variants; each once, even if
// it is shared. Not thread-safe.
class VariantTensors {
 public:
  // ResourceExhausted for more variants than a step may copy.
  static absl::StatusOr<VariantTensors> Of(Tensor variants);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The variants with copies[i], of the same type and number of elements, in place of tensors()[i]. Sharing is
  // preserved.
  absl::StatusOr<Tensor> With(absl::Span<const Tensor> copies) const;

 private:
  explicit VariantTensors(Tensor variants) : variants_(std::move(variants)) {}

  Tensor variants_;
  std::vector<Tensor> tensors_;
};

}  // namespace weir
