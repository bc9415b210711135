// Decodes variants that arrived as bytes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/api.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/tensor/variant.h"

namespace WEIR_API weir {

// A variant as received in a TensorProto: its type is known by name only. It can be forwarded and re-encoded without a
// decoder.
class EncodedVariant final : public VariantValue {
 public:
  EncodedVariant(std::string type_name, std::string metadata, std::vector<Tensor> tensors)
      : type_name_(std::move(type_name)), metadata_(std::move(metadata)), tensors_(std::move(tensors)) {}

  const std::string& metadata() const { return metadata_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::string TypeName() const override { return type_name_; }
  std::unique_ptr<VariantValue> Clone() const override;
  std::string DebugString() const override;
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;

 private:
  const std::string type_name_, metadata_;
  const std::vector<Tensor> tensors_;
};

// Filled once, then read by any thread.
class VariantRegistry {
 public:
  // Metadata and tensors are untrusted: a decoder checks them.
  using Decoder = std::function<absl::StatusOr<std::unique_ptr<VariantValue>>(absl::string_view metadata,
                                                                              std::vector<Tensor> tensors)>;
  // AlreadyExists for a second decoder of that type.
  absl::Status Register(absl::string_view type_name, Decoder decoder);
  // Decodes an encoded value, tensors within it first; leaves other values unchanged. Unimplemented, naming the type,
  // if there is no decoder.
  absl::Status Decode(Variant* variant) const;
  // Decodes every element of a variant tensor in place; the caller must be its only user.
  absl::Status Decode(Tensor* tensor) const;
  // As above, but values without a decoder stay encoded, and `tensor` gets its own elements.
  absl::Status DecodeKnown(Tensor* tensor) const;

 private:
  absl::flat_hash_map<std::string, Decoder> decoders_;
};

}  // namespace weir
