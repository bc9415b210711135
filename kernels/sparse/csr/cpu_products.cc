// Products and transposes of CSR matrices.
#include <algorithm>
#include <complex>
#include <utility>

#include "kernels/device/blocking_kernel.h"
#include "kernels/device/elements.h"
#include "kernels/device/parallel.h"
#include "kernels/sparse/csr/csr_matrix.h"
#include "kernels/sparse/family.h"

namespace weir {
namespace {

template <typename Fn>
void VisitValueType(DataType type, Fn fn) {
  if (type == DT_FLOAT) fn(float{});
  if (type == DT_DOUBLE) fn(double{});
  if (type == DT_COMPLEX64) fn(std::complex<float>{});
  if (type == DT_COMPLEX128) fn(std::complex<double>{});
}

template <typename T>
T ConjIf(bool conjugate, T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return conjugate ? std::conj(x) : x;
  }
}

// How an operand is used: as it is, transposed, or transposed and conjugated.
struct Turned {
  bool transpose = false, conjugate = false;

  absl::Status Init(OpKernelConstruction& ctx, const std::string& operand) {
    RETURN_IF_ERROR(ctx.GetAttr("transpose_" + operand, &transpose));
    RETURN_IF_ERROR(ctx.GetAttr("adjoint_" + operand, &conjugate));
    if (transpose && conjugate) {
      return errors::InvalidArgument("Only one of adjoint_", operand, " and transpose_", operand, " may be true.");
    }
    transpose = transpose || conjugate;
    return absl::OkStatus();
  }
};

absl::StatusOr<std::shared_ptr<CsrMatrix>> Transposed(OpKernelContext& ctx, const CsrMatrix& m, bool conjugate) {
  Tensor sizes(DT_INT64, TensorShape({m.rank()}));
  std::copy_n(m.dense_shape().data<int64_t>(), m.rank(), sizes.data<int64_t>());
  std::swap(sizes.data<int64_t>()[m.rank() - 2], sizes.data<int64_t>()[m.rank() - 1]);
  ASSIGN_OR_RETURN(CsrBuilder builder, CsrBuilder::Create(ctx, std::move(sizes), m.entries()));
  for (int64_t b = 0; b < m.batches(); ++b) {
    for (int64_t e = m.start(b); e < m.start(b + 1); ++e) builder.Count(b, m.columns()[e]);
  }
  builder.PlaceRows();
  ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(m.dtype(), TensorShape({m.entries()})));
  VisitValueType(m.dtype(), [&](auto element) {
    using T = decltype(element);
    ForEachEntry(m, [&](int64_t e, int64_t batch, int64_t row, int64_t column) {
      values.data<T>()[builder.Place(batch, column, row)] = ConjIf(conjugate, m.values().data<T>()[e]);
    });
  });
  return std::move(builder).Finish(std::move(values));
}

class TransposeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("type", &type_));
    return ctx.GetAttr("conjugate", &conjugate_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    ASSIGN_OR_RETURN(std::shared_ptr<CsrMatrix> result, Transposed(ctx, *m, conjugate_));
    SetCsrOutput(ctx, std::move(result));
    return absl::OkStatus();
  }

 private:
  DataType type_ = DT_INVALID;
  bool conjugate_ = false;
};

