#include "kernels/sparse/sparse_tensor.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_join.h"
#include "kernels/device/elements.h"

namespace weir {
namespace {

bool Within(absl::Span<const int64_t> index, absl::Span<const int64_t> shape) {
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= shape[d]) return false;
  }
  return true;
}

std::string EntryName(int64_t entry, absl::Span<const int64_t> index) {
  return absl::StrCat("indices[", entry, "] = ", IndexText(index), " ");
}

absl::Status OutOfBounds(int64_t entry, absl::Span<const int64_t> index, absl::Span<const int64_t> shape) {
  return errors::InvalidArgument(EntryName(entry, index), "is out of bounds: need 0 <= index < ", IndexText(shape));
}

}  // namespace

std::string IndexText(absl::Span<const int64_t> index) { return absl::StrCat("[", absl::StrJoin(index, ","), "]"); }

Tensor ShapeTensor(absl::Span<const int64_t> sizes) { return Tensor::Vector<int64_t>(sizes); }

absl::StatusOr<DimVector> ReadVector(const Tensor& tensor, absl::string_view name) {
  if (tensor.dtype() != DT_INT64 || tensor.dims() != 1) {
    return errors::InvalidArgument("Input ", name, " should be a vector but received shape ",
                                   tensor.shape().ToString());
  }
  const absl::Span<const int64_t> elements = tensor.flat<int64_t>();
  return DimVector(elements.begin(), elements.end());
}

