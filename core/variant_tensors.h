// The tensors that variants hold, for who copies them from one memory to another.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor.h"
#include "core/variant.h"

namespace weir {

// A VariantValue whose tensors lie where the device that has it computes. Those of other values stay in host memory,
// whatever device has them.
class VariantOnDevice {
 public:
  virtual ~VariantOnDevice() = default;
  using TensorMapping = std::function<absl::StatusOr<Tensor>(const Tensor& tensor)>;
  // A copy with what `fn` makes of its tensors in their place, always in the same order. Tensors of variants are given
  // to `fn` like others.
  virtual absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const = 0;
};

// Those of a variant tensor that a device would have in its memory, in variants within variants too; each once,
// however many share it. Not thread-safe.
class VariantTensors {
 public:
  // ResourceExhausted for more variants than a step may copy.
  static absl::StatusOr<VariantTensors> Of(Tensor variants);

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The variants, with copies[i] in place of tensors()[i]: of its type and number of elements. What was shared is so
  // again.
  absl::StatusOr<Tensor> With(absl::Span<const Tensor> copies) const;

 private:
  explicit VariantTensors(Tensor variants) : variants_(std::move(variants)) {}

  Tensor variants_;
  std::vector<Tensor> tensors_;
};

}  // namespace weir
