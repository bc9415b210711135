// Tensors that were stored as messages, in files of elements or in compressed ones.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// As TensorFromProto, but variants are what kernels work on, where their type has a decoder.
absl::StatusOr<Tensor> StoredTensor(const tensorflow::TensorProto& proto, Allocator* allocator = CpuAllocator());

}  // namespace weir
