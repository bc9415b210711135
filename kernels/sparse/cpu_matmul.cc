// Products with a sparse matrix: one given by indices, or a dense one that holds many zeros.
#include <algorithm>
#include <cstring>

#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/parallel.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/linalg/matmul/gemm.h"
#include "kernels/sparse/args_matmul.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"

namespace weir {
namespace {

constexpr int64_t kPicosecondsPerMultiply = 250;

template <typename T>
T Conjugate(T x) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// An entry as op(a) sees it.
struct Place {
  int64_t row, column;
};

// a_indices, a_values, a_shape, b.
template <typename T>
class SparseTensorDenseMatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("adjoint_a", &adjoint_a_));
    return ctx.GetAttr("adjoint_b", &adjoint_b_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseProductSizes sizes, SparseProductSizes::Of(ctx, adjoint_a_, adjoint_b_));
    const Tensor &values = ctx.input(1), &b = ctx.input(3);
    const TensorShape& shape = sizes.output;
    const int64_t columns = sizes.columns;
    ASSIGN_OR_RETURN(const std::vector<Place> places, Places(ctx.input(0), sizes.rows, sizes.inner));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor right, Rows(ctx, b));
    Tensor sums = *output;
    if (sizeof(Sum) != sizeof(T)) {
      ASSIGN_OR_RETURN(sums, ctx.allocate_temp(DataTypeOf<Sum>(), shape));
    }
    std::fill_n(sums.data<Sum>(), shape.num_elements(), Sum{});
    const T *const x = values.data<T>(), *const y = right.data<T>();
    // Columns are independent; within one, entries are added in order.
    ParallelRanges(ctx, columns, places.size() * kPicosecondsPerMultiply, [&](int64_t begin, int64_t end) {
      for (size_t i = 0; i < places.size(); ++i) {
        const Sum factor = static_cast<Sum>(adjoint_a_ ? Conjugate(x[i]) : x[i]);
        Sum* const __restrict to = sums.data<Sum>() + places[i].row * columns;
        const T* const __restrict from = y + places[i].column * columns;
        for (int64_t j = begin; j < end; ++j) MultiplyAdd(factor, static_cast<Sum>(from[j]), &to[j]);
      }
    });
    if (sizeof(Sum) != sizeof(T)) {
      FindCast(DataTypeOf<Sum>(), DataTypeOf<T>())(sums.raw_data(), output->raw_data(), shape.num_elements());
    }
    return absl::OkStatus();
  }

 private:
  using Sum = AccumulatorT<T>;

  static void MultiplyAdd(Sum a, Sum b, Sum* sum) {
    if constexpr (std::is_integral_v<T>) {
      *sum = static_cast<Sum>(static_cast<uint64_t>(*sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      *sum += a * b;
    }
  }

  absl::StatusOr<std::vector<Place>> Places(const Tensor& indices, int64_t rows, int64_t inner) const {
    ASSIGN_OR_RETURN(const DimVector flat, ReadIntegers(indices));
    std::vector<Place> places(indices.dim_size(0));
    const int row = adjoint_a_ ? 1 : 0, column = 1 - row;
    for (size_t i = 0; i < places.size(); ++i) {
      places[i] = {flat[2 * i + row], flat[2 * i + column]};
      if (places[i].column < 0 || places[i].column >= inner) {
        return errors::InvalidArgument("k (", places[i].column, ") from index[", i, ",", column,
                                       "] out of bounds (>=", inner, ")");
      }
      if (places[i].row < 0 || places[i].row >= rows) {
        return errors::InvalidArgument("m (", places[i].row, ") from index[", i, ",", row, "] out of bounds (>=", rows,
                                       ")");
      }
    }
    return places;
  }

  // op(b) in row-major order.
  absl::StatusOr<Tensor> Rows(OpKernelContext& ctx, const Tensor& b) const {
    if (!adjoint_b_) return b;
    const int64_t rows = b.dim_size(1), columns = b.dim_size(0);
    ASSIGN_OR_RETURN(Tensor turned, ctx.allocate_temp(b.dtype(), TensorShape({rows, columns})));
    for (int64_t i = 0; i < columns; ++i) {
      for (int64_t j = 0; j < rows; ++j) {
        turned.data<T>()[j * columns + i] = Conjugate(b.data<T>()[i * rows + j]);
      }
    }
    return turned;
  }

  bool adjoint_a_ = false, adjoint_b_ = false;
};

// Zeros are not looked for: the dense product is the faster one.
class SparseMatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("transpose_a", &transpose_a_));
    return ctx.GetAttr("transpose_b", &transpose_b_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (a.dims() != 2) return errors::InvalidArgument("a is not a matrix");
    if (b.dims() != 2) return errors::InvalidArgument("b is not a matrix");
    GemmArgs g;
    g.transpose_a = transpose_a_;
    g.transpose_b = transpose_b_;
    g.m = a.dim_size(transpose_a_ ? 1 : 0);
    g.k = a.dim_size(transpose_a_ ? 0 : 1);
    g.n = b.dim_size(transpose_b_ ? 0 : 1);
    if (g.k != b.dim_size(transpose_b_ ? 1 : 0)) {
      return errors::InvalidArgument("Matrix size incompatible: a: ", a.shape().ToString(),
                                     ", b: ", b.shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({{g.m, g.n}}));
    ASSIGN_OR_RETURN(const Tensor left, Floats(ctx, a));
    ASSIGN_OR_RETURN(const Tensor right, Floats(ctx, b));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    g.lda = a.dim_size(1);
    g.ldb = b.dim_size(1);
    g.ldc = g.n;
    g.b = right.raw_data();
    ParallelRanges(ctx, g.m, std::max<int64_t>(1, g.n * g.k) * 15, [&](int64_t begin, int64_t end) {
      GemmArgs part = g;
      part.a = left.data<float>() + begin * (g.transpose_a ? 1 : g.lda);
      part.c = output->data<float>() + begin * g.n;
      part.m = end - begin;
      GemmFloat(part);
    });
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> Floats(OpKernelContext& ctx, const Tensor& tensor) {
    if (tensor.dtype() == DT_FLOAT) return tensor;
    ASSIGN_OR_RETURN(Tensor floats, ctx.allocate_temp(DT_FLOAT, tensor.shape()));
    FindCast(tensor.dtype(), DT_FLOAT)(tensor.raw_data(), floats.raw_data(), tensor.NumElements());
    return floats;
  }

  bool transpose_a_ = false, transpose_b_ = false;
};

}  // namespace

absl::Status RegisterSparseMatMulKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(       \
      kernels.Register<SparseTensorDenseMatMulKernel<T>>(Kernel("SparseTensorDenseMatMul").Cpu().Type<T>("T")));
  WEIR_FOR_FLOATS(WEIR_REGISTER)
  WEIR_FOR_COMPLEX(WEIR_REGISTER)
  WEIR_REGISTER(int32_t)
  WEIR_REGISTER(int64_t)
#undef WEIR_REGISTER
  for (DataType a : {DT_FLOAT, DT_BFLOAT16}) {
    for (DataType b : {DT_FLOAT, DT_BFLOAT16}) {
      RETURN_IF_ERROR(
          kernels.Register<SparseMatMulKernel>(Kernel("SparseMatMul").Cpu().Types("Ta", {a}).Types("Tb", {b})));
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
