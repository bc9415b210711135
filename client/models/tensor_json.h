// Tensors as nested lists in JSON.
#pragma once

#include <string>

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// Reads "[[1, 2], [3, 4]]", or a single value, as a tensor of type `dtype`. Strings are texts, or {"b64": "…"} for
// bytes; "NaN", "Infinity" and "-Infinity" are floats. InvalidArgument, saying where, for lists of different lengths
// and for elements that are not of the type or beyond its range.
absl::StatusOr<Tensor> TensorFromJson(absl::string_view text, DataType dtype);

// The same form. Floats have as few digits as identify them; strings that are not UTF-8 become {"b64": "…"}.
// Unimplemented for complex, quantised and resource types.
absl::StatusOr<std::string> TensorToJson(const Tensor& tensor);

// The text as a string in JSON, with quotation marks.
std::string JsonString(absl::string_view text);

}  // namespace weir
