// The components of an element, compressed together: what CompressElement makes and readers of a data service get.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "kernels/data/dataset.h"

namespace weir {

class CompressedElement final : public VariantValue {
 public:
  static constexpr char kTypeName[] = "tensorflow.data.CompressedElement";

  static absl::StatusOr<std::unique_ptr<CompressedElement>> Compress(const Element& element);
  // InvalidArgument unless `metadata` is a serialised tensorflow.data.CompressedElement. What is in it is checked when
  // it is uncompressed.
  static absl::StatusOr<std::unique_ptr<VariantValue>> Decode(absl::string_view metadata, std::vector<Tensor> tensors);

  // Internal where sizes and contents do not agree.
  absl::StatusOr<Element> Uncompress(Allocator* allocator) const;

  std::string TypeName() const override { return kTypeName; }
  std::unique_ptr<VariantValue> Clone() const override { return std::make_unique<CompressedElement>(*this); }
  std::string DebugString() const override { return "CompressedElement"; }
  absl::Status Encode(std::string* metadata, std::vector<Tensor>* tensors) const override;

 private:
  std::string serialized_;  // the message
};

}  // namespace weir
