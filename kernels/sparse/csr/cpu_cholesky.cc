// Factors of sparse positive definite matrices, and the order of rows that keeps them sparse. Only the lower triangle
// of a matrix is looked at.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <set>

#include "core/memory/memory_info.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/sparse/csr/csr_matrix.h"
#include "kernels/sparse/family.h"

namespace weir {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

absl::Status CheckSquare(const CsrMatrix& m) {
  if (m.row_count() == m.column_count()) return absl::OkStatus();
  return errors::InvalidArgument("sparse matrix must be square; got: ", m.row_count(), " != ", m.column_count());
}

// A few bytes describe a matrix of very many empty rows, and the lists of each row take some hundred: the system would
// end a process that takes more than there is.
absl::Status CheckMemory(int64_t rows, int64_t entries, int64_t entry_bytes) {
  constexpr int64_t kRowBytes = 256;
  const int64_t bytes = rows * kRowBytes + entries * entry_bytes;
  if (bytes <= AvailableMemory()) return absl::OkStatus();
  return errors::ResourceExhausted("A sparse matrix of ", rows, " rows and ", entries, " entries takes ", bytes,
                                   " bytes of memory");
}

// The neighbours of each row in the graph of matrix b, without repetition.
Lists Neighbours(const CsrMatrix& m, int64_t b) {
  Lists neighbours(m.row_count());
  for (int64_t r = 0; r < m.row_count(); ++r) {
    for (int64_t e = m.start(b) + m.rows(b)[r]; e < m.start(b) + m.rows(b)[r + 1]; ++e) {
      const int32_t c = m.columns()[e];
      if (c >= r) continue;
      neighbours[r].push_back(c);
      neighbours[c].push_back(static_cast<int32_t>(r));
    }
  }
  for (auto& list : neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return neighbours;
}

// Orders the vertices of a graph by approximate minimum degree (Amestoy, Davis and Duff, 1996), without their
// supervariables. Eliminating a vertex makes its neighbours a clique, which is kept as one element.
class MinimumDegree {
 public:
  explicit MinimumDegree(Lists neighbours)
      : adjacent_(std::move(neighbours)),
        elements_of_(adjacent_.size()),
        members_(adjacent_.size()),
        degree_(adjacent_.size()),
        mark_(adjacent_.size(), -1),
        outside_(adjacent_.size()),
        outside_mark_(adjacent_.size(), -1) {
    for (int32_t i = 0; i < size(); ++i) {
      degree_[i] = static_cast<int64_t>(adjacent_[i].size());
      queue_.emplace(degree_[i], i);
    }
  }

  // The next vertex; there must be one.
  int32_t Next() {
    const int32_t pivot = queue_.begin()->second;
    queue_.erase(queue_.begin());
    MakeElement(pivot);
    CountOutside(pivot);
    for (const int32_t i : members_[pivot]) Update(i, pivot);
    return pivot;
  }

 private:
  int32_t size() const { return static_cast<int32_t>(adjacent_.size()); }

  // The clique of all that the pivot touches; elements in which it was are parts of it from now on.
  void MakeElement(int32_t pivot) {
    std::vector<int32_t>& clique = members_[pivot];
    mark_[pivot] = pivot;
    const auto add = [&](const std::vector<int32_t>& vertices) {
      for (const int32_t i : vertices) {
        if (std::exchange(mark_[i], pivot) != pivot) clique.push_back(i);
      }
    };
    add(adjacent_[pivot]);
    for (const int32_t e : elements_of_[pivot]) {
      add(members_[e]);
      members_[e] = {};
    }
    adjacent_[pivot] = {};
  }
  // How many members other elements have beyond the pivot's clique.
  void CountOutside(int32_t pivot) {
    for (const int32_t i : members_[pivot]) {
      for (const int32_t e : elements_of_[i]) {
        if (std::exchange(outside_mark_[e], pivot) != pivot) outside_[e] = static_cast<int64_t>(members_[e].size());
        --outside_[e];
      }
    }
  }
  void Update(int32_t i, int32_t pivot) {
    std::erase_if(elements_of_[i], [this](int32_t e) { return members_[e].empty(); });
    std::erase_if(adjacent_[i], [&](int32_t k) { return mark_[k] == pivot; });
    const int64_t others = static_cast<int64_t>(members_[pivot].size()) - 1;
    int64_t degree = static_cast<int64_t>(adjacent_[i].size()) + others;
    for (const int32_t e : elements_of_[i]) degree += outside_[e];
    elements_of_[i].push_back(pivot);
    queue_.erase({degree_[i], i});
    degree_[i] = std::min({degree, degree_[i] + others, static_cast<int64_t>(queue_.size())});
    queue_.emplace(degree_[i], i);
  }

  Lists adjacent_, elements_of_;  // vertices, and elements named by their pivots, that a vertex touches
  Lists members_;                 // of elements; empty once absorbed
  std::vector<int64_t> degree_;
  std::vector<int32_t> mark_;
  std::vector<int64_t> outside_;
  std::vector<int32_t> outside_mark_;
  std::set<std::pair<int64_t, int32_t>> queue_;  // by degree
};

class OrderingKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, DT_INVALID));
    RETURN_IF_ERROR(CheckSquare(*m));
    RETURN_IF_ERROR(CheckMemory(m->row_count(), m->values().NumElements(), 4 * sizeof(int32_t)));
    TensorShape shape;
    for (int d = 0; d + 1 < m->rank(); ++d) RETURN_IF_ERROR(shape.AddDim(m->size(d)));
    ASSIGN_OR_RETURN(Tensor * order, ctx.allocate_output(0, shape));
    int32_t* next = order->data<int32_t>();
    for (int64_t b = 0; b < m->batches(); ++b) {
      MinimumDegree degrees(Neighbours(*m, b));
      for (int64_t i = 0; i < m->row_count(); ++i) {
        RETURN_IF_ERROR(CheckCancelled(ctx));
        *next++ = degrees.Next();
      }
    }
    return absl::OkStatus();
  }
};

