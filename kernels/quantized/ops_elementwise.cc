// Arithmetic on quantised integers, element by element, and normalised images of them.
#include "graph/shapes/common_shapes.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

void SetRangeShapes(InferenceContext& c) {
  for (int i : {1, 2}) c.set_output(i, c.Scalar());
}
// Products do not say that their ranges are scalars before they run.
template <bool kScalarRanges>
absl::Status BinaryShape(InferenceContext& c) {
  RETURN_IF_ERROR(shapes::BroadcastBinary(c));
  if (kScalarRanges) {
    for (int i = 2; i < 6; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  }
  SetRangeShapes(c);
  return absl::OkStatus();
}
absl::Status InstanceNormShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape images, c.WithRank(c.input(0), 4));
  for (int i : {1, 2}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  c.set_output(0, std::move(images));
  SetRangeShapes(c);
  return absl::OkStatus();
}

Op QuantizedBinary(const char* name) {
  return Op(name)
      .Input("x: T1")
      .Input("y: T2")
      .Input("min_x: float")
      .Input("max_x: float")
      .Input("min_y: float")
      .Input("max_y: float")
      .Output("z: Toutput")
      .Output("min_z: float")
      .Output("max_z: float")
      .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
      .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
      .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32");
}

}  // namespace

absl::Status RegisterQuantizedElementOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(QuantizedBinary("QuantizedAdd").Shape(BinaryShape<true>)));
  RETURN_IF_ERROR(ops.Register(QuantizedBinary("QuantizedMul").Shape(BinaryShape<false>)));
  return ops.Register(Op("QuantizedInstanceNorm")
                          .Input("x: T")
                          .Input("x_min: float")
                          .Input("x_max: float")
                          .Output("y: T")
                          .Output("y_min: float")
                          .Output("y_max: float")
                          .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
                          .Attr("output_range_given: bool = false")
                          .Attr("given_y_min: float = 0")
                          .Attr("given_y_max: float = 0")
                          .Attr("variance_epsilon: float = 1e-05")
                          .Attr("min_separation: float = 0.001")
                          .Shape(InstanceNormShape));
}

}  // namespace weir
