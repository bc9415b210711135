#include "graph/passes/fusion/fusable_nodes.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/op/attr_value.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir {
namespace {

// The attribute, or `otherwise` if the op has none of that name.
template <typename V>
V AttrOr(const Node& node, absl::string_view name, V otherwise) {
  V value;
  return FindAttr(node.def(), name) != nullptr && GetNodeAttr(node.def(), name, &value).ok() ? value : otherwise;
}

bool IsPlain(const Node& node) {
  if (node.registration() == nullptr || node.num_inputs() == 0 || node.num_outputs() != 1 || node.IsStateful()) {
    return false;
  }
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_edge(i) == nullptr || IsRefType(node.input_type(i)) ||
        IsRefType(node.input_edge(i)->src->output_type(node.input_edge(i)->src_output))) {
      return false;
    }
  }
  return !IsRefType(node.output_type(0));
}

// The op's name in expressions, with the detail after the colon.
std::optional<std::string> HeadOf(const Node& node) {
  if (node.op() == "Cast") {
    if (AttrOr(node, "Truncate", false)) return std::nullopt;
    return absl::StrCat("Cast:", DataTypeName(node.output_type(0)));
  }
  if (node.op() == "BiasAdd" || node.op() == "BiasAddV1") {
    const std::string format = AttrOr(node, "data_format", std::string("NHWC"));
    if (format != "NHWC" && format != "NCHW") return std::nullopt;
    return format == "NCHW" ? "BiasAdd:NCHW" : "BiasAdd";
  }
  // For mismatched shapes, it may return a scalar.
  if (!AttrOr(node, "incompatible_shape_error", true)) return std::nullopt;
  return node.op();
}

}  // namespace

std::optional<FusedStep> StepOf(const Node& node) {
  if (!IsPlain(node)) return std::nullopt;
  std::optional<std::string> head = HeadOf(node);
  if (!head.has_value()) return std::nullopt;
  std::vector<int> operands;
  for (int i = 0; i < node.num_inputs(); ++i) operands.push_back(i);
  if (operands.size() > FusedExpression::kMostInputs) return std::nullopt;
  // Parsing decides: a step that an expression cannot describe is not fused.
  absl::StatusOr<FusedStep> step =
      ParseFusedStep(absl::StrCat(*head, "(", absl::StrJoin(operands, ", "), ")"), node.input_types());
  if (!step.ok() || step->type != node.output_type(0)) return std::nullopt;
  step->operands.clear();
  return *std::move(step);
}

std::optional<FusedFold> FoldOf(const Node& node) {
  if (!IsPlain(node) || node.num_inputs() != 2 || !FoldTakes(node.op(), node.input_type(0))) return std::nullopt;
  const Node& axes = *node.input_edge(1)->src;
  const tensorflow::AttrValue* const value = axes.IsConstant() ? FindAttr(axes.def(), "value") : nullptr;
  if (value == nullptr || !value->has_tensor()) return std::nullopt;
  const absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor());
  if (!tensor.ok() || tensor->dims() > 1 || tensor->NumElements() > kMaxRank) return std::nullopt;
  const absl::StatusOr<DimVector> integers = ReadIntegers(*tensor);
  if (!integers.ok()) return std::nullopt;
  return FusedFold{
      .op = node.op(), .axes = {integers->begin(), integers->end()}, .keep_dims = AttrOr(node, "keep_dims", false)};
}

}  // namespace weir
