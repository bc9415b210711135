// Checkpoints in the first format.
#include "core/checkpoint/tensor_slice.h"
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

// A file's name and as many names, and specifications of slices, as tensors.
template <int kFirst>
absl::Status SaveShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  for (int i = 1; i < kFirst; ++i) {
    ASSIGN_OR_RETURN(const PartialTensorShape names, c.WithRank(c.input(i), 1));
    RETURN_IF_ERROR(c.MergeDim(c.Dim(names, 0), c.num_inputs() - kFirst).status());
  }
  return absl::OkStatus();
}

absl::Status RestoreSlicesShape(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  if (c.num_inputs() < 3 || c.input_tensor(2) == nullptr) return absl::OkStatus();
  const std::string& spec = c.input_tensor(2)->data<tstring>()[0];
  if (spec.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(spec));
  c.set_output(0, parsed.slice_shape);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSliceTableOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Save")
                                   .MayBlock()
                                   .Input("filename: string")
                                   .Input("tensor_names: string")
                                   .Input("data: T")
                                   .Attr("T: list(type) >= 1")
                                   .Stateful()
                                   .Shape(SaveShape<2>)));
  RETURN_IF_ERROR(ops.Register(Op("SaveSlices")
                                   .MayBlock()
                                   .Input("filename: string")
                                   .Input("tensor_names: string")
                                   .Input("shapes_and_slices: string")
                                   .Input("data: T")
                                   .Attr("T: list(type) >= 1")
                                   .Stateful()
                                   .Shape(SaveShape<3>)));
  RETURN_IF_ERROR(ops.Register(Op("Restore")
                                   .Input("file_pattern: string")
                                   .Input("tensor_name: string")
                                   .Output("tensor: dt")
                                   .Attr("dt: type")
                                   .Attr("preferred_shard: int = -1")
                                   .Stateful()
                                   .Shape(RestoreSlicesShape)));
  return ops.Register(Op("RestoreSlice")
                          .Input("file_pattern: string")
                          .Input("tensor_name: string")
                          .Input("shape_and_slice: string")
                          .Output("tensor: dt")
                          .Attr("dt: type")
                          .Attr("preferred_shard: int = -1")
                          .Stateful()
                          .Shape(RestoreSlicesShape));
}

}  // namespace weir
