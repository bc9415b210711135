// Encodes a whole tensor as bytes for transfer between tasks.
#pragma once

#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/wire/wire_options.h"

namespace weir {

// A self-describing vector of uint8. Float tensors below a kilobyte are not cast: they include learning rates and
// counts, and would gain nothing. Unimplemented for types that are not plain.
absl::StatusOr<Tensor> EncodeForWire(const WireOptions& options, const Tensor& tensor, Allocator* allocator);

// Decodes it. DataLoss if EncodeForWire did not write it, or for another type; nothing is allocated for an impossible
// size.
absl::StatusOr<Tensor> DecodeFromWire(const Tensor& encoded, DataType dtype, Allocator* allocator);

}  // namespace weir
