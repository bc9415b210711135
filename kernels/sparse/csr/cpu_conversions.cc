// CSR matrices from sparse and dense tensors, back into them, and their parts.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/csr/csr_matrix.h"
#include "kernels/sparse/family.h"

namespace weir {
namespace {

absl::Status CheckIndices(const Tensor& indices, int64_t rank) {
  if (rank != 2 && rank != 3) {
    return errors::InvalidArgument("SparseTensor must have rank 2 or 3; but indices has rank: ", rank);
  }
  if (indices.dims() != 2) {
    return errors::InvalidArgument("indices must be a matrix, but saw shape: ", indices.shape().ToString());
  }
  if (indices.dim_size(1) == rank) return absl::OkStatus();
  return errors::InvalidArgument("indices.shape[1] must be equal to the rank of params, but saw: ", indices.dim_size(1),
                                 " vs. ", rank);
}

// A matrix of the entries at `indices`, [entries, rank]; entry e has element from[source(e)].
template <typename Source>
absl::StatusOr<std::shared_ptr<CsrMatrix>> FromIndices(OpKernelContext& ctx, const Tensor& dense_shape,
                                                       const Tensor& indices, const Tensor& from, Source source) {
  const int64_t rank = dense_shape.NumElements(), entries = indices.dim_size(0);
  const int64_t* const sizes = dense_shape.data<int64_t>();
  const int64_t* const index = indices.data<int64_t>();
  for (int64_t i = 0; i < entries * rank; ++i) {
    if (index[i] >= 0 && index[i] < sizes[i % rank]) continue;
    const absl::Span<const int64_t> entry(index + i / rank * rank, static_cast<size_t>(rank));
    return errors::InvalidArgument("Sparse index tuple indices[", i / rank, ", :] = [", absl::StrJoin(entry, ", "),
                                   "] is out of bounds");
  }
  ASSIGN_OR_RETURN(CsrBuilder builder, CsrBuilder::Create(ctx, dense_shape, entries));
  const auto batch = [&](int64_t e) { return rank == 3 ? index[e * rank] : 0; };
  const auto row = [&](int64_t e) { return index[e * rank + rank - 2]; };
  for (int64_t e = 0; e < entries; ++e) builder.Count(batch(e), row(e));
  builder.PlaceRows();
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(from.dtype(), TensorShape({entries})));
  VisitElementType(from.dtype(), [&](auto element) {
    using T = decltype(element);
    for (int64_t e = 0; e < entries; ++e) {
      values.data<T>()[builder.Place(batch(e), row(e), index[e * rank + rank - 1])] = from.data<T>()[source(e)];
    }
  });
  return std::move(builder).Finish(std::move(values));
}

class FromSparseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &dense_shape = ctx.input(2);
    if (dense_shape.dims() != 1) {
      return errors::InvalidArgument("dense_shape must be rank 1, got shape ", dense_shape.shape().ToString());
    }
    RETURN_IF_ERROR(CheckIndices(indices, dense_shape.NumElements()));
    if (values.dims() != 1 || values.dim_size(0) != indices.dim_size(0)) {
      return errors::InvalidArgument("Number of rows of indices does not match length of values: ",
                                     indices.shape().ToString(), " vs. ", values.shape().ToString());
    }
    ASSIGN_OR_RETURN(auto matrix, FromIndices(ctx, dense_shape, indices, values, [](int64_t e) { return e; }));
    SetCsrOutput(ctx, std::move(matrix));
    return absl::OkStatus();
  }
};

class FromDenseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &dense = ctx.input(0), &indices = ctx.input(1);
    const int rank = dense.dims();
    if (rank != 2 && rank != 3) {
      return errors::InvalidArgument("params must have rank == 2 or 3; but saw shape: ", dense.shape().ToString());
    }
    RETURN_IF_ERROR(CheckIndices(indices, rank));
    Tensor sizes(DT_INT64, TensorShape({rank}));
    std::copy_n(dense.shape().dim_sizes().begin(), rank, sizes.data<int64_t>());
    const DimVector steps = DenseSteps(dense.shape().dim_sizes());
    ASSIGN_OR_RETURN(auto matrix, FromIndices(ctx, sizes, indices, dense, [&](int64_t e) {
                       int64_t at = 0;
                       for (int d = 0; d < rank; ++d) at += indices.data<int64_t>()[e * rank + d] * steps[d];
                       return at;
                     }));
    SetCsrOutput(ctx, std::move(matrix));
    return absl::OkStatus();
  }
};

class ToSparseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, ctx.expected_output_dtype(1)));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.allocate_output(0, TensorShape({m->entries(), m->rank()})));
    int64_t* to = indices->data<int64_t>();
    ForEachEntry(*m, [&](int64_t, int64_t batch, int64_t row, int64_t column) {
      if (m->rank() == 3) *to++ = batch;
      *to++ = row;
      *to++ = column;
    });
    ctx.set_output(1, m->values());
    ctx.set_output(2, m->dense_shape());
    return absl::OkStatus();
  }
};

class ToDenseKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, ctx.expected_output_dtype(0)));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Build({m->dense_shape().data<int64_t>(), static_cast<size_t>(m->rank())}));
    ASSIGN_OR_RETURN(Tensor * dense, ctx.allocate_output(0, shape));
    if (dense->NumElements() == 0) return absl::OkStatus();
    ZeroElements(dense->dtype(), dense->raw_data(), dense->NumElements());
    VisitElementType(dense->dtype(), [&](auto element) {
      using T = decltype(element);
      ForEachEntry(*m, [&](int64_t e, int64_t batch, int64_t row, int64_t column) {
        dense->data<T>()[(batch * m->row_count() + row) * m->column_count() + column] = m->values().data<T>()[e];
      });
    });
    return absl::OkStatus();
  }
};

// The pointers, columns and values of one matrix.
class ComponentsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, ctx.expected_output_dtype(2)));
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("index should be a scalar, but saw: ", ctx.input(1).shape().ToString());
    }
    const int32_t b = ctx.input(1).scalar<int32_t>();
    if (b < 0 || b >= m->batches()) {
      return errors::InvalidArgument("index (", b, ") not in [0, ", m->batches(), ")");
    }
    const int64_t begin = m->start(b), count = m->start(b + 1) - begin;
    ASSIGN_OR_RETURN(Tensor * rows, ctx.allocate_output(0, TensorShape({m->row_count() + 1})));
    ASSIGN_OR_RETURN(Tensor * columns, ctx.allocate_output(1, TensorShape({count})));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(2, TensorShape({count})));
    std::copy_n(m->rows(b), m->row_count() + 1, rows->data<int32_t>());
    std::copy_n(m->columns() + begin, count, columns->data<int32_t>());
    VisitElementType(m->dtype(), [&](auto element) {
      using T = decltype(element);
      std::copy_n(m->values().data<T>() + begin, count, values->data<T>());
    });
    return absl::OkStatus();
  }
};

class CountKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, DT_INVALID));
    const TensorShape shape = m->rank() == 3 ? TensorShape({m->batches()}) : TensorShape();
    ASSIGN_OR_RETURN(Tensor * counts, ctx.allocate_output(0, shape));
    for (int64_t b = 0; b < m->batches(); ++b) {
      counts->data<int32_t>()[b] = static_cast<int32_t>(m->start(b + 1) - m->start(b));
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterCsrConversionKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<FromSparseKernel>(Kernel("SparseTensorToCSRSparseMatrix").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<FromDenseKernel>(Kernel("DenseToCSRSparseMatrix").Cpu().Types("T", types)));
  RETURN_IF_ERROR(kernels.Register<ToSparseKernel>(Kernel("CSRSparseMatrixToSparseTensor").Cpu().Types("type", types)));
  RETURN_IF_ERROR(kernels.Register<ToDenseKernel>(Kernel("CSRSparseMatrixToDense").Cpu().Types("type", types)));
  RETURN_IF_ERROR(kernels.Register<ComponentsKernel>(Kernel("CSRSparseMatrixComponents").Cpu().Types("type", types)));
  return kernels.Register<CountKernel>(Kernel("SparseMatrixNNZ").Cpu());
}

}  // namespace weir
