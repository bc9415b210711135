// The op MyCube: y = scale * x^3, with kernel and gradient.
#include <vector>

#include "weir/core/kernel/kernel_registry.h"
#include "weir/core/op/op_registry.h"
#include "weir/graph/gradients/gradient_context.h"
#include "weir/graph/shapes/shape_inference.h"
#include "weir/kernels/plugin.h"

namespace {

using weir::GradientContext;
using weir::Output;

template <typename T>
class CubeKernel : public weir::OpKernel {
 public:
  absl::Status Init(weir::OpKernelConstruction& ctx) override { return ctx.GetAttr("scale", &scale_); }

  absl::Status Compute(weir::OpKernelContext& ctx) override {
    const weir::Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(weir::Tensor* const y, ctx.forward_input_or_allocate_output({0}, 0, x.shape()));
    const T* const from = x.data<T>();
    T* const to = y->data<T>();
    for (int64_t i = 0; i < x.NumElements(); ++i) to[i] = static_cast<T>(scale_) * from[i] * from[i] * from[i];
    return absl::OkStatus();
  }

 private:
  float scale_ = 1;
};

absl::Status RegisterOps(weir::OpRegistry& ops) {
  return ops.Register(weir::Op("MyCube")
                          .Input("x: T")
                          .Output("y: T")
                          .Attr("T: {float, double}")
                          .Attr("scale: float = 1.0")
                          .Elementwise()
                          .Shape(weir::shapes::Unchanged));
}

// dx = 3 * scale * x^2 * dy
absl::Status CubeGradient(GradientContext& ctx) {
  const Output square = ctx.Call("Square", {ctx.input(0)});
  const Output slope = ctx.Call("Mul", {square, 3 * ctx.Attr<float>("scale")});
  ctx.set_grad(0, ctx.Call("Mul", {slope, ctx.dy()}));
  return absl::OkStatus();
}

absl::Status RegisterGradients(weir::OpRegistry& ops) { return ops.RegisterGradient("MyCube", CubeGradient); }

absl::Status RegisterKernels(weir::KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<CubeKernel<float>>(weir::Kernel("MyCube").Cpu().Type<float>("T")));
  return kernels.Register<CubeKernel<double>>(weir::Kernel("MyCube").Cpu().Type<double>("T"));
}

}  // namespace

WEIR_PLUGIN({.name = "cube", .ops = {RegisterOps}, .kernels = {RegisterKernels}, .gradients = {RegisterGradients}})
