// Updates of parts of variables and values, and random numbers from a generator in a variable.
#include "core/status.h"
#include "graph/common_shapes.h"
#include "graph/shape_inference.h"
#include "kernels/state/family.h"

namespace weir {
namespace {

// Whether the indices make a slice is for the kernel to tell; the result is what was given.
Op SliceUpdate(Op op) {
  op.Input("begin: Index").Input("end: Index").Input("strides: Index").Input("value: T");
  return op;
}

absl::Status FinishSliceUpdate(OpRegistry& ops, Op op, const ShapeFn& shape) {
  return ops.Register(op.Attr("T: type")
                          .Attr("Index: {int32, int64}")
                          .Attr("begin_mask: int = 0")
                          .Attr("end_mask: int = 0")
                          .Attr("ellipsis_mask: int = 0")
                          .Attr("new_axis_mask: int = 0")
                          .Attr("shrink_axis_mask: int = 0")
                          .Shape(shape));
}

absl::Status ParallelConcatShape(InferenceContext& c) {
  PartialTensorShape shape;
  RETURN_IF_ERROR(c.GetAttr("shape", &shape));
  if (!shape.IsFullyDefined() || shape.dims() < 1) {
    return errors::InvalidArgument("shape attr must be fully defined, and not a scalar's: ", shape.ToString());
  }
  ASSIGN_OR_RETURN(PartialTensorShape rest, c.Subshape(shape, 1));
  const PartialTensorShape row = c.Concatenate(c.Vector(1), rest);
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).IsFullyDefined()) {
      return errors::InvalidArgument("All input shapes must be fully defined.");
    }
    if (!(c.input(i) == row)) {
      return errors::InvalidArgument("Shape ", i, " of the values, ", c.input(i).ToString(), ", must be ",
                                     row.ToString());
    }
  }
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// The shape is the value of the input before the bounds.
template <int kInput>
absl::Status FromShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(kInput));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status ReadAndSkipShape(InferenceContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  c.set_output(0, c.Vector(3));
  return absl::OkStatus();
}

absl::Status ScalarsToNothing(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  return absl::OkStatus();
}

absl::Status RegisterGeneratorOps(OpRegistry& ops) {
  const auto generator = [](const char* name) { return Op(name).Input("resource: resource").Stateful(); };
  const auto drawing = [&generator](const char* name) {
    return generator(name).Input("algorithm: int64").Input("shape: shape_dtype").Output("output: dtype");
  };
  RETURN_IF_ERROR(ops.Register(generator("RngReadAndSkip")
                                   .Input("alg: int32")
                                   .Input("delta: uint64")
                                   .Output("value: int64")
                                   .Shape(ReadAndSkipShape)));
  RETURN_IF_ERROR(
      ops.Register(generator("RngSkip").Input("algorithm: int64").Input("delta: int64").Shape(ScalarsToNothing)));
  RETURN_IF_ERROR(ops.Register(generator("StatefulStandardNormal")
                                   .Input("shape: shape_dtype")
                                   .Output("output: dtype")
                                   .Attr("dtype: type = DT_FLOAT")
                                   .Attr("shape_dtype: type = DT_INT64")
                                   .Deprecated(29, "Use StatefulStandardNormalV2 instead")
                                   .Shape(FromShape<1>)));
  for (const char* name : {"StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"}) {
    RETURN_IF_ERROR(ops.Register(
        drawing(name).Attr("dtype: type = DT_FLOAT").Attr("shape_dtype: type = DT_INT64").Shape(FromShape<2>)));
  }
  RETURN_IF_ERROR(ops.Register(drawing("StatefulUniformFullInt")
                                   .Attr("dtype: type = DT_UINT64")
                                   .Attr("shape_dtype: type = DT_INT64")
                                   .Shape(FromShape<2>)));
  RETURN_IF_ERROR(ops.Register(generator("StatefulRandomBinomial")
                                   .Input("algorithm: int64")
                                   .Input("shape: S")
                                   .Input("counts: T")
                                   .Input("probs: T")
                                   .Output("output: dtype")
                                   .Attr("S: {int32, int64}")
                                   .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
                                   .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
                                   .Shape(FromShape<2>)));
  return ops.Register(drawing("StatefulUniformInt")
                          .Input("minval: dtype")
                          .Input("maxval: dtype")
                          .Attr("dtype: type = DT_INT64")
                          .Attr("shape_dtype: type = DT_INT64")
                          .Shape(FromShape<2>));
}

}  // namespace

absl::Status RegisterUpdateOps(OpRegistry& ops) {
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("StridedSliceAssign").Input("ref: Ref(T)")).Output("output_ref: Ref(T)"), shapes::Unchanged));
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("ResourceStridedSliceAssign").Input("ref: resource")).Stateful(), shapes::NoOutputs));
  RETURN_IF_ERROR(FinishSliceUpdate(
      ops, SliceUpdate(Op("TensorStridedSliceUpdate").Input("input: T")).Output("output: T"), shapes::Unchanged));
  for (const char* name : {"InplaceUpdate", "InplaceAdd", "InplaceSub"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("x: T")
                                     .Input("i: int32")
                                     .Input("v: T")
                                     .Output("y: T")
                                     .Attr("T: type")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ParallelConcat")
                                   .Input("values: N * T")
                                   .Output("output: T")
                                   .Attr("N: int >= 1")
                                   .Attr("T: type")
                                   .Attr("shape: shape")
                                   .Shape(ParallelConcatShape)));
  return RegisterGeneratorOps(ops);
}

}  // namespace weir
