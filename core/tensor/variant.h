// The element type of variant tensors: any value with a type name and a byte encoding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/api.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace WEIR_API weir {

class Tensor;

// The value in a variant. Implementations are value types: Clone returns an independent copy (tensors inside may be
// shared).
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  virtual std::string TypeName() const = 0;
  virtual std::unique_ptr<VariantValue> Clone() const = 0;
  virtual std::string DebugString() const = 0;
  // The wire form: metadata bytes plus tensors (tensorflow.VariantTensorDataProto). Unimplemented if the value cannot
  // leave its process (such as a dataset iterator).
  virtual absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const = 0;
};

// Shares its value on copy; mutable access clones a shared value first (copy on write). Not thread-safe by itself.
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<VariantValue> value) : value_(std::move(value)) {}

  bool empty() const { return value_ == nullptr; }
  const VariantValue* value() const { return value_.get(); }
  std::string TypeName() const { return value_ ? value_->TypeName() : ""; }

  // nullptr if empty or of another type.
  template <typename T>
  const T* get() const {
    return dynamic_cast<const T*>(value_.get());
  }
  template <typename T>
  T* get_mutable() {
    if (get<T>() == nullptr) return nullptr;
    if (value_.use_count() > 1) value_ = value_->Clone();
    return static_cast<T*>(value_.get());
  }

 private:
  std::shared_ptr<VariantValue> value_;
};

}  // namespace weir
