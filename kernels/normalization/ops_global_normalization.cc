// Batch normalisation with given moments, deprecated.
#include "kernels/device/op_shapes.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

absl::Status GlobalNormalizationShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  for (int i = 1; i < 5; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 1).status());
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status GlobalNormalizationGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(shape, c.Merge(shape, c.input(4)));
  c.set_output(0, std::move(shape));
  for (int i = 1; i < 5; ++i) c.set_output(i, c.input(i < 4 ? i : 3));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterGlobalNormalizationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(
      ops.Register(Op("BatchNormWithGlobalNormalization")
                       .Input("t: T")
                       .Input("m: T")
                       .Input("v: T")
                       .Input("beta: T")
                       .Input("gamma: T")
                       .Output("result: T")
                       .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
                       .Attr("variance_epsilon: float")
                       .Attr("scale_after_normalization: bool")
                       .Deprecated(9, "Use tf.nn.batch_normalization()")
                       .Shape(GlobalNormalizationShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("BatchNormWithGlobalNormalizationGrad")
                       .Input("t: T")
                       .Input("m: T")
                       .Input("v: T")
                       .Input("gamma: T")
                       .Input("backprop: T")
                       .Output("dx: T")
                       .Output("dm: T")
                       .Output("dv: T")
                       .Output("db: T")
                       .Output("dg: T")
                       .Attr("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
                             "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}")
                       .Attr("variance_epsilon: float")
                       .Attr("scale_after_normalization: bool")
                       .Deprecated(9, "Use tf.nn.batch_normalization()")
                       .Shape(GlobalNormalizationGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
