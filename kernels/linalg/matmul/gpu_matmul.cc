// MatMul, with what follows it, and the batched products.
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "kernels/device/gpu/body_kernel.h"
#include "kernels/elementwise/gpu_elementwise.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/matmul/args.h"
#include "kernels/linalg/matmul/gpu_product.h"

namespace weir {
namespace {

// MatMul, _FusedMatMul, BatchMatMul and its later versions: transposition by attributes of two names.
class MatMulKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    const DataType type = ctx.input_types()[0];
    is_batch_ = absl::StartsWith(ctx.op(), "BatchMatMul");
    broadcasts_ = ctx.op() != "BatchMatMul";
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_x" : "transpose_a", &transpose_a_));
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_y" : "transpose_b", &transpose_b_));
    if (ctx.op() == "_FusedMatMul") RETURN_IF_ERROR(ReadFusedOps(ctx, type));
    return product_.Init(gpu(), type);
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    BatchMatMulSizes sizes;
    if (is_batch_) {
      ASSIGN_OR_RETURN(sizes, BatchMatMulSizes::Of(a.shape(), b.shape(), transpose_a_, transpose_b_, broadcasts_));
    } else {
      ASSIGN_OR_RETURN(sizes.product, MatMulSizes::Of(a.shape(), b.shape(), transpose_a_, transpose_b_));
      ASSIGN_OR_RETURN(sizes.output, TensorShape::Build({sizes.product.m, sizes.product.n}));
    }
    if (has_bias_) {
      const TensorShape& bias = ctx.input(2).shape();
      if (bias.dims() != 1 || bias.dim_size(0) != sizes.product.n) {
        return errors::InvalidArgument("The bias of a product with ", sizes.product.n, " columns has shape ",
                                       bias.ToString());
      }
    }
    ASSIGN_OR_RETURN(Tensor * c, ctx.allocate_output(0, sizes.output));
    if (c->NumElements() == 0) return absl::OkStatus();
    MatMulEpilogue done = MatMulEpilogue::kNone;
    ASSIGN_OR_RETURN(done, product_.Enqueue(ctx, stream,
                                            {.a = a,
                                             .b = b,
                                             .transpose_a = transpose_a_,
                                             .transpose_b = transpose_b_,
                                             .conjugates = is_batch_ && IsComplex(a.dtype()),
                                             .epilogue = epilogue_,
                                             .bias = has_bias_ ? &ctx.input(2) : nullptr},
                                            sizes, *c));
    return Finish(ctx, stream, done, c);
  }

 private:
  // BiasAdd, and at most one activation of one operand.
  absl::Status ReadFusedOps(OpKernelConstruction& ctx, DataType type) {
    std::vector<std::string> ops;
    RETURN_IF_ERROR(ctx.GetAttr("fused_ops", &ops));
    if (ops.empty() || ops.size() > 2 || ops[0] != "BiasAdd") {
      return errors::Unimplemented("The GPU kernel of ", ctx.op(), " does not fuse [", absl::StrJoin(ops, ", "), "]");
    }
    if (ctx.input_types().size() != 3) {
      return errors::InvalidArgument("Fused ", ctx.op(), " must have one extra argument: the bias, not ",
                                     static_cast<int>(ctx.input_types().size()) - 2);
    }
    has_bias_ = true;
    epilogue_ = ops.size() == 2 && ops[1] == "Relu" ? MatMulEpilogue::kBiasRelu : MatMulEpilogue::kBias;
    ASSIGN_OR_RETURN(add_bias_, FindBody("BiasAdd", type));
    if (ops.size() == 2) {
      ASSIGN_OR_RETURN(activation_, FindElementwise(ops[1], type));
    }
    return absl::OkStatus();
  }

  // What is fused and has not been done yet, in place.
  absl::Status Finish(OpKernelContext& ctx, GpuStream& stream, MatMulEpilogue done, Tensor* c) const {
    if (has_bias_ && done == MatMulEpilogue::kNone) {
      const Tensor& bias = ctx.input(2);
      const BiasArgs args{.in = c->raw_data(),
                          .bias = bias.raw_data(),
                          .out = c->raw_data(),
                          .channels = bias.NumElements(),
                          .inner = 1,
                          .count = c->NumElements()};
      RETURN_IF_ERROR(stream.LaunchWith(add_bias_, args, {ReadOf(bias), WriteOf(*c)}));
    }
    if (!activation_.has_value() || done == MatMulEpilogue::kBiasRelu) return absl::OkStatus();
    return stream.LaunchWith(*activation_,
                             ElementwiseArgs{.x = c->raw_data(), .out = c->raw_data(), .count = c->NumElements()},
                             {WriteOf(*c)});
  }

  bool is_batch_ = false, broadcasts_ = false, transpose_a_ = false, transpose_b_ = false, has_bias_ = false;
  MatMulEpilogue epilogue_ = MatMulEpilogue::kNone;
  GpuProduct product_;
  GpuKernel add_bias_;
  std::optional<GpuKernel> activation_;
};

}  // namespace

absl::Status RegisterGpuMatMulKernels(KernelRegistry& kernels) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    RETURN_IF_ERROR(kernels.Register<MatMulKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuMultiplied)));
  }
  for (const DataType type : kGpuMultiplied) {
    RETURN_IF_ERROR(kernels.Register<MatMulKernel>(
        Kernel("BatchMatMulV3").Device(kDeviceGpu).Types("Ta", {type}).Types("Tb", {type}).Types("Tout", {type})));
  }
  return kernels.Register<MatMulKernel>(
      Kernel("_FusedMatMul").Device(kDeviceGpu).Types("T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}));
}

}  // namespace weir
