// Softmax, log-softmax, and the cross-entropies computed from logits.
#include "graph/shapes/common_shapes.h"
#include "kernels/softmax/family.h"

namespace weir {

absl::Status RegisterSoftmaxOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Softmax")
                                   .Input("logits: T")
                                   .Output("softmax: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::Softmax)));
  RETURN_IF_ERROR(ops.Register(Op("LogSoftmax")
                                   .Input("logits: T")
                                   .Output("logsoftmax: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::Softmax)));
  RETURN_IF_ERROR(ops.Register(Op("SoftmaxCrossEntropyWithLogits")
                                   .Input("features: T")
                                   .Input("labels: T")
                                   .Output("loss: T")
                                   .Output("backprop: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::SoftmaxCrossEntropy)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSoftmaxCrossEntropyWithLogits")
                                   .Input("features: T")
                                   .Input("labels: Tlabels")
                                   .Output("loss: T")
                                   .Output("backprop: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("Tlabels: {int32, int64} = DT_INT64")
                                   .Shape(shapes::SparseSoftmaxCrossEntropy)));
  return absl::OkStatus();
}

}  // namespace weir
