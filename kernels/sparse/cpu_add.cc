// Sums of sparse tensors, with each other and with dense ones.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_tensor.h"
#include "kernels/state/update_loops.h"

namespace weir {
namespace {

// The two operands are checked together: a.indices, a.values, a.shape, b.indices, b.values, b.shape.
absl::Status CheckOperands(const OpKernelContext& ctx) {
  const auto shape = [&ctx](int i) -> const TensorShape& { return ctx.input(i).shape(); };
  const auto both = [&](int part) { return absl::StrCat(shape(part).ToString(), " and ", shape(3 + part).ToString()); };
  if (shape(0).dims() != 2 || shape(3).dims() != 2) {
    return errors::InvalidArgument("Input indices should be matrices but received shapes: ", both(0));
  }
  if (shape(1).dims() != 1 || shape(4).dims() != 1) {
    return errors::InvalidArgument("Input values should be vectors but received shapes: ", both(1));
  }
  if (shape(2).dims() != 1 || shape(5).dims() != 1) {
    return errors::InvalidArgument("Input shapes should be a vector but received shapes ", both(2));
  }
  if (shape(0).dim_size(0) != shape(1).dim_size(0) || shape(3).dim_size(0) != shape(4).dim_size(0)) {
    return errors::InvalidArgument("Expected ", shape(0).dim_size(0), " and ", shape(3).dim_size(0),
                                   " non-empty input values, got ", shape(1).dim_size(0), " and ",
                                   shape(4).dim_size(0));
  }
  if (shape(0).dim_size(1) != shape(3).dim_size(1)) {
    return errors::InvalidArgument("Input indices must have the same dimension, got ", shape(0).dim_size(1), " and ",
                                   shape(3).dim_size(1));
  }
  const auto check_columns = [&shape](int first, const char* name) -> absl::Status {
    if (shape(first).dim_size(1) == shape(first + 2).dim_size(0)) return absl::OkStatus();
    return errors::InvalidArgument("Second dimension of ", name, "_indices and length of ", name,
                                   "_shape must match, got ", shape(first).dim_size(1), " and ",
                                   shape(first + 2).dim_size(0));
  };
  RETURN_IF_ERROR(check_columns(0, "a"));
  if (shape(2) != shape(5)) {
    const auto sizes = [&ctx](int i) { return absl::StrJoin(ctx.input(i).flat<int64_t>(), " "); };
    return errors::InvalidArgument("Operands do not have the same ranks; got shapes: ", sizes(2), " and ", sizes(5));
  }
  return check_columns(3, "b");
}

// Inputs first, first + 1, first + 2.
absl::StatusOr<SparseTensor> ReadOperand(const OpKernelContext& ctx, int first) {
  return SparseTensor::Read(ctx.input(first), ctx.input(first + 1), ctx.input(first + 2));
}

absl::Status CheckSameShape(const SparseTensor& a, const SparseTensor& b) {
  if (a.rank() == 0) return errors::InvalidArgument("Invalid input_a shape. Received: []");
  for (int d = 0; d < a.rank(); ++d) {
    if (a.shape()[d] == b.shape()[d]) continue;
    return errors::InvalidArgument("Operands' shapes do not match: got ", a.shape()[d], " and ", b.shape()[d],
                                   " for dimension ", d);
  }
  return absl::OkStatus();
}

// a's and b's sorted entries merged; where they meet, their sum, unless its magnitude is below the threshold.
template <typename T, typename Real>
class SparseAddKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckOperands(ctx));
    ASSIGN_OR_RETURN(const SparseTensor a, ReadOperand(ctx, 0));
    ASSIGN_OR_RETURN(const SparseTensor b, ReadOperand(ctx, 3));
    RETURN_IF_ERROR(CheckSameShape(a, b));
    if (ctx.input(6).dims() != 0) {
      return errors::InvalidArgument("The magnitude threshold must be a scalar: got shape ",
                                     ctx.input(6).shape().ToString());
    }
    const Real threshold = *ctx.input(6).data<Real>();
    const T *const x = a.values().data<T>(), *const y = b.values().data<T>();
    std::vector<T> sums;
    std::vector<const int64_t*> rows;
    sums.reserve(a.entries() + b.entries());
    rows.reserve(a.entries() + b.entries());
    for (int64_t i = 0, j = 0; i < a.entries() || j < b.entries();) {
      const int order = i == a.entries() ? 1 : j == b.entries() ? -1 : CompareIndices(a.index(i), b.index(j));
      const T sum = order < 0 ? x[i] : order > 0 ? y[j] : Sum(x[i], y[j]);
      if (order != 0 || threshold <= Magnitude(sum)) {
        sums.push_back(sum);
        rows.push_back(order <= 0 ? a.index(i).data() : b.index(j).data());
      }
      i += order <= 0;
      j += order >= 0;
    }
    const int64_t entries = sums.size();
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({entries, a.rank()})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, TensorShape({entries})));
    for (int64_t i = 0; i < entries; ++i) std::copy_n(rows[i], a.rank(), indices->data<int64_t>() + i * a.rank());
    std::copy(sums.begin(), sums.end(), values->data<T>());
    ctx.set_output(2, ctx.input(2));
    return absl::OkStatus();
  }

 private:
  static T Sum(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  static Real Magnitude(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Real>(x < 0 ? -static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
    } else {
      return static_cast<Real>(std::abs(x));
    }
  }
};

