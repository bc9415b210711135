// Neural networks: activations, losses, convolutions, pooling, normalisation, the largest elements.
#include "core/attr_value.h"
#include "core/status.h"
#include "graph/common_shapes.h"
#include "graph/shape_inference.h"
#include "kernels/nn/family.h"

namespace weir {
namespace {

// The gradient has the shape of the input.
absl::Status MaxPoolGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// The windows are inputs: where they are constants they tell the shape.
absl::Status MaxPoolV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape window, c.InputAsShape(1));
  ASSIGN_OR_RETURN(PartialTensorShape strides, c.InputAsShape(2));
  ASSIGN_OR_RETURN(window, c.WithRank(window, 4));
  ASSIGN_OR_RETURN(strides, c.WithRank(strides, 4));
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  DimVector out(4, -1);
  for (int i = 0; i < 4; ++i) {
    if (strides.dim_size(i) == -1) continue;
    ASSIGN_OR_RETURN(out[i], shapes::WindowedSize(in.dim_size(i), window.dim_size(i), strides.dim_size(i), 1, padding));
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(out));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

bool HasDepth(const InferenceContext& c) {
  std::string format;
  return c.GetAttr("data_format", &format).ok() && format.size() == 5;  // NDHWC, NCDHW
}

absl::Status BatchNormV3Shape(InferenceContext& c) {
  if (!HasDepth(c)) return shapes::FusedBatchNorm(c);
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(0), 5));
  c.set_output(0, std::move(x));
  for (int i = 1; i < 5; ++i) c.set_output(i, c.input(1));
  return absl::OkStatus();
}

absl::Status BatchNormGradV3Shape(InferenceContext& c) {
  if (!HasDepth(c)) return shapes::FusedBatchNormGrad(c);
  ASSIGN_OR_RETURN(PartialTensorShape x, c.WithRank(c.input(1), 5));
  c.set_output(0, std::move(x));
  for (int i : {1, 2}) c.set_output(i, c.input(2));
  for (int i : {3, 4}) c.set_output(i, c.Vector(0));
  return absl::OkStatus();
}

absl::Status LrnShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status LrnGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 4).status());
  return shapes::MergeAll(c);
}

