// Infers attributes from the types of a node's inputs and outputs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/types.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir::graph_text {

using KnownTypes = std::vector<std::optional<DataType>>;

// Attributes missing in `node` that are the types or lengths of its arguments. `outputs` is nullopt if the text does
// not specify them. Attributes that cannot be inferred are omitted.
std::map<std::string, tensorflow::AttrValue> InferAttrs(const tensorflow::OpDef& op, const tensorflow::NodeDef& node,
                                                        const KnownTypes& inputs,
                                                        const std::optional<KnownTypes>& outputs);

}  // namespace weir::graph_text