// backprop_val_grad, a_indices, b_indices, sum_indices: each operand's values get what its index in the sum has.
class SparseAddGradKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& grad = ctx.input(0);
    if (grad.dims() != 1) {
      return errors::InvalidArgument("Input backprop_val_grad should be a vector but received shape: ",
                                     grad.shape().ToString());
    }
    for (int i = 1; i < 4; ++i) {
      if (ctx.input(i).dims() != 2) {
        return errors::InvalidArgument(
            "Inputs a_indices, b_indices and sum_indices should be matrices but received "
            "shapes: ",
            ctx.input(1).shape().ToString(), ", ", ctx.input(2).shape().ToString(), " and ",
            ctx.input(3).shape().ToString());
      }
      if (ctx.input(i).dim_size(1) != ctx.input(1).dim_size(1)) {
        return errors::InvalidArgument("The densified operands should have the same ndims; for A, B, sum got: ",
                                       ctx.input(1).dim_size(1), ctx.input(2).dim_size(1), ctx.input(3).dim_size(1));
      }
    }
    if (grad.NumElements() != ctx.input(3).dim_size(0)) {
      return errors::InvalidArgument(
          "# elements of backprop_val_grad and # rows of sum_indices should match (#nnz of "
          "sum): got ",
          grad.NumElements(), " and ", ctx.input(3).dim_size(0));
    }
    RETURN_IF_ERROR(Match(ctx, ctx.input(1), 0));
    return Match(ctx, ctx.input(2), 1);
  }

 private:
  static absl::Status Match(OpKernelContext& ctx, const Tensor& indices, int output) {
    const Tensor &grad = ctx.input(0), &sum = ctx.input(3);
    const DataType type = grad.dtype();
    const int64_t rank = indices.dim_size(1), entries = indices.dim_size(0), width = DataTypeSize(type);
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(output, TensorShape({entries})));
    ZeroElements(type, out->raw_data(), entries);
    const auto row = [rank](const Tensor& rows, int64_t i) {
      return absl::MakeConstSpan(rows.data<int64_t>() + i * rank, rank);
    };
    for (int64_t i = 0, j = 0; i < entries && j < sum.dim_size(0);) {
      const int order = CompareIndices(row(indices, i), row(sum, j));
      if (order == 0) {
        std::memcpy(static_cast<char*>(out->raw_data()) + i * width,
                    static_cast<const char*>(grad.raw_data()) + j * width, width);
      }
      i += order <= 0;
      j += order >= 0;
    }
    return absl::OkStatus();
  }
};

// backprop_val_grad, input_indices, input_start, output_indices: an entry that the slice took over gets its gradient.
class SparseSliceGradKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &grad = ctx.input(0), &indices = ctx.input(1), &start = ctx.input(2), &taken = ctx.input(3);
    if (indices.dims() != 2 || taken.dims() != 2) {
      return errors::InvalidArgument("Input and output indices should be matrices but received shapes: ",
                                     indices.shape().ToString(), " and ", taken.shape().ToString());
    }
    if (grad.dims() != 1) {
      return errors::InvalidArgument("Input backprop_val_grad should be a vector but received shape: ",
                                     grad.shape().ToString());
    }
    const int64_t rank = indices.dim_size(1), entries = indices.dim_size(0), width = DataTypeSize(grad.dtype());
    if (taken.dim_size(1) != rank) {
      return errors::InvalidArgument("The input and output should have the same ndims: got: ", rank, " and ",
                                     taken.dim_size(1));
    }
    if (taken.dim_size(0) > entries) {
      return errors::InvalidArgument("# rows of output_indices should be not greater than of input_indices, got ",
                                     taken.dim_size(0), " and ", entries);
    }
    if (grad.NumElements() != taken.dim_size(0)) {
      return errors::InvalidArgument(
          "# elements of backprop_val_grad and # rows of output_indices should match (#nnz "
          "of sum): got ",
          grad.NumElements(), " and ", taken.dim_size(0));
    }
    if (start.dims() != 1) {
      return errors::InvalidArgument("The input_start should be a vector but received shape ",
                                     start.shape().ToString());
    }
    if (start.NumElements() != rank) {
      return errors::InvalidArgument("Expected input_start to be a vector of length ", rank, " but got length ",
                                     start.NumElements());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.allocate_output(0, TensorShape({entries})));
    ZeroElements(grad.dtype(), out->raw_data(), entries);
    const int64_t *row = indices.data<int64_t>(), *next = taken.data<int64_t>();
    int64_t j = 0;
    for (int64_t i = 0; i < entries && j < taken.dim_size(0); ++i, row += rank) {
      bool match = true;
      for (int64_t d = 0; match && d < rank; ++d) {
        match = static_cast<uint64_t>(row[d]) ==
                static_cast<uint64_t>(next[d]) + static_cast<uint64_t>(start.data<int64_t>()[d]);
      }
      if (!match) continue;
      std::memcpy(static_cast<char*>(out->raw_data()) + i * width,
                  static_cast<const char*>(grad.raw_data()) + j * width, width);
      ++j;
      next += rank;
    }
    if (j == taken.dim_size(0)) return absl::OkStatus();
    return errors::Internal("Elements of backprop_val_grad aren't all propagated. Num elements:", taken.dim_size(0),
                            ", used: ", j);
  }
};

