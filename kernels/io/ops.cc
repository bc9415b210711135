// Checkpoints and files.
#include "core/checkpoint/tensor_slice.h"
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/io/family.h"

namespace weir {
namespace {

// A prefix, then as many names as specifications of slices.
absl::Status CheckNames(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  ASSIGN_OR_RETURN(PartialTensorShape names, c.WithRank(c.input(1), 1));
  ASSIGN_OR_RETURN(PartialTensorShape slices, c.WithRank(c.input(2), 1));
  return c.MergeDim(c.Dim(names, 0), c.Dim(slices, 0)).status();
}

absl::Status SaveShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckNames(c));
  for (int i = 1; i <= 2; ++i) RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(i), 0), c.num_inputs() - 3).status());
  return absl::OkStatus();
}

absl::Status RestoreShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckNames(c));
  for (int i = 1; i <= 2; ++i) RETURN_IF_ERROR(c.MergeDim(c.Dim(c.input(i), 0), c.num_outputs()).status());
  const Tensor* const slices = c.input_tensor(2);
  if (slices == nullptr || slices->NumElements() != c.num_outputs()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) {
    const std::string& spec = slices->data<tstring>()[i];
    if (spec.empty()) continue;
    ASSIGN_OR_RETURN(ShapeAndSlice parsed, ParseShapeAndSlice(spec));
    c.set_output(i, parsed.slice_shape);
  }
  return absl::OkStatus();
}

absl::Status MergeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  return c.WithRank(c.input(1), 0).status();
}

absl::Status WriteFileShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 0).status());
  return c.WithRank(c.input(1), 0).status();
}

absl::Status ScalarsToScalar(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  c.set_output(0, c.Scalar());
  return absl::OkStatus();
}

absl::Status MatchingFilesShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRankAtMost(c.input(0), 1).status());
  c.set_output(0, c.Vector(-1));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterIoOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SaveV2")
                                   .MayBlock()
                                   .Input("prefix: string")
                                   .Input("tensor_names: string")
                                   .Input("shape_and_slices: string")
                                   .Input("tensors: dtypes")
                                   .Attr("dtypes: list(type) >= 1")
                                   .Stateful()
                                   .Shape(SaveShape)));
  RETURN_IF_ERROR(ops.Register(Op("RestoreV2")
                                   .Input("prefix: string")
                                   .Input("tensor_names: string")
                                   .Input("shape_and_slices: string")
                                   .Output("tensors: dtypes")
                                   .Attr("dtypes: list(type) >= 1")
                                   .Stateful()
                                   .Shape(RestoreShape)));
  RETURN_IF_ERROR(ops.Register(Op("MergeV2Checkpoints")
                                   .Input("checkpoint_prefixes: string")
                                   .Input("destination_prefix: string")
                                   .Attr("delete_old_dirs: bool = true")
                                   .Attr("allow_missing_files: bool = false")
                                   .Stateful()
                                   .Shape(MergeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ShardedFilename")
                                   .Input("basename: string")
                                   .Input("shard: int32")
                                   .Input("num_shards: int32")
                                   .Output("filename: string")
                                   .Shape(ScalarsToScalar)));
  RETURN_IF_ERROR(ops.Register(Op("ShardedFilespec")
                                   .Input("basename: string")
                                   .Input("num_shards: int32")
                                   .Output("filename: string")
                                   .Shape(ScalarsToScalar)));
  RETURN_IF_ERROR(
      ops.Register(Op("ReadFile").Input("filename: string").Output("contents: string").Shape(ScalarsToScalar)));
  RETURN_IF_ERROR(ops.Register(
      Op("WriteFile").Input("filename: string").Input("contents: string").Stateful().Shape(WriteFileShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("MatchingFiles").Input("pattern: string").Output("filenames: string").Shape(MatchingFilesShape)));
  return absl::OkStatus();
}

}  // namespace weir
