// Reading, writing, comparing and printing attribute values.
#pragma once

#include <string>
#include <vector>

#include "core/api.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/tensor/types.h"

namespace tensorflow {
class AttrValue;
class NameAttrList;
class NodeDef;
class OpDef;
class OpDef_ArgDef;
class OpDef_AttrDef;
}  // namespace tensorflow

namespace WEIR_API weir {

// nullptr when the node has no such attribute.
const tensorflow::AttrValue* FindAttr(const tensorflow::NodeDef& node, absl::string_view name);

// InvalidArgument naming node and attribute if it is missing or has another type. V as in
// OpKernelConstruction::GetAttr.
template <typename V>
absl::Status GetNodeAttr(const tensorflow::NodeDef& node, absl::string_view name, V* value);

// V may also be const char*, absl::string_view, double, spans of values, tensorflow::DataType or tensorflow::AttrValue.
template <typename V>
void SetAttrValue(const V& value, tensorflow::AttrValue* out);
void SetAttrValue(const char* value, tensorflow::AttrValue* out);
template <typename V>
void SetNodeAttr(absl::string_view name, const V& value, tensorflow::NodeDef* node);
void SetNodeAttr(absl::string_view name, const char* value, tensorflow::NodeDef* node);

bool AttrValuesEqual(const tensorflow::AttrValue& a, const tensorflow::AttrValue& b);
uint64_t HashAttrValue(const tensorflow::AttrValue& value);
std::string AttrValueToString(const tensorflow::AttrValue& value);  // short, for messages

// Parses TensorFlow's text for a value of attr type `type` ("int", "list(type)", "shape" …): "3", "[DT_FLOAT]", "{}".
absl::Status ParseAttrValue(absl::string_view type, absl::string_view text, tensorflow::AttrValue* out);
// InvalidArgument when `value` is not of attr type `type`.
absl::Status CheckAttrType(const tensorflow::AttrValue& value, absl::string_view type);

// As above, and checks the minimum and allowed values of `attr_def`.
absl::Status ValidateAttrValue(const tensorflow::AttrValue& value, const tensorflow::OpDef_AttrDef& attr_def);

// --- OpDef against NodeDef ---

// "{{node a}} = Add[T=DT_FLOAT](x, y)", for messages.
std::string SummarizeNodeDef(const tensorflow::NodeDef& node);

// Fills in the defaults of missing attributes.
void AddDefaultAttrs(const tensorflow::OpDef& op_def, tensorflow::NodeDef* node);
// Types of all inputs and outputs of `node`, lists expanded; references keep their reference type.
absl::Status InOutTypesForNode(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def, DataTypeVector* inputs,
                               DataTypeVector* outputs);
// The number and types of the tensors of an argument.
absl::Status ArgTypes(const tensorflow::NodeDef& node, const tensorflow::OpDef_ArgDef& arg, DataTypeVector* types);
// Checks that:
// - all attributes are present, of the right type, and within their allowed values and minimum;
// - there are no unknown attributes, except those that start with '_';
// - inputs are well-formed, data before control, and as many as the op takes.
absl::Status ValidateNodeDef(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def);
// Checks the attributes only, not the inputs.
absl::Status ValidateNodeAttrs(const tensorflow::NodeDef& node, const tensorflow::OpDef& op_def);

}  // namespace weir
