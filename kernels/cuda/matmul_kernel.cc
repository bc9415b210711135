// MatMul and the batched products: by cuBLASLt, and by loops on the simulated device.
#include <limits>

#include "core/matmul_sizes.h"
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

template <typename T>
void MultiplyBatch(MatMulArgs args) {
  for (int64_t i = 0; i < args.batch; ++i) {
    Multiply<T>(args);
    args.a = static_cast<const T*>(args.a) + args.a_step;
    args.b = static_cast<const T*>(args.b) + args.b_step;
    args.c = static_cast<T*>(args.c) + args.m * args.n;
  }
}

void Simulate(const void* raw) {
  const MatMulArgs& args = *static_cast<const MatMulArgs*>(raw);
  switch (args.type) {
    case ElementType::kDouble:
      return MultiplyBatch<double>(args);
    case ElementType::kHalf:
      return MultiplyBatch<half>(args);
    case ElementType::kBfloat16:
      return MultiplyBatch<bfloat16>(args);
    default:
      return MultiplyBatch<float>(args);
  }
}

// MatMul, BatchMatMul and its later versions: transposition by attributes of two names.
class MatMulKernel : public GpuOpKernel {
 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    is_batch_ = ctx.op() != "MatMul";
    broadcasts_ = ctx.op() != "BatchMatMul";
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_x" : "transpose_a", &transpose_a_));
    RETURN_IF_ERROR(ctx.GetAttr(is_batch_ ? "adj_y" : "transpose_b", &transpose_b_));
    type_ = static_cast<ElementType>(ctx.input_types()[0]);
    kernel_ = {.name = "MatMul", .launch = CudaMatMul(), .simulate = &Simulate};
    return absl::OkStatus();
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
    ASSIGN_OR_RETURN(Tensor * c, ctx.allocate_output(0, sizes.output));
    if (c->NumElements() == 0) return absl::OkStatus();
    if (sizes.product.k == 0) return stream.Fill(c->raw_data(), 0, static_cast<size_t>(c->TotalBytes()));
    return Multiply(stream, a, b, sizes, c);
  }

 private:
  // A call for each batch whose operands lie at equal steps.
  absl::Status Multiply(GpuStream& stream, const Tensor& a, const Tensor& b, const BatchMatMulSizes& sizes,
                        Tensor* c) const {
    const auto& [m, n, k] = sizes.product;
    const auto& [shape, dims, a_steps, b_steps] = sizes.batches;
    MatMulArgs args{.type = type_,
                    .transpose_a = transpose_a_,
                    .transpose_b = transpose_b_,
                    .m = m,
                    .n = n,
                    .k = k,
                    .batch = dims.empty() ? 1 : dims.back(),
                    .a_step = dims.empty() ? 0 : a_steps.back() * m * k,
                    .b_step = dims.empty() ? 0 : b_steps.back() * k * n};
    if (args.batch > std::numeric_limits<int32_t>::max()) {
      return errors::Unimplemented("A batch of ", args.batch, " products on a GPU, which takes at most ",
                                   std::numeric_limits<int32_t>::max());
    }
    const int64_t size = DataTypeSize(a.dtype()), calls = c->NumElements() / (m * n) / args.batch;
    for (int64_t call = 0; call < calls; ++call) {
      int64_t a_at = 0, b_at = 0, rest = call;
      for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d) {
        a_at += rest % dims[d] * a_steps[d];
        b_at += rest % dims[d] * b_steps[d];
        rest /= dims[d];
      }
      args.a = static_cast<const char*>(a.raw_data()) + a_at * m * k * size;
      args.b = static_cast<const char*>(b.raw_data()) + b_at * k * n * size;
      args.c = static_cast<char*>(c->raw_data()) + call * args.batch * m * n * size;
      RETURN_IF_ERROR(stream.LaunchWith(kernel_, args, {ReadOf(a), ReadOf(b), WriteOf(*c)}));
    }
    return absl::OkStatus();
  }

  bool is_batch_ = false, broadcasts_ = false, transpose_a_ = false, transpose_b_ = false;
  ElementType type_ = ElementType::kFloat;
  GpuKernel kernel_;
};

}  // namespace

absl::Status RegisterGpuMatMulKernels(KernelRegistry& kernels) {
  for (const char* op : {"MatMul", "BatchMatMul", "BatchMatMulV2"}) {
    RETURN_IF_ERROR(kernels.Register<MatMulKernel>(Kernel(op).Device(kDeviceGpu).Types("T", kGpuFloats)));
  }
  return absl::OkStatus();
}

}  // namespace weir
