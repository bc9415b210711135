// Tensors to and from tensorflow.TensorProto, with every size checked before anything is allocated.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// Accepts tensor_content, and the typed *_val fields with TensorFlow's rule that the last value fills the rest.
// InvalidArgument for a bad dtype or shape, content whose length does not match the shape, too many values, or more
// than `max_bytes`.
absl::StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto, Allocator* allocator = CpuAllocator(),
                                       int64_t max_bytes = int64_t{1} << 40);

// Plain types are written to tensor_content; strings, resources and variants to their fields. Fails only for a variant
// that cannot be encoded.
absl::Status TensorToProto(const Tensor& tensor, tensorflow::TensorProto* proto);
// As above, but with the typed fields, as in a readable text-format GraphDef.
absl::Status TensorToReadableProto(const Tensor& tensor, tensorflow::TensorProto* proto);

}  // namespace weir