// The factor of one matrix, after its rows and columns were put in order.
template <typename T>
class Factor {
 public:
  // False for an order that is no permutation.
  bool Permute(const CsrMatrix& m, int64_t b, absl::Span<const int32_t> order) {
    const int64_t n = static_cast<int64_t>(order.size());
    std::vector<int32_t> place(n, -1);
    for (int64_t i = 0; i < n; ++i) {
      if (order[i] < 0 || order[i] >= n || place[order[i]] != -1) return false;
      place[order[i]] = static_cast<int32_t>(i);
    }
    rows_.assign(n, {});
    diagonal_.assign(n, T(0));
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t e = m.start(b) + m.rows(b)[r]; e < m.start(b) + m.rows(b)[r + 1]; ++e) {
        const int32_t c = m.columns()[e];
        if (c > r) continue;
        Add(place[r], place[c], m.values().data<T>()[e]);
      }
    }
    parents_ = Parents();
    mark_.assign(n, -1);
    return true;
  }

  // The columns of row k of the factor, but the last, in order.
  std::vector<int32_t> Pattern(int32_t k) {
    std::vector<int32_t> pattern;
    mark_[k] = k;
    for (const auto& [column, value] : rows_[k]) {
      for (int32_t i = column; std::exchange(mark_[i], k) != k; i = parents_[i]) pattern.push_back(i);
    }
    std::sort(pattern.begin(), pattern.end());
    return pattern;
  }

  // Computes row k from those before it. False for a matrix that is not positive definite.
  bool ComputeRow(int32_t k, std::vector<T>& work, Lists& column_rows, std::vector<std::vector<T>>& column_values,
                  int32_t* columns, T* values) {
    for (const auto& [column, value] : rows_[k]) work[column] += value;
    T left = diagonal_[k];
    for (const int32_t j : Pattern(k)) {
      const T value = std::exchange(work[j], T(0)) / column_values[j][0];
      for (size_t i = 1; i < column_rows[j].size(); ++i) work[column_rows[j][i]] -= value * Conj(column_values[j][i]);
      left -= value * Conj(value);
      column_rows[j].push_back(k);
      column_values[j].push_back(value);
      *columns++ = j;
      *values++ = value;
    }
    const auto square = std::real(left);
    if (!(square > 0) || !std::isfinite(square)) return false;
    *columns = k;
    *values = T(std::sqrt(square));
    column_rows[k].push_back(k);
    column_values[k].push_back(*values);
    return true;
  }

 private:
  static T Conj(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return x;
    } else {
      return std::conj(x);
    }
  }
  void Add(int32_t row, int32_t column, T value) {
    if (row == column) {
      diagonal_[row] += value;
    } else if (row > column) {
      rows_[row].emplace_back(column, value);
    } else {
      rows_[column].emplace_back(row, Conj(value));
    }
  }
  // The elimination tree (Liu, 1986).
  std::vector<int32_t> Parents() const {
    const int32_t n = static_cast<int32_t>(rows_.size());
    std::vector<int32_t> parents(n, -1), ancestors(n, -1);
    for (int32_t k = 0; k < n; ++k) {
      for (const auto& [column, value] : rows_[k]) {
        for (int32_t i = column; i != -1 && i < k;) {
          const int32_t above = std::exchange(ancestors[i], k);
          if (above == -1) parents[i] = k;
          i = above;
        }
      }
    }
    return parents;
  }

  std::vector<std::vector<std::pair<int32_t, T>>> rows_;  // below the diagonal
  std::vector<T> diagonal_;
  std::vector<int32_t> parents_, mark_;
};

