// MatMul: by cuBLASLt, and by loops on the simulated device.
#include "core/numeric_types.h"
#include "kernels/cuda/body_kernel.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/matmul_args.h"

namespace weir {
namespace {

template <typename T>
void Multiply(const MatMulArgs& args) {
  using C = AccumulatorT<T>;
  const T* const a = static_cast<const T*>(args.a);
  const T* const b = static_cast<const T*>(args.b);
  std::vector<C> row(args.n);
  for (int64_t i = 0; i < args.m; ++i) {
    std::fill(row.begin(), row.end(), C(0));
    for (int64_t p = 0; p < args.k; ++p) {
      const C x = static_cast<C>(a[args.transpose_a ? p * args.m + i : i * args.k + p]);
      for (int64_t j = 0; j < args.n; ++j) {
        row[j] += x * static_cast<C>(b[args.transpose_b ? j * args.k + p : p * args.n + j]);
      }
    }
    for (int64_t j = 0; j < args.n; ++j) static_cast<T*>(args.c)[i * args.n + j] = static_cast<T>(row[j]);
  }
}

void Simulate(const void* raw) {
  const MatMulArgs& args = *static_cast<const MatMulArgs*>(raw);
  switch (args.type) {
    case ElementType::kDouble:
      return Multiply<double>(args);
    case ElementType::kHalf:
      return Multiply<half>(args);
    case ElementType::kBfloat16:
      return Multiply<bfloat16>(args);
    default:
      return Multiply<float>(args);
  }
}

class MatMulKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("transpose_a", &transpose_a_));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_b", &transpose_b_));
    type_ = static_cast<ElementType>(ctx.input_types()[0]);
    kernel_ = {.name = "MatMul", .launch = CudaMatMul(), .simulate = &Simulate};
    return absl::OkStatus();
  }

  absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.dims() != b.dims()) {
      return errors::InvalidArgument("In[0] and In[1] has different ndims: ", a.shape().ToString(), " vs. ",
                                     b.shape().ToString());
    }
    if (a.dims() != 2) {
      return errors::InvalidArgument("In[0] and In[1] ndims must be 2: ", a.shape().ToString(), " and ",
                                     b.shape().ToString());
    }
    MatMulArgs args{.type = type_,
                    .transpose_a = transpose_a_,
                    .transpose_b = transpose_b_,
                    .m = a.dim_size(transpose_a_ ? 1 : 0),
                    .n = b.dim_size(transpose_b_ ? 0 : 1),
                    .k = a.dim_size(transpose_a_ ? 0 : 1)};
    if (b.dim_size(transpose_b_ ? 1 : 0) != args.k) {
      return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.shape().ToString(),
                                     ", In[1]: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({args.m, args.n}));
    ASSIGN_OR_RETURN(Tensor * c, ctx.allocate_output(0, shape));
    if (c->NumElements() == 0) return absl::OkStatus();
    if (args.k == 0) return stream.Fill(c->raw_data(), 0, static_cast<size_t>(c->TotalBytes()));
    args.a = a.raw_data();
    args.b = b.raw_data();
    args.c = c->raw_data();
    return stream.LaunchWith(kernel_, args, {ReadOf(a), ReadOf(b), WriteOf(*c)});
  }

 private:
  bool transpose_a_ = false, transpose_b_ = false;
  ElementType type_ = ElementType::kFloat;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuMatMulKernels(KernelRegistry& kernels) {
  return kernels.Register<MatMulKernel>(Kernel("MatMul").Device(kDeviceGpu).Types("T", kGpuFloats));
}

}  // namespace weir
