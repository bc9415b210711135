// Reads the inputs of embedding kernels.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/device/named_resource.h"
#include "kernels/embedding/embedding_table.h"

namespace weir {

inline absl::StatusOr<std::shared_ptr<EmbeddingTable>> TableInput(const OpKernelContext& ctx) {
  return FindResource<EmbeddingTable>(ctx, 0);
}

// The one element of a scalar of type T.
template <typename T>
absl::StatusOr<T> ScalarInput(const OpKernelContext& ctx, int i, absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() == DataTypeOf<T>() && tensor.dims() == 0) return tensor.scalar<T>();
  return errors::InvalidArgument(name, " must be a scalar of type ", DataTypeName(DataTypeOf<T>()), ", got ",
                                 DataTypeName(tensor.dtype()), " ", tensor.shape().ToString());
}

inline absl::StatusOr<absl::Span<const int64_t>> KeysInput(const OpKernelContext& ctx, int i) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() == DT_INT64 && tensor.shape().IsVector()) return tensor.flat<int64_t>();
  return errors::InvalidArgument("keys must be a vector of int64, got ", DataTypeName(tensor.dtype()), " ",
                                 tensor.shape().ToString());
}

inline absl::StatusOr<absl::Span<const int32_t>> Int32sInput(const OpKernelContext& ctx, int i,
                                                             absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.dtype() == DT_INT32 && tensor.shape().IsVector()) return tensor.flat<int32_t>();
  return errors::InvalidArgument(name, " must be a vector of int32, got ", DataTypeName(tensor.dtype()), " ",
                                 tensor.shape().ToString());
}

}  // namespace weir
