#include "kernels/data/stored_tensor.h"

#include "core/tensor/tensor_proto.h"
#include "core/tensor/variant_registry.h"
#include "kernels/library.h"

namespace weir {
namespace {

absl::StatusOr<VariantRegistry> MakeRegistry() {
  VariantRegistry variants;
  RETURN_IF_ERROR(RegisterAllVariants(variants));
  return variants;
}

}  // namespace

absl::StatusOr<Tensor> StoredTensor(const tensorflow::TensorProto& proto, Allocator* allocator) {
  static const absl::StatusOr<VariantRegistry> variants = MakeRegistry();  // the same for all servers of a process
  ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto, allocator));
  if (tensor.dtype() != DT_VARIANT) return tensor;
  RETURN_IF_ERROR(variants.status());
  RETURN_IF_ERROR(variants->DecodeKnown(&tensor));
  return tensor;
}

}  // namespace weir