// The last dimension is dropped.
absl::Status NthElementShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRankAtLeast(c.input(0), 1));
  ASSIGN_OR_RETURN(const int64_t n, c.InputAsScalar(1));
  const int64_t last = c.Dim(in, -1);
  if (n >= 0 && last >= 0 && last <= n) {
    return errors::InvalidArgument("Input must have last dimension > n = ", n, " but is ", last);
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.Subshape(in, 0, -1));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status RegisterActivationOps(OpRegistry& ops) {
  for (const char* name : {"Elu", "Selu", "Softplus", "Softsign"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("features: T")
                                     .Output("activations: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Shape(shapes::Unchanged)));
  }
  for (const char* name : {"EluGrad", "SeluGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("outputs: T")
                                     .Output("backprops: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Shape(shapes::MergeAll)));
  }
  for (const char* name : {"SoftplusGrad", "SoftsignGrad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("features: T")
                                     .Output("backprops: T")
                                     .Attr("T: {half, bfloat16, float, double}")
                                     .Shape(shapes::MergeAll)));
  }
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
  RETURN_IF_ERROR(ops.Register(
      Op("Relu")
          .Input("features: T")
          .Output("activations: T")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}")
          .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(
      Op("Relu6").Input("features: T").Output("activations: T").Attr("T: realnumbertype").Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("LeakyRelu")
                                   .Input("features: T")
                                   .Output("activations: T")
                                   .Attr("alpha: float = 0.20000000298023224")
                                   .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"ReluGrad", "Relu6Grad"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("gradients: T")
                                     .Input("features: T")
                                     .Output("backprops: T")
                                     .Attr("T: realnumbertype")
                                     .Shape(shapes::MergeAll)));
  }
  RETURN_IF_ERROR(ops.Register(Op("LeakyReluGrad")
                                   .Input("gradients: T")
                                   .Input("features: T")
                                   .Output("backprops: T")
                                   .Attr("alpha: float = 0.20000000298023224")
                                   .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                                   .Shape(shapes::MergeAll)));
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
  RETURN_IF_ERROR(ops.Register(
      Op("L2Loss").Input("t: T").Output("output: T").Attr("T: {half, bfloat16, float, double}").Shape(shapes::Scalar)));
  return absl::OkStatus();
}

absl::Status RegisterWindowOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Conv2D")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2D)));
  RETURN_IF_ERROR(ops.Register(Op("Conv2DBackpropInput")
                                   .Input("input_sizes: int32")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropInput)));
  RETURN_IF_ERROR(ops.Register(Op("Conv2DBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropFilter)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNative")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::DepthwiseConv2D)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNativeBackpropInput")
                                   .Input("input_sizes: int32")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropInput)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNativeBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropFilter)));
  RETURN_IF_ERROR(ops.Register(
      Op("MaxPool")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
          .Attr("ksize: list(int) >= 4")
          .Attr("strides: list(int) >= 4")
          .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
          .Attr("explicit_paddings: list(int) = []")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Shape(shapes::Pool)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype = DT_FLOAT")
                                   .Shape(MaxPoolGradShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("MaxPoolV2")
          .Input("input: T")
          .Input("ksize: int32")
          .Input("strides: int32")
          .Output("output: T")
          .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
          .Attr("padding: {'SAME', 'VALID'}")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Shape(MaxPoolV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradV2")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Input("ksize: int32")
                                   .Input("strides: int32")
                                   .Output("output: T")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype = DT_FLOAT")
                                   .Shape(MaxPoolGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPool")
                                   .Input("value: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::Pool)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPoolGrad")
                                   .Input("orig_input_shape: int32")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::AvgPoolGrad)));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterNnOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterActivationOps(ops));
  RETURN_IF_ERROR(RegisterWindowOps(ops));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNorm")
                                   .Input("x: T")
                                   .Input("scale: T")
                                   .Input("offset: T")
                                   .Input("mean: T")
                                   .Input("variance: T")
                                   .Output("y: T")
                                   .Output("batch_mean: T")
                                   .Output("batch_variance: T")
                                   .Output("reserve_space_1: T")
                                   .Output("reserve_space_2: T")
                                   .Attr("T: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNorm)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormV2")
                                   .Input("x: T")
                                   .Input("scale: U")
                                   .Input("offset: U")
                                   .Input("mean: U")
                                   .Input("variance: U")
                                   .Output("y: T")
                                   .Output("batch_mean: U")
                                   .Output("batch_variance: U")
                                   .Output("reserve_space_1: U")
                                   .Output("reserve_space_2: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNorm)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormV3")
                                   .Input("x: T")
                                   .Input("scale: U")
                                   .Input("offset: U")
                                   .Input("mean: U")
                                   .Input("variance: U")
                                   .Output("y: T")
                                   .Output("batch_mean: U")
                                   .Output("batch_variance: U")
                                   .Output("reserve_space_1: U")
                                   .Output("reserve_space_2: U")
                                   .Output("reserve_space_3: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {bfloat16, float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("exponential_avg_factor: float = 1.0")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(BatchNormV3Shape)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGrad")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: T")
                                   .Input("reserve_space_1: T")
                                   .Input("reserve_space_2: T")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: T")
                                   .Output("offset_backprop: T")
                                   .Output("reserve_space_3: T")
                                   .Output("reserve_space_4: T")
                                   .Attr("T: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNormGrad)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGradV2")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: float")
                                   .Input("reserve_space_1: U")
                                   .Input("reserve_space_2: U")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: U")
                                   .Output("offset_backprop: U")
                                   .Output("reserve_space_3: U")
                                   .Output("reserve_space_4: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(shapes::FusedBatchNormGrad)));
  RETURN_IF_ERROR(ops.Register(Op("FusedBatchNormGradV3")
                                   .Input("y_backprop: T")
                                   .Input("x: T")
                                   .Input("scale: float")
                                   .Input("reserve_space_1: U")
                                   .Input("reserve_space_2: U")
                                   .Input("reserve_space_3: U")
                                   .Output("x_backprop: T")
                                   .Output("scale_backprop: U")
                                   .Output("offset_backprop: U")
                                   .Output("reserve_space_4: U")
                                   .Output("reserve_space_5: U")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Attr("U: {float}")
                                   .Attr("epsilon: float = 9.999999747378752e-05")
                                   .Attr("data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'")
                                   .Attr("is_training: bool = true")
                                   .Shape(BatchNormGradV3Shape)));
  RETURN_IF_ERROR(ops.Register(Op("LRN")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("depth_radius: int = 5")
                                   .Attr("bias: float = 1.0")
                                   .Attr("alpha: float = 1.0")
                                   .Attr("beta: float = 0.5")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape(LrnShape)));
  RETURN_IF_ERROR(ops.Register(Op("LRNGrad")
                                   .Input("input_grads: T")
                                   .Input("input_image: T")
                                   .Input("output_image: T")
                                   .Output("output: T")
                                   .Attr("depth_radius: int = 5")
                                   .Attr("bias: float = 1.0")
                                   .Attr("alpha: float = 1.0")
                                   .Attr("beta: float = 0.5")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape(LrnGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("TopKV2")
                                   .Input("input: T")
                                   .Input("k: Tk")
                                   .Output("values: T")
                                   .Output("indices: index_type")
                                   .Attr("sorted: bool = true")
                                   .Attr("T: realnumbertype")
                                   .Attr("Tk: {int16, int32, int64} = DT_INT32")
                                   .Attr("index_type: {int16, int32, int64} = DT_INT32")
                                   .Shape(shapes::TopK)));
  RETURN_IF_ERROR(ops.Register(Op("TopK")
                                   .Input("input: T")
                                   .Output("values: T")
                                   .Output("indices: int32")
                                   .Attr("k: int >= 0")
                                   .Attr("sorted: bool = true")
                                   .Attr("T: realnumbertype")
                                   .Deprecated(7, "Use TopKV2 instead")
                                   .Shape(shapes::TopK)));
  RETURN_IF_ERROR(ops.Register(Op("InTopK")
                                   .Input("predictions: float")
                                   .Input("targets: T")
                                   .Output("precision: bool")
                                   .Attr("k: int")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(shapes::InTopK)));
  RETURN_IF_ERROR(ops.Register(Op("InTopKV2")
                                   .Input("predictions: float")
                                   .Input("targets: T")
                                   .Input("k: T")
                                   .Output("precision: bool")
                                   .Attr("T: {int32, int64} = DT_INT32")
                                   .Shape(shapes::InTopK)));
  RETURN_IF_ERROR(ops.Register(Op("NthElement")
                                   .Input("input: T")
                                   .Input("n: int32")
                                   .Output("values: T")
                                   .Attr("reverse: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(NthElementShape)));
  return absl::OkStatus();
}

}  // namespace weir