// a_indices, a_values, a_shape, b: b with a's values added.
class SparseTensorDenseAddKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2), &b = ctx.input(3);
    if (indices.dims() != 2) {
      return errors::InvalidArgument("Input a_indices should be a matrix but received shape: ",
                                     indices.shape().ToString());
    }
    if (values.dims() != 1 || shape.dims() != 1) {
      return errors::InvalidArgument("Inputs a_values and a_shape should be vectors but received shapes: ",
                                     values.shape().ToString(), " and ", shape.shape().ToString());
    }
    if (values.NumElements() != indices.dim_size(0)) {
      return errors::InvalidArgument("Number of elements in a_indices (", indices.dim_size(0), ") and a_values (",
                                     values.NumElements(), ") do not match");
    }
    if (shape.NumElements() != b.dims()) {
      return errors::InvalidArgument("Two operands have different ranks; received: ", shape.NumElements(), " and ",
                                     b.dims());
    }
    if (b.dims() < 1 || b.dims() > 5) {
      return errors::InvalidArgument("Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: ",
                                     b.dims());
    }
    if (indices.dim_size(1) != b.dims()) {
      return errors::InvalidArgument("a_indices has ", indices.dim_size(1), " columns for a tensor of rank ", b.dims());
    }
    ASSIGN_OR_RETURN(const DimVector sizes, ReadIntegers(shape));
    for (int d = 0; d < b.dims(); ++d) {
      if (sizes[d] != b.dim_size(d)) {
        return errors::InvalidArgument("Dimension ", d, " does not equal (no broadcasting is supported): sparse side ",
                                       sizes[d], " vs dense side ", b.dim_size(d));
      }
    }
    ASSIGN_OR_RETURN(const DimVector at, Addresses(indices, b.shape()));
    const DataType type = b.dtype();
    std::optional<Tensor> forwarded = ctx.forward_input(3, type, b.shape());
    if (!forwarded) {
      ASSIGN_OR_RETURN(forwarded, ctx.allocate_temp(type, b.shape()));
      CopyElements(type, forwarded->raw_data(), ctx.input(3).raw_data(), forwarded->NumElements());
    }
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, type);
    const int64_t width = DataTypeSize(type);
    for (size_t i = 0; i < at.size(); ++i) {
      add(static_cast<char*>(forwarded->raw_data()) + at[i] * width,
          static_cast<const char*>(values.raw_data()) + i * width, 1, 1);
    }
    ctx.set_output(0, *std::move(forwarded));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<DimVector> Addresses(const Tensor& indices, const TensorShape& shape) {
    ASSIGN_OR_RETURN(const DimVector flat, ReadIntegers(indices));
    const DimVector steps = DenseSteps(shape.dim_sizes());
    DimVector result(indices.dim_size(0), 0);
    size_t next = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      for (int d = 0; d < shape.dims(); ++d) {
        const int64_t index = flat[next++];
        if (index < 0 || index >= shape.dim_size(d)) {
          return errors::InvalidArgument("Sparse tensor has an invalid index on dimension ", d, ": a_indices(", i, ",",
                                         d, ") = ", index,
                                         ", dense tensor shape: ", absl::StrJoin(shape.dim_sizes(), " "));
        }
        result[i] += index * steps[d];
      }
    }
    return result;
  }
};

template <typename T, typename Real>
absl::Status RegisterAdd(KernelRegistry& kernels) {
  return kernels.Register<SparseAddKernel<T, Real>>(
      Kernel("SparseAdd").Cpu().template Type<T>("T").template Type<Real>("Treal"));
}

}  // namespace

absl::Status RegisterSparseAddKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR((RegisterAdd<float, float>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<double, double>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<half, half>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<bfloat16, bfloat16>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<int8_t, int8_t>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<int16_t, int16_t>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<int32_t, int32_t>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<int64_t, int64_t>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<complex64, float>(kernels)));
  RETURN_IF_ERROR((RegisterAdd<complex128, double>(kernels)));
#define WEIR_REGISTER(T)                                                                                  \
  RETURN_IF_ERROR(kernels.Register<SparseAddGradKernel>(Kernel("SparseAddGrad").Cpu().Type<T>("T")));     \
  RETURN_IF_ERROR(kernels.Register<SparseSliceGradKernel>(Kernel("SparseSliceGrad").Cpu().Type<T>("T"))); \
  RETURN_IF_ERROR(kernels.Register<SparseTensorDenseAddKernel>(Kernel("SparseTensorDenseAdd").Cpu().Type<T>("T")));
  WEIR_FOR_NUMBERS(WEIR_REGISTER)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
