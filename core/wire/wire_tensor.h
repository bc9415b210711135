// A whole tensor as the bytes that pass between tasks.
#pragma once

#include "core/allocator.h"
#include "core/status.h"
#include "core/tensor.h"
#include "core/wire/wire_options.h"

namespace weir {

// A vector of uint8 that says what it holds. Floats of less than a kilobyte are not cast: among them are rates and
// counts, which gain nothing. Unimplemented for types that are not plain.
absl::StatusOr<Tensor> EncodeForWire(const WireOptions& options, const Tensor& tensor, Allocator* allocator);

// What was encoded. DataLoss for what EncodeForWire did not write, or of another type; nothing is allocated for a size
// that the bytes cannot have.
absl::StatusOr<Tensor> DecodeFromWire(const Tensor& encoded, DataType dtype, Allocator* allocator);

}  // namespace weir
