#include "graph/spmd/static_shapes.h"

#include <algorithm>

namespace weir::spmd {

namespace {

// Its rule splits no dimension of the row numbers, and only the table's dimensions of the rows.
bool TakesAnyRows(const Node& node) { return node.op() == "ResourceScatterAdd" || node.op() == "ResourceScatterSub"; }

}  // namespace

PartialTensorShape StaticShapes::Known(const Node& node, int output) const {
  if (node.output_type(output) != DT_RESOURCE) return shapes_.shape(node, output);
  const auto& handle = shapes_.handle(node, output);
  return handle.size() == 1 ? handle[0].shape : PartialTensorShape();
}

bool StaticShapes::Find(const Node& node, int output, TensorShape* shape) const {
  absl::StatusOr<TensorShape> known = Known(node, output).AsTensorShape();
  if (!known.ok()) return false;
  *shape = *std::move(known);
  return true;
}

bool StaticShapes::FindRank(const Node& node, int output, TensorShape* shape) const {
  const PartialTensorShape known = Known(node, output);
  if (known.dims() < 0) return false;
  std::vector<int64_t> dims;
  for (int64_t size : known.dim_sizes()) dims.push_back(std::max<int64_t>(size, 0));
  absl::StatusOr<TensorShape> built = TensorShape::Build(dims);
  if (!built.ok()) return false;
  *shape = *std::move(built);
  return true;
}

TensorShape StaticShapes::OfInput(const Node& node, int input) const {
  TensorShape shape;
  FindRank(*node.input_edge(input)->src, node.input_edge(input)->src_output, &shape);
  return shape;
}

int StaticShapes::RankOf(const Node& node, int output) const {
  TensorShape shape;
  return FindRank(node, output, &shape) ? shape.dims() : 0;
}

bool StaticShapes::Describe(const Node& node, RuleContext* context) const {
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge& edge = *node.input_edge(i);
    TensorShape shape;
    const bool any_rows = i > 0 && TakesAnyRows(node);
    if (any_rows ? !FindRank(*edge.src, edge.src_output, &shape) : !Find(*edge.src, edge.src_output, &shape)) {
      return false;
    }
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