// A sparse matrix times a dense one.
class MatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(a_.Init(ctx, "a"));
    RETURN_IF_ERROR(b_.Init(ctx, "b"));
    RETURN_IF_ERROR(ctx.GetAttr("transpose_output", &transpose_output_));
    return ctx.GetAttr("conjugate_output", &conjugate_output_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& b = ctx.input(1);
    ASSIGN_OR_RETURN(const CsrMatrix* given, CsrInput(ctx, 0, DT_INVALID));
    RETURN_IF_ERROR(Check(*given, b));
    std::shared_ptr<CsrMatrix> turned;
    if (a_.transpose) {
      ASSIGN_OR_RETURN(turned, Transposed(ctx, *given, a_.conjugate));
    }
    const CsrMatrix& a = turned != nullptr ? *turned : *given;
    const int rank = a.rank();
    const int64_t rows = a.row_count(), columns = b.dim_size(b_.transpose ? rank - 2 : rank - 1);
    DimVector dims;
    if (rank == 3) dims.push_back(a.batches());
    dims.push_back(transpose_output_ ? columns : rows);
    dims.push_back(transpose_output_ ? rows : columns);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ZeroElements(output->dtype(), output->raw_data(), output->NumElements());
    VisitValueType(a.dtype(), [&](auto element) { Multiply(ctx, a, b, columns, output->data<decltype(element)>()); });
    return absl::OkStatus();
  }

 private:
  absl::Status Check(const CsrMatrix& a, const Tensor& b) const {
    if (a.dtype() != b.dtype()) {
      return errors::InvalidArgument("Input types don't match.  a.dtype == ", DataTypeName(a.dtype()),
                                     " vs. b.dtype == ", DataTypeName(b.dtype()));
    }
    const int rank = a.rank();
    if (b.dims() != rank) {
      return errors::InvalidArgument("Ranks of a and b must match, saw: ", rank, " vs. ", b.dims(), ".");
    }
    if (rank == 3 && b.dim_size(0) != a.batches()) {
      return errors::InvalidArgument("Batch sizes of a and b must match, saw: ", a.batches(), " vs. ", b.dim_size(0),
                                     ".");
    }
    if (a.size(a_.transpose ? rank - 2 : rank - 1) == b.dim_size(b_.transpose ? rank - 1 : rank - 2)) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("Inner product dimensions of A and B do not agree.  Shapes are: ",
                                   a.dense_shape().DebugString(), " vs. ", b.shape().ToString());
  }

  template <typename T>
  void Multiply(OpKernelContext& ctx, const CsrMatrix& a, const Tensor& b, int64_t columns, T* out) const {
    const int64_t rows = a.row_count(), inner = a.column_count();
    // Steps between rows and between columns.
    const int64_t down = b_.transpose ? 1 : columns, along = b_.transpose ? inner : 1;
    const int64_t out_down = transpose_output_ ? 1 : columns, out_along = transpose_output_ ? rows : 1;
    const int64_t mean = a.entries() / std::max<int64_t>(1, a.batches() * rows) + 1;
    ParallelRanges(ctx, a.batches() * rows, mean * columns * 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / rows, row = i % rows;
        const T* const right = b.data<T>() + batch * inner * columns;
        T* const to = out + batch * rows * columns + row * out_down;
        for (int64_t e = a.start(batch) + a.rows(batch)[row]; e < a.start(batch) + a.rows(batch)[row + 1]; ++e) {
          const T value = a.values().data<T>()[e];
          const T* const from = right + a.columns()[e] * down;
          for (int64_t c = 0; c < columns; ++c) to[c * out_along] += value * ConjIf(b_.conjugate, from[c * along]);
        }
        for (int64_t c = 0; conjugate_output_ && c < columns; ++c) {
          to[c * out_along] = ConjIf(true, to[c * out_along]);
        }
      }
    });
  }

  Turned a_, b_;
  bool transpose_output_ = false, conjugate_output_ = false;
};