class CholeskyKernel : public BlockingKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return ctx.GetAttr("type", &type_); }

 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CsrMatrix* m, CsrInput(ctx, 0, type_));
    RETURN_IF_ERROR(CheckSquare(*m));
    const Tensor& order = ctx.input(1);
    if (order.dims() + 1 != m->rank()) {
      return errors::InvalidArgument("sparse matrix must have the same rank as permutation; got: ", m->rank(),
                                     " != ", order.dims(), " + 1.");
    }
    for (int d = 0; d < order.dims(); ++d) {
      if (order.dim_size(d) == m->size(d)) continue;
      return errors::InvalidArgument("permutation must have the sizes of the sparse matrix; got: ", order.dim_size(d),
                                     " != ", m->size(d), " in dimension ", d);
    }
    switch (type_) {
      case DT_FLOAT:
        return Run<float>(ctx, *m, order);
      case DT_DOUBLE:
        return Run<double>(ctx, *m, order);
      case DT_COMPLEX64:
        return Run<std::complex<float>>(ctx, *m, order);
      default:
        return Run<std::complex<double>>(ctx, *m, order);
    }
  }

 private:
  template <typename T>
  static absl::Status Run(OpKernelContext& ctx, const CsrMatrix& m, const Tensor& order) {
    const int64_t n = m.row_count(), batches = m.batches();
    const auto failed = [](int64_t b) {
      return errors::InvalidArgument("Sparse Cholesky factorization failed for batch index ", b,
                                     ". The input might not be valid.");
    };
    constexpr int64_t kEntryBytes = 2 * sizeof(std::pair<int32_t, T>);  // a list may have room for as many again
    RETURN_IF_ERROR(CheckMemory(n, m.values().NumElements(), kEntryBytes));
    const auto order_of = [&](int64_t b) { return absl::MakeConstSpan(order.data<int32_t>() + b * n, n); };
    // Rows are sized first: the factor may be dense.
    Tensor starts(DT_INT32, TensorShape({batches + 1}));
    ASSIGN_OR_RETURN(Tensor rows, ctx.allocate_temp(DT_INT32, TensorShape({batches * (n + 1)})));
    int64_t entries = 0;
    for (int64_t b = 0; b < batches; ++b) {
      Factor<T> factor;
      if (!factor.Permute(m, b, order_of(b))) return failed(b);
      int32_t* const row = rows.data<int32_t>() + b * (n + 1);
      starts.data<int32_t>()[b] = static_cast<int32_t>(entries);
      row[0] = 0;
      for (int32_t k = 0; k < n; ++k) {
        RETURN_IF_ERROR(CheckCancelled(ctx));
        const int64_t size = static_cast<int64_t>(factor.Pattern(k).size()) + 1;
        entries += size;
        if (entries > std::numeric_limits<int32_t>::max()) {
          return errors::ResourceExhausted("The factor has more than 2^31 entries");
        }
        row[k + 1] = row[k] + static_cast<int32_t>(size);
      }
    }
    starts.data<int32_t>()[batches] = static_cast<int32_t>(entries);
    RETURN_IF_ERROR(CheckMemory(n, entries, 2 * kEntryBytes));  // in lists, and as tensors
    ASSIGN_OR_RETURN(Tensor columns, ctx.allocate_temp(DT_INT32, TensorShape({entries})));
    ASSIGN_OR_RETURN(Tensor values, ctx.allocate_temp(m.dtype(), TensorShape({entries})));
    for (int64_t b = 0; b < batches; ++b) {
      Factor<T> factor;
      if (!factor.Permute(m, b, order_of(b))) return failed(b);
      std::vector<T> work(n);
      Lists column_rows(n);
      std::vector<std::vector<T>> column_values(n);
      for (int32_t k = 0; k < n; ++k) {
        RETURN_IF_ERROR(CheckCancelled(ctx));
        const int64_t at = int64_t{starts.data<int32_t>()[b]} + rows.data<int32_t>()[b * (n + 1) + k];
        if (!factor.ComputeRow(k, work, column_rows, column_values, columns.data<int32_t>() + at,
                               values.data<T>() + at)) {
          return failed(b);
        }
      }
    }
    ASSIGN_OR_RETURN(
        std::shared_ptr<CsrMatrix> result,
        CsrMatrix::Make(m.dense_shape(), std::move(starts), std::move(rows), std::move(columns), std::move(values)));
    SetCsrOutput(ctx, std::move(result));
    return absl::OkStatus();
  }

  DataType type_ = DT_INVALID;
};

}  // namespace

absl::Status RegisterCsrCholeskyKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<OrderingKernel>(Kernel("SparseMatrixOrderingAMD").Cpu()));
  return kernels.Register<CholeskyKernel>(
      Kernel("SparseMatrixSparseCholesky").Cpu().Types("type", {DT_FLOAT, DT_DOUBLE, DT_COMPLEX64, DT_COMPLEX128}));
}

}  // namespace weir
