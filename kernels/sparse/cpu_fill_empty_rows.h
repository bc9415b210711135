// A default value for empty rows: what the ops on sparse and on ragged tensors share.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/device/elements.h"
#include "kernels/sparse/sparse_tensor.h"
#include "kernels/state/update_loops.h"

namespace weir {

// Where each entry goes: into its row, behind those before it. Sets places and whether rows are empty; `starts` becomes
// where empty rows get their default. Returns the number of entries with the defaults.
inline absl::StatusOr<int64_t> PlaceEntries(const int64_t* rows, int64_t step, absl::Span<int64_t> places,
                                            absl::Span<int64_t> starts, bool* empty) {
  const int64_t entries = places.size(), count = starts.size();
  std::fill(starts.begin(), starts.end(), 0);
  for (int64_t i = 0; i < entries; ++i) {
    const int64_t row = rows[i * step];
    if (row < 0 || row >= count) {
      return errors::InvalidArgument("indices(", i, ", 0) is invalid: ", row, " >= ", count);
    }
    ++starts[row];
  }
  int64_t size = 0;
  for (int64_t row = 0; row < count; ++row) {
    empty[row] = starts[row] == 0;
    size += std::max<int64_t>(1, std::exchange(starts[row], size));
  }
  for (int64_t i = 0; i < entries; ++i) places[i] = starts[rows[i * step]]++;
  return size;
}

// indices, values, dense_shape, default; or row numbers, values, number of rows, default.
template <bool kSparse>
class FillEmptyRowsKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &initial = ctx.input(3);
    ASSIGN_OR_RETURN(const int64_t rows, CheckInputs(ctx));
    const int64_t entries = indices.dim_size(0), rank = kSparse ? indices.dim_size(1) : 1;
    if (rows == 0 && entries != 0) {
      return errors::InvalidArgument("Received SparseTensor with dense_shape[0] = 0 but indices.shape[0] = ", entries);
    }
    ASSIGN_OR_RETURN(Tensor * empty, ctx.allocate_output(2, TensorShape({rows})));
    ASSIGN_OR_RETURN(Tensor * places, ctx.allocate_output(3, TensorShape({entries})));
    ASSIGN_OR_RETURN(Tensor starts, ctx.allocate_temp(DT_INT64, TensorShape({rows})));
    ASSIGN_OR_RETURN(const int64_t size, PlaceEntries(indices.data<int64_t>(), rank, places->flat<int64_t>(),
                                                      starts.flat<int64_t>(), empty->data<bool>()));
    const TensorShape rows_shape = kSparse ? TensorShape({size, rank}) : TensorShape({size});
    ASSIGN_OR_RETURN(Tensor * out_rows, ctx.allocate_output(0, rows_shape));
    ASSIGN_OR_RETURN(Tensor * out_values, ctx.allocate_output(1, TensorShape({size})));
    int64_t* const to = out_rows->data<int64_t>();
    std::fill_n(to, size * rank, 0);
    for (int64_t i = 0; i < entries; ++i) {
      std::copy_n(indices.data<int64_t>() + i * rank, rank, to + places->data<int64_t>()[i] * rank);
    }
    VisitElementType(values.dtype(), [&](auto element) {
      using T = decltype(element);
      T* const out = out_values->data<T>();
      for (int64_t i = 0; i < entries; ++i) out[places->data<int64_t>()[i]] = values.data<T>()[i];
      for (int64_t row = 0; row < rows; ++row) {
        if (!empty->data<bool>()[row]) continue;
        const int64_t at = starts.data<int64_t>()[row];
        to[at * rank] = row;
        out[at] = *initial.data<T>();
      }
    });
    return absl::OkStatus();
  }

 private:
  // The number of rows.
  static absl::StatusOr<int64_t> CheckInputs(OpKernelContext& ctx) {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2), &initial = ctx.input(3);
    if (shape.dims() != (kSparse ? 1 : 0)) {
      return errors::InvalidArgument(kSparse ? "dense_shape must be a vector, saw: " : "nrows must be a scalar, saw: ",
                                     shape.shape().ToString());
    }
    if (indices.dims() != (kSparse ? 2 : 1)) {
      return errors::InvalidArgument(
          kSparse ? "indices must be a matrix, saw: " : "value_rowids must be a vector, saw: ",
          indices.shape().ToString());
    }
    if (values.dims() != 1) {
      return errors::InvalidArgument("values must be a vector, saw: ", values.shape().ToString());
    }
    if (indices.dim_size(0) != values.dim_size(0)) {
      return errors::InvalidArgument("The length of `values` (", values.dim_size(0),
                                     ") must match the first dimension of `indices` (", indices.dim_size(0), ").");
    }
    if (initial.dims() != 0) {
      return errors::InvalidArgument("default_value must be a scalar, saw: ", initial.shape().ToString());
    }
    if (shape.NumElements() == 0 && (!kSparse || indices.dim_size(1) == 0)) {
      return errors::InvalidArgument("Dense shape cannot be empty.");
    }
    if (kSparse && indices.dim_size(1) != shape.NumElements()) {
      return errors::InvalidArgument("The length of `dense_shape` (", shape.NumElements(),
                                     ") must match the second dimension of `indices` (", indices.dim_size(1), ").");
    }
    const int64_t rows = shape.data<int64_t>()[0];
    if (rows < 0) return errors::InvalidArgument("The number of rows must not be negative: ", rows);
    return rows;
  }
};

// reverse_index_map, grad_values: each entry's gradient, and the sum of what went into defaults.
class FillEmptyRowsGradKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &places = ctx.input(0), &grad = ctx.input(1);
    if (places.dims() != 1) {
      return errors::InvalidArgument("reverse_index_map must be a vector, saw: ", places.shape().ToString());
    }
    if (grad.dims() != 1) {
      return errors::InvalidArgument("grad_values must be a vector, saw: ", grad.shape().ToString());
    }
    const int64_t entries = places.NumElements(), size = grad.NumElements();
    std::vector<bool> visited(size, false);
    for (int64_t i = 0; i < entries; ++i) {
      const int64_t place = places.data<int64_t>()[i];
      if (place < 0 || place >= size) {
        return errors::InvalidArgument("Elements in reverse index must be in [0, ", size, ") but got ", place);
      }
      visited[place] = true;
    }
    ASSIGN_OR_RETURN(Tensor values, GatherElements(ctx, grad, places.flat<int64_t>()));
    ctx.set_output(0, std::move(values));
    ASSIGN_OR_RETURN(Tensor * initial, ctx.allocate_output(1, TensorShape()));
    ZeroElements(grad.dtype(), initial->raw_data(), 1);
    const UpdateLoop add = FindUpdateLoop(UpdateOp::kAdd, grad.dtype());
    if (add == nullptr) {
      return errors::Unimplemented("SparseFillEmptyRowsGrad cannot add ", DataTypeName(grad.dtype()));
    }
    const int64_t width = DataTypeSize(grad.dtype());
    for (int64_t i = 0; i < size; ++i) {
      if (!visited[i]) add(initial->raw_data(), static_cast<const char*>(grad.raw_data()) + i * width, 1, 1);
    }
    return absl::OkStatus();
  }
};

}  // namespace weir
