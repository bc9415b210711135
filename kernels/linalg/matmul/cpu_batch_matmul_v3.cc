// BatchMatMulV3: batches of matrices of types that may differ.
#include "kernels/device/elements.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cpu_elementwise.h"
#include "kernels/linalg/family.h"
#include "kernels/linalg/matmul/gemm.h"

namespace weir {
namespace {

// x and y are batches of matrices of types that may differ; the product has the output's. Batch dimensions broadcast.
class BatchMatMulV3Kernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("adj_x", &adjoint_[0]));
    RETURN_IF_ERROR(ctx.GetAttr("adj_y", &adjoint_[1]));
    gemm_ = FindGemm(ctx.output_types()[0]);
    if (gemm_ != nullptr) return absl::OkStatus();
    return errors::Unimplemented("BatchMatMulV3 on CPU has no kernel for output type ",
                                 DataTypeName(ctx.output_types()[0]));
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    GemmArgs g;
    TensorShape batches[2];
    int64_t sizes[2][2];
    for (int i : {0, 1}) {
      const TensorShape& shape = ctx.input(i).shape();
      if (shape.dims() < 2) return errors::InvalidArgument("In[", i, "] ndims must be >= 2: ", shape.dims());
      batches[i] = TensorShape(shape.dim_sizes().first(shape.dims() - 2));
      for (int d : {0, 1}) sizes[i][d] = shape.dim_size(shape.dims() - 2 + d);
    }
    absl::StatusOr<Broadcasting> batch = Broadcasting::Of(batches[0], batches[1]);
    if (!batch.ok()) {
      return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ",
                                     ctx.input(0).shape().ToString(), " vs. ", ctx.input(1).shape().ToString());
    }
    g.transpose_a = g.conjugate_a = adjoint_[0];
    g.transpose_b = g.conjugate_b = adjoint_[1];
    g.m = sizes[0][adjoint_[0] ? 1 : 0];
    g.k = sizes[0][adjoint_[0] ? 0 : 1];
    g.n = sizes[1][adjoint_[1] ? 0 : 1];
    if (g.k != sizes[1][adjoint_[1] ? 1 : 0]) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", ctx.input(0).shape().ToString(),
                                     ", In[1]: ", ctx.input(1).shape().ToString());
    }
    g.lda = sizes[0][1];
    g.ldb = sizes[1][1];
    g.ldc = g.n;
    TensorShape shape = batch->shape;
    RETURN_IF_ERROR(shape.AddDim(g.m));
    RETURN_IF_ERROR(shape.AddDim(g.n));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    if (g.k == 0) {
      ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const Tensor x, ConvertTensor(ctx, ctx.input(0), output->dtype()));
    ASSIGN_OR_RETURN(const Tensor y, ConvertTensor(ctx, ctx.input(1), output->dtype()));
    const int64_t width = static_cast<int64_t>(DataTypeSize(output->dtype()));
    const double cost =
        std::min(1e15, 50.0 * static_cast<double>(g.m) * static_cast<double>(g.n) * static_cast<double>(g.k));
    ParallelRanges(ctx, batch->shape.num_elements(), static_cast<int64_t>(cost) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t item = i, x_item = 0, y_item = 0;
        for (int d = static_cast<int>(batch->sizes.size()) - 1; d >= 0; --d) {
          x_item += item % batch->sizes[d] * batch->x_steps[d];
          y_item += item % batch->sizes[d] * batch->y_steps[d];
          item /= batch->sizes[d];
        }
        GemmArgs one = g;
        one.a = static_cast<const char*>(x.raw_data()) + x_item * g.m * g.k * width;
        one.b = static_cast<const char*>(y.raw_data()) + y_item * g.k * g.n * width;
        one.c = static_cast<char*>(output->raw_data()) + i * g.m * g.n * width;
        gemm_(one);
      }
    });
    return absl::OkStatus();
  }

 private:
  bool adjoint_[2] = {false, false};
  Gemm gemm_ = nullptr;
};

}  // namespace

absl::Status RegisterBatchMatMulV3Kernels(KernelRegistry& kernels) {
  return kernels.Register<BatchMatMulV3Kernel>(Kernel("BatchMatMulV3").Cpu());
}

}  // namespace weir
