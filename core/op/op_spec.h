// TensorFlow's notation for the attributes, inputs and outputs of an op.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace tensorflow {
class OpDef;
}

namespace weir {

// All return InvalidArgument, quoting the specification, if it is malformed.

// "T: {float, int32} = DT_FLOAT", "N: int >= 1", "shapes: list(shape) >= 0 = []", "mode: {'a', 'b'}".
absl::Status AddAttrFromSpec(absl::string_view spec, tensorflow::OpDef* op_def);
// "x: T", "xs: N * T", "ys: Tlist", "ref: Ref(T)", "s: string". Attributes must be added before.
absl::Status AddArgFromSpec(absl::string_view spec, bool is_output, tensorflow::OpDef* op_def);

// Checks that names are well-formed and unique, that attributes named by arguments exist and have the right type, and
// that defaults are within bounds.
absl::Status ValidateOpDef(const tensorflow::OpDef& op_def);

// "Op<name=Add; signature=x:T, y:T -> z:T; attr=T:type,allowed=[DT_FLOAT]>", for messages.
std::string SummarizeOpDef(const tensorflow::OpDef& op_def);

// The types of a named set ("numbertype", "realnumbertype", "quantizedtype"), in TensorFlow's order; empty for others.
DataTypeVector NamedTypeSet(absl::string_view name);

}  // namespace weir
