// Activations, biases and the L2 loss.
#include "graph/shapes/common_shapes.h"
#include "kernels/activation/family.h"

namespace weir {
namespace {

absl::Status RegisterElementActivationOps(OpRegistry& ops) {
  for (const char* name : {"Elu", "Selu", "Softplus", "Softsign"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("features: T")
                                     .Output("activations: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"EluGrad", "SeluGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("outputs: T")
                                     .Output("backprops: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::MergeAll)));
  }
  for (const char* name : {"SoftplusGrad", "SoftsignGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("features: T")
                                     .Output("backprops: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Elementwise()
                                     .Shape(shapes::MergeAll)));
  }
  RETURN_IF_ERROR(ops.Register(
      Op("Relu")
          .Input("features: T")
          .Output("activations: T")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}")
          .Elementwise()
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("Relu6")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("T: realnumbertype")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("LeakyRelu")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("alpha: float = 0.20000000298023224")
                                   .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                                   .Elementwise()
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"ReluGrad", "Relu6Grad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("features: T")
                                     .Output("backprops: T")
                                     .Attr("T: realnumbertype")
                                     .Elementwise()
                                     .Shape(shapes::MergeAll)));
  }
  RETURN_IF_ERROR(ops.Register(Op("LeakyReluGrad")
                                   .Input("gradients: T")
                                   .Input("features: T")
                                   .Output("backprops: T")
                                   .Attr("alpha: float = 0.20000000298023224")
                                   .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                                   .Elementwise()
                                   .Shape(shapes::MergeAll)));
  return absl::OkStatus();
}

absl::Status RegisterBiasOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("BiasAdd")
                                   .Input("value: T")
                                   .Input("bias: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Shape(shapes::BiasAdd)));
  RETURN_IF_ERROR(ops.Register(Op("BiasAddV1")
                                   .Input("value: T")
                                   .Input("bias: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Shape(shapes::BiasAdd)));
  RETURN_IF_ERROR(ops.Register(Op("BiasAddGrad")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Shape(shapes::BiasAddGrad)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterActivationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterElementActivationOps(ops));
  RETURN_IF_ERROR(RegisterBiasOps(ops));
  RETURN_IF_ERROR(ops.Register(
      Op("L2Loss").Input("t: T").Output("output: T").Attr("T: {half, bfloat16, float, double}").Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
