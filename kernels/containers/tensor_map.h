// The value that variants of tensor maps hold.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "core/tensor/variant_tensors.h"

namespace weir {

// Tensors by tensors: keys are equal when dtype, shape and every byte or string are. A value: changing a copy leaves
// the original alone, the tensors are shared.
class TensorMap final : public VariantValue, public VariantOnDevice {
 public:
  static constexpr char kTypeName[] = "tensorflow::TensorMap";
  static constexpr size_t kMaxSize = size_t{1} << 24;
  struct Item {
    Tensor key, value;
  };

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<TensorMap>(*this); }
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);
  // Keys are always looked up on the host.
  absl::StatusOr<std::unique_ptr<VariantValue>> MapTensors(const TensorMapping& fn) const override;

  // nullptr where there is none. Unimplemented for keys that have no bytes (resources, variants), here and below.
  absl::StatusOr<const Tensor*> Find(const Tensor& key) const;
  // Replaces the value that was there. ResourceExhausted for too many items, and when that nests variants too deep.
  absl::Status Insert(const Tensor& key, Tensor value);
  // Whether it was there.
  absl::StatusOr<bool> Erase(const Tensor& key);

  // In the order of the bytes of their keys.
  const std::map<std::string, Item>& items() const { return items_; }
  int depth() const { return depth_; }

 private:
  std::map<std::string, Item> items_;
  int depth_ = 1;  // of variants, this one included; never too small
};

}  // namespace weir
