// Types, shapes and attribute values in the graph's text form.
#pragma once

#include <optional>
#include <string>

#include "core/status.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
#include "graph/text/text_scanner.h"

namespace tensorflow {
class AttrValue;
}

namespace weir::graph_text {

// "f32", "i64", "str", "resource"; a reference ends in '&'.
std::string PrintType(DataType type);
absl::StatusOr<DataType> ParseType(Scanner& scanner);
// "[2,?]"; unknown rank is "[*]".
std::string PrintDims(const PartialTensorShape& shape);
absl::StatusOr<PartialTensorShape> ParseDims(Scanner& scanner);

// Output parses to an equal value, unless it was longer than `max_bytes` and cut.
//   3   2.5   true   "text"   f32   shape[2,?]   tensor{dtype: DT_INT32 …}   @function{T=f32}   $T   [1, 2]   unset
// and raw"…", the serialised message, for values without a text form.
std::string PrintAttr(const tensorflow::AttrValue& value, std::optional<size_t> max_bytes = std::nullopt);
absl::Status ParseAttr(Scanner& scanner, tensorflow::AttrValue* value);

}  // namespace weir::graph_text
