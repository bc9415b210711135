// Parts of cuDNN's graphs that several kinds have.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/tensor/types.h"
#include "kernels/device/cudnn/cudnn_target.h"

namespace weir {

// float for what is none of cuDNN's other types.
cudnnDataType_t CudnnTypeOf(DataType type);

// Finalised, aligned as plans' memory is. `kind` is CUDNN_ATTR_TENSOR_IS_VIRTUAL for what no memory ever holds, and
// CUDNN_ATTR_TENSOR_IS_BY_VALUE for a number of the host's.
absl::StatusOr<CudnnDescriptor> NewCudnnTensor(const CudnnFunctions& cudnn, cudnnDataType_t type, int64_t name,
                                               absl::Span<const int64_t> sizes, absl::Span<const int64_t> steps,
                                               std::optional<cudnnBackendAttributeName_t> kind = std::nullopt);

// result = mode(a, b), finalised; `b` is null for operations of one operand. Computed in float.
absl::StatusOr<CudnnDescriptor> NewCudnnPointwise(const CudnnFunctions& cudnn, cudnnPointwiseMode_t mode,
                                                  const CudnnDescriptor& a, const CudnnDescriptor* b,
                                                  const CudnnDescriptor& result);

// Finalised.
absl::StatusOr<CudnnDescriptor> NewCudnnGraph(const CudnnTarget& target, absl::Span<const CudnnDescriptor> operations);

}  // namespace weir
