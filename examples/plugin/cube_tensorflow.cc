// The op of cube.cc for TensorFlow, to compare: built against TensorFlow's headers and loaded by tf.load_op_library.
// Gradients of such an op are written in Python (tf.RegisterGradient("MyCube")).
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

REGISTER_OP("MyCube")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Attr("scale: float = 1.0")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      return absl::OkStatus();
    });

template <typename T>
class CubeKernel : public tensorflow::OpKernel {
 public:
  explicit CubeKernel(tensorflow::OpKernelConstruction* ctx) : OpKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("scale", &scale_));
  }

  void Compute(tensorflow::OpKernelContext* ctx) override {
    const tensorflow::Tensor& x = ctx->input(0);
    tensorflow::Tensor* y = nullptr;
    OP_REQUIRES_OK(ctx, ctx->forward_input_or_allocate_output({0}, 0, x.shape(), &y));
    const auto from = x.flat<T>();
    auto to = y->flat<T>();
    for (int64_t i = 0; i < x.NumElements(); ++i) to(i) = static_cast<T>(scale_) * from(i) * from(i) * from(i);
  }

 private:
  float scale_ = 1;
};

REGISTER_KERNEL_BUILDER(Name("MyCube").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"), CubeKernel<float>);
REGISTER_KERNEL_BUILDER(Name("MyCube").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"), CubeKernel<double>);
