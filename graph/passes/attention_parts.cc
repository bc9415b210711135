#include "graph/passes/attention_parts.h"

#include <cmath>

#include "core/op/attr_value.h"
#include "core/tensor/float16.h"
#include "core/tensor/numeric_types.h"
#include "core/tensor/tensor_proto.h"

namespace weir {

bool IsSet(const Node& node, absl::string_view attr) {
  bool value = false;
  return GetNodeAttr(node.def(), attr, &value).ok() && value;
}

std::optional<float> ScalarOf(const Node& node) {
  const tensorflow::AttrValue* const value = node.op() == "Const" ? FindAttr(node.def(), "value") : nullptr;
  if (value == nullptr || !value->has_tensor()) return std::nullopt;
  const absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor());
  if (!tensor.ok() || tensor->dims() != 0) return std::nullopt;
  float scalar = NAN;
  if (tensor->dtype() == DT_FLOAT) scalar = tensor->scalar<float>();
  if (tensor->dtype() == DT_HALF) scalar = static_cast<float>(tensor->scalar<half>());
  if (tensor->dtype() == DT_BFLOAT16) scalar = static_cast<float>(tensor->scalar<bfloat16>());
  return std::isfinite(scalar) ? std::optional<float>(scalar) : std::nullopt;
}

bool AreAlike(const Node& a, const Node& b) {
  return a.assigned_device() == b.assigned_device() && a.requested_device() == b.requested_device() &&
         a.output_types() == b.output_types();
}

}  // namespace weir
