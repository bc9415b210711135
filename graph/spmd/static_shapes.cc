#include "graph/spmd/static_shapes.h"

namespace weir::spmd {

bool StaticShapes::Find(const Node& node, int output, TensorShape* shape) const {
  PartialTensorShape partial = shapes_.shape(node, output);
  if (node.output_type(output) == DT_RESOURCE) {
    const auto& handle = shapes_.handle(node, output);
    if (handle.size() != 1) return false;
    partial = handle[0].shape;
  }
  absl::StatusOr<TensorShape> known = partial.AsTensorShape();
  if (!known.ok()) return false;
  *shape = *std::move(known);
  return true;
}

TensorShape StaticShapes::OfInput(const Node& node, int input) const {
  TensorShape shape;
  Find(*node.input_edge(input)->src, node.input_edge(input)->src_output, &shape);
  return shape;
}

int StaticShapes::RankOf(const Node& node, int output) const {
  TensorShape shape;
  return Find(node, output, &shape) ? shape.dims() : 0;
}

bool StaticShapes::Describe(const Node& node, RuleContext* context) const {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge& edge = *node.input_edge(i);
    TensorShape shape;
    if (!Find(*edge.src, edge.src_output, &shape)) return false;
    context->inputs.push_back(std::move(shape));
    const bool is_fed = fed_.contains(edge.src->name());
    context->constants.push_back(is_fed ? nullptr : shapes_.constant(*edge.src, edge.src_output));
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    TensorShape shape;
    if (!Find(node, i, &shape)) return false;
    context->outputs.push_back(std::move(shape));
  }
  return true;
}

}  // namespace weir::spmd
