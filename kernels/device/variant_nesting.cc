#include "kernels/device/variant_nesting.h"

#include <algorithm>

#include "kernels/containers/composite_variant.h"
#include "kernels/containers/tensor_list.h"
#include "kernels/containers/tensor_map.h"
#include "kernels/data/iterators/optional.h"
#include "kernels/ragged/ragged_variant.h"

namespace weir {
namespace {

int DepthOf(const Variant& variant) {
  if (const auto* list = variant.get<TensorList>()) return list->depth;
  if (const auto* map = variant.get<TensorMap>()) return map->depth();
  if (const auto* optional = variant.get<OptionalVariant>()) return optional->depth();
  if (const auto* ragged = variant.get<RaggedVariant>()) return ragged->depth;
  if (const auto* composite = variant.get<CompositeVariant>()) return composite->depth;
  if (const auto* dataset = variant.get<DatasetVariant>()) return dataset->dataset()->depth();
  int depth = 0;
  if (const auto* encoded = variant.get<EncodedVariant>()) {  // no deeper than a message may be
    for (const Tensor& tensor : encoded->tensors()) depth = std::max(depth, VariantDepth(tensor));
  }
  return depth + 1;
}

}  // namespace

int VariantDepth(const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT) return 0;
  int depth = 1;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) depth = std::max(depth, DepthOf(tensor.data<Variant>()[i]));
  return depth;
}

absl::Status CheckNesting(const Tensor& element) {
  if (VariantDepth(element) < kMaxVariantDepth) return absl::OkStatus();
  return errors::ResourceExhausted("Variants hold each other more than ", kMaxVariantDepth, " levels deep");
}

}  // namespace weir
