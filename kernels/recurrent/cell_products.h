// Matrix products of recurrent cells on GPUs.
#pragma once

#include "core/gpu/gpu_op_kernel.h"
#include "kernels/linalg/matmul/gpu_product.h"

namespace weir {

// A step's input and the state before are multiplied by a matrix of weights whose first rows are the input's and whose
// last are the state's: by two products, so that nothing is put side by side, and all steps' inputs go at once.
class CellProducts {
 public:
  // Rows of one of the two.
  struct Weights {
    Tensor of_input, of_state;
    static Weights Of(const Tensor& w, int64_t input) {
      return {.of_input = w.Slice(0, input), .of_state = w.Slice(input, w.dim_size(0))};
    }
  };

  absl::Status Init(GpuDevice& gpu, DataType type) { return product_.Init(gpu, type); }

  // c[m, n] = op(a) op(b) of k multiplications each; nothing where that has no elements.
  absl::Status Multiply(const OpKernelContext& ctx, GpuStream& stream, const GpuProduct::Factors& factors, int64_t m,
                        int64_t n, int64_t k, const Tensor& c) const {
    if (m == 0 || n == 0) return absl::OkStatus();
    BatchMatMulSizes sizes;
    sizes.product = {.m = m, .n = n, .k = k};
    return product_.Enqueue(ctx, stream, factors, sizes, c).status();
  }
  // [rows, width of the weights], from rows of `from` numbers.
  absl::StatusOr<Tensor> Forward(const OpKernelContext& ctx, GpuStream& stream, const Tensor& in, int64_t rows,
                                 const Tensor& weights) const {
    const int64_t from = weights.dim_size(0), width = weights.dim_size(1);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({rows, width}));
    ASSIGN_OR_RETURN(Tensor made, ctx.allocate_temp(weights.dtype(), shape));
    RETURN_IF_ERROR(Multiply(ctx, stream, {.a = in, .b = weights}, rows, width, from, made));
    return made;
  }
  // The gradient at what Forward took, into `made`.
  absl::Status Back(const OpKernelContext& ctx, GpuStream& stream, const Tensor& gradient, int64_t rows,
                    const Tensor& weights, const Tensor& made) const {
    return Multiply(ctx, stream, {.a = gradient, .b = weights, .transpose_b = true}, rows, weights.dim_size(0),
                    weights.dim_size(1), made);
  }

 private:
  GpuProduct product_;
};

}  // namespace weir