// The product of two sparse matrices has an entry wherever one of its terms has; columns ascend.
class SparseMatMulKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("type", &type_));
    RETURN_IF_ERROR(a_.Init(ctx, "a"));
    return b_.Init(ctx, "b");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* a, CsrInput(ctx, 0, type_));
    ASSIGN_OR_RETURN(const CsrMatrix* b, CsrInput(ctx, 1, type_));
    RETURN_IF_ERROR(Check(*a, *b));
    std::shared_ptr<CsrMatrix> turned_a, turned_b;
    if (a_.transpose) {
      ASSIGN_OR_RETURN(turned_a, Transposed(ctx, *a, a_.conjugate));
      a = turned_a.get();
    }
    if (b_.transpose) {
      ASSIGN_OR_RETURN(turned_b, Transposed(ctx, *b, b_.conjugate));
      b = turned_b.get();
    }
    absl::Status status;
    VisitValueType(type_, [&](auto element) { status = Multiply<decltype(element)>(ctx, *a, *b); });
    return status;
  }

 private:
  absl::Status Check(const CsrMatrix& a, const CsrMatrix& b) const {
    if (a.rank() != b.rank()) {
      return errors::InvalidArgument("Ranks of a and b must match, saw: ", a.rank(), " vs. ", b.rank(), ".");
    }
    if (a.batches() != b.batches()) {
      return errors::InvalidArgument("Batch sizes of a and b must match, saw: ", a.batches(), " vs. ", b.batches(),
                                     ".");
    }
    const int rank = a.rank();
    if (a.size(a_.transpose ? rank - 2 : rank - 1) == b.size(b_.transpose ? rank - 1 : rank - 2)) {
      return absl::OkStatus();
    }
    return errors::InvalidArgument("Inner product dimensions of A and B do not agree.  Shapes are: ",
                                   a.dense_shape().DebugString(), " vs. ", b.dense_shape().DebugString());
  }

  // For each row of each matrix, counted through: calls begin(row), which says whether to go on, and then
  // term(row, column, entry of a, entry of b) for each term of the product.
  template <typename Begin, typename Term>
  static void ForEachTerm(const CsrMatrix& a, const CsrMatrix& b, Begin begin, Term term) {
    for (int64_t i = 0; i < a.batches() * a.row_count(); ++i) {
      const int64_t batch = i / a.row_count(), row = i % a.row_count();
      if (!begin(i)) return;
      for (int64_t e = a.start(batch) + a.rows(batch)[row]; e < a.start(batch) + a.rows(batch)[row + 1]; ++e) {
        const int32_t* const right = b.rows(batch) + a.columns()[e];
        for (int64_t f = b.start(batch) + right[0]; f < b.start(batch) + right[1]; ++f) term(i, b.columns()[f], e, f);
      }
    }
  }

  // How many entries each row of the product has; all of them are `*total`.
  static absl::StatusOr<std::vector<int32_t>> CountEntries(const OpKernelContext& ctx, const CsrMatrix& a,
                                                           const CsrMatrix& b, int64_t* last_row, int64_t* total) {
    std::vector<int32_t> counts(a.batches() * a.row_count());
    std::fill_n(last_row, b.column_count(), -1);
    *total = 0;
    absl::Status cancelled;
    ForEachTerm(
        a, b,
        [&](int64_t i) {
          if (i % kRowsPerCheck == 0) cancelled = CheckCancelled(ctx);
          return cancelled.ok() && *total <= kMostEntries;
        },
        [&](int64_t i, int64_t column, int64_t, int64_t) {
          if (std::exchange(last_row[column], i) == i) return;
          ++counts[i];
          ++*total;
        });
    RETURN_IF_ERROR(cancelled);
    if (*total <= kMostEntries) return counts;
    return errors::ResourceExhausted("A product of sparse matrices has more than ", kMostEntries, " values");
  }

  // One row of the product at a time, spread out in `sums`.
  template <typename T>
  static absl::Status Multiply(OpKernelContext& ctx, const CsrMatrix& a, const CsrMatrix& b) {
    // From the allocator: the caller chooses the number of columns, however few the entries are.
    ASSIGN_OR_RETURN(Tensor last_rows, ctx.allocate_temp(DT_INT64, TensorShape({b.column_count()})));
    ASSIGN_OR_RETURN(Tensor row_sums, ctx.allocate_temp(a.dtype(), TensorShape({b.column_count()})));
    int64_t* const last_row = last_rows.data<int64_t>();
    T* const sums = row_sums.data<T>();
    int64_t total = 0;
    ASSIGN_OR_RETURN(const std::vector<int32_t> counts, CountEntries(ctx, a, b, last_row, &total));
    Tensor sizes(DT_INT64, TensorShape({a.rank()}));
    std::copy_n(a.dense_shape().data<int64_t>(), a.rank(), sizes.data<int64_t>());
    sizes.data<int64_t>()[a.rank() - 1] = b.column_count();
    ASSIGN_OR_RETURN(CsrBuilder builder, CsrBuilder::Create(ctx, std::move(sizes), total));
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(a.dtype(), TensorShape({total})));
    const int64_t rows = a.row_count(), all_rows = static_cast<int64_t>(counts.size());
    for (int64_t i = 0; i < all_rows; ++i) builder.Count(i / rows, i % rows, counts[i]);
    builder.PlaceRows();
    std::fill_n(last_row, b.column_count(), -1);
    std::vector<int64_t> columns;
    const auto end_row = [&](int64_t i) {
      std::sort(columns.begin(), columns.end());
      for (const int64_t column : columns) {
        values.data<T>()[builder.Place(i / rows, i % rows, column)] = sums[column];
      }
      columns.clear();
    };
    ForEachTerm(
        a, b,
        [&](int64_t i) {
          if (i > 0) end_row(i - 1);
          return true;
        },
        [&](int64_t i, int64_t column, int64_t e, int64_t f) {
          if (std::exchange(last_row[column], i) != i) {
            sums[column] = T(0);
            columns.push_back(column);
          }
          sums[column] += a.values().data<T>()[e] * b.values().data<T>()[f];
        });
    if (all_rows > 0) end_row(all_rows - 1);
    ASSIGN_OR_RETURN(std::shared_ptr<CsrMatrix> product, std::move(builder).Finish(std::move(values)));
    SetCsrOutput(ctx, std::move(product));
    return absl::OkStatus();
  }

  static constexpr int64_t kMostEntries = int64_t{1} << 28;
  static constexpr int64_t kRowsPerCheck = 1024;
  DataType type_ = DT_INVALID;
  Turned a_, b_;
};

}  // namespace

absl::Status RegisterCsrProductKernels(KernelRegistry& kernels) {
  const DataTypeVector types = {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128};
  RETURN_IF_ERROR(kernels.Register<TransposeKernel>(Kernel("SparseMatrixTranspose").Cpu().Types("type", types)));
  RETURN_IF_ERROR(kernels.Register<MatMulKernel>(Kernel("SparseMatrixMatMul").Cpu().Types("T", types)));
  return kernels.Register<SparseMatMulKernel>(Kernel("SparseMatrixSparseMatMul").Cpu().Types("type", types));
}

}  // namespace weir
