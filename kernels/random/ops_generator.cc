// Random numbers from a generator whose state is a variable.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/random/family.h"

namespace weir {
namespace {

// The shape is the value of input kInput.
template <int kInput>
absl::Status ShapeFromInput(InferenceContext& c) {
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

}  // namespace

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
                                   .Shape(ShapeFromInput<1>)));
  for (const char* name : {"StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"}) {
    RETURN_IF_ERROR(ops.Register(
        drawing(name).Attr("dtype: type = DT_FLOAT").Attr("shape_dtype: type = DT_INT64").Shape(ShapeFromInput<2>)));
  }
  RETURN_IF_ERROR(ops.Register(drawing("StatefulUniformFullInt")
                                   .Attr("dtype: type = DT_UINT64")
                                   .Attr("shape_dtype: type = DT_INT64")
                                   .Shape(ShapeFromInput<2>)));
  RETURN_IF_ERROR(ops.Register(generator("StatefulRandomBinomial")
                                   .Input("algorithm: int64")
                                   .Input("shape: S")
                                   .Input("counts: T")
                                   .Input("probs: T")
                                   .Output("output: dtype")
                                   .Attr("S: {int32, int64}")
                                   .Attr("T: {half, float, double, int32, int64} = DT_DOUBLE")
                                   .Attr("dtype: {half, float, double, int32, int64} = DT_INT64")
                                   .Shape(ShapeFromInput<2>)));
  return ops.Register(drawing("StatefulUniformInt")
                          .Input("minval: dtype")
                          .Input("maxval: dtype")
                          .Attr("dtype: type = DT_INT64")
                          .Attr("shape_dtype: type = DT_INT64")
                          .Shape(ShapeFromInput<2>));
}

}  // namespace weir