namespace {

absl::Status CheckParts(const Tensor& indices, const Tensor& values, const Tensor& shape, const char* shape_name) {
  if (values.dims() != 1) {
    return errors::InvalidArgument("vals must be a vec, but got: ", values.shape().ToString());
  }
  if (shape.dims() != 1) {
    return errors::InvalidArgument("Expected ", shape_name, " to be a vector; got shape: ", shape.shape().ToString());
  }
  const int64_t rows = indices.dims() == 0 ? 1 : indices.dim_size(0);
  if (rows != values.dim_size(0)) {
    return errors::InvalidArgument("indices and values rows (indexing dimension) must match. (indices = ", rows,
                                   ", values = ", values.dim_size(0), ")");
  }
  if (indices.dims() != 2) {
    return errors::InvalidArgument("indices must be a matrix, but got: ", indices.shape().ToString());
  }
  if (shape.dim_size(0) != indices.dim_size(1)) {
    return errors::InvalidArgument("Order length must be SparseTensor rank.");
  }
  return absl::OkStatus();
}

absl::Status CheckSparse(const Tensor& indices, const Tensor& values, const Tensor& shape) {
  const std::pair<const char*, std::pair<const Tensor*, int>> parts[] = {
      {"indices", {&indices, 2}}, {"values", {&values, 1}}, {"shape", {&shape, 1}}};
  for (const auto& [name, part] : parts) {
    const auto [tensor, rank] = part;
    if (tensor->dims() == rank) continue;
    return errors::InvalidArgument("Sparse ", name, " must be rank ", rank, " but is rank ", tensor->dims());
  }
  if (indices.dim_size(0) != values.dim_size(0)) {
    return errors::InvalidArgument("Number of elements in indices (", indices.dim_size(0), ") and values (",
                                   values.dim_size(0), ") do not match");
  }
  if (indices.dim_size(1) != shape.dim_size(0)) {
    return errors::InvalidArgument("Index rank (", indices.dim_size(1), ") and shape rank (", shape.dim_size(0),
                                   ") do not match");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SparseTensor> SparseTensor::Read(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                                const Names& names) {
  if (names.wording == Wording::kParts) RETURN_IF_ERROR(CheckParts(indices, values, shape, names.shape));
  if (names.wording == Wording::kSparse) RETURN_IF_ERROR(CheckSparse(indices, values, shape));
  if (indices.dtype() != DT_INT64 || indices.dims() != 2) {
    return errors::InvalidArgument("Input ", names.indices, " should be a matrix but received shape ",
                                   indices.shape().ToString());
  }
  if (values.dims() != 1) {
    return errors::InvalidArgument("Input ", names.values, " should be a vector but received shape ",
                                   values.shape().ToString());
  }
  SparseTensor result;
  ASSIGN_OR_RETURN(result.shape_, ReadVector(shape, names.shape));
  if (values.dim_size(0) != indices.dim_size(0)) {
    return errors::InvalidArgument("Number of values must match first dimension of indices. Got ", values.dim_size(0),
                                   " values, indices shape: ", indices.shape().ToString());
  }
  if (shape.dim_size(0) != indices.dim_size(1)) {
    return errors::InvalidArgument("Number of dimensions must match second dimension of indices. Got ",
                                   shape.dim_size(0), " dimensions, indices shape: ", indices.shape().ToString());
  }
  result.indices_ = indices;
  result.values_ = values;
  return result;
}

absl::Status SparseTensor::CheckBounds(Wording wording) const {
  for (int64_t i = 0; i < entries(); ++i) {
    if (Within(index(i), shape_)) continue;
    if (wording != Wording::kSparse) return OutOfBounds(i, index(i), shape_);
    return errors::InvalidArgument("Sparse index tuple indices[", i, ", :] = [", absl::StrJoin(index(i), ", "),
                                   "] is out of bounds: need 0 <= index < ", IndexText(shape_));
  }
  return absl::OkStatus();
}

absl::Status SparseTensor::CheckOrdered() const {
  for (int64_t i = 0; i < entries(); ++i) {
    if (!Within(index(i), shape_)) return OutOfBounds(i, index(i), shape_);
    const int order = i == 0 ? -1 : CompareIndices(index(i - 1), index(i));
    if (order > 0) {
      return errors::InvalidArgument(EntryName(i, index(i)),
                                     "is out of order. Many sparse ops require sorted indices.\n"
                                     "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n");
    }
    if (order == 0) return errors::InvalidArgument(EntryName(i, index(i)), "is repeated");
  }
  return absl::OkStatus();
}

int CompareIndices(absl::Span<const int64_t> a, absl::Span<const int64_t> b) {
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

std::vector<int64_t> SortedEntries(const int64_t* indices, int64_t entries, int rank) {
  std::vector<int64_t> order(entries);
  std::iota(order.begin(), order.end(), 0);
  const auto before = [indices, rank](int64_t a, int64_t b) {
    const int64_t *const x = indices + a * rank, *const y = indices + b * rank;
    for (int d = 0; d < rank; ++d) {
      if (x[d] != y[d]) return x[d] < y[d];
    }
    return false;
  };
  if (!std::is_sorted(order.begin(), order.end(), before)) std::stable_sort(order.begin(), order.end(), before);
  return order;
}

absl::StatusOr<Tensor> GatherElements(OpKernelContext& ctx, const Tensor& values, absl::Span<const int64_t> picks) {
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(values.dtype(), TensorShape({static_cast<int64_t>(picks.size())})));
  VisitElementType(values.dtype(), [&](auto element) {
    using T = decltype(element);
    const T* const from = values.data<T>();
    T* const to = result.data<T>();
    for (size_t i = 0; i < picks.size(); ++i) to[i] = from[picks[i]];
  });
  return result;
}

absl::StatusOr<Tensor> GatherIndexRows(OpKernelContext& ctx, const Tensor& rows, absl::Span<const int64_t> picks) {
  const int64_t rank = rows.dim_size(1);
  ASSIGN_OR_RETURN(Tensor result, ctx.allocate_temp(DT_INT64, TensorShape({static_cast<int64_t>(picks.size()), rank})));
  int64_t* to = result.data<int64_t>();
  for (int64_t pick : picks) to = std::copy_n(rows.data<int64_t>() + pick * rank, rank, to);
  return result;
}

}  // namespace weir
