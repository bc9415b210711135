#include "kernels/data/op_lists.h"

#include "core/status.h"

namespace weir::dataset_ops {

absl::Status RegisterDatasets(OpRegistry& ops, const std::vector<DatasetOp>& list) {
  for (const DatasetOp& described : list) {
    Op op(described.name);
    for (const char* input : described.inputs) op.Input(input);
    op.Output("handle: variant");
    for (const char* attr : described.attrs) op.Attr(attr);
    if (described.stateful) op.Stateful();
    RETURN_IF_ERROR(ops.Register(op.Shape(shapes::Scalar)));
  }
  return absl::OkStatus();
}

absl::Status RegisterDescribed(OpRegistry& ops, const std::vector<OpDescription>& list, const ShapeFn& shape) {
  for (const OpDescription& described : list) {
    Op op(described.name);
    for (const char* input : described.inputs) op.Input(input);
    for (const char* output : described.outputs) op.Output(output);
    for (const char* attr : described.attrs) op.Attr(attr);
    if (described.stateful) op.Stateful();
    if (described.may_block) op.MayBlock();
    RETURN_IF_ERROR(ops.Register(op.Shape(shape)));
  }
  return absl::OkStatus();
}

absl::Status ElementShape(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

}  // namespace weir::dataset_ops
