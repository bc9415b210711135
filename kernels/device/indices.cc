#include "kernels/device/indices.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace weir {

absl::StatusOr<Indices> Indices::Read(const Tensor& tensor) {
  Indices result;
  result.tensor_ = tensor;
  if (tensor.dtype() == DT_INT32) {
    absl::Span<const int32_t> values = tensor.flat<int32_t>();
    result.converted_.assign(values.begin(), values.end());
  } else if (tensor.dtype() != DT_INT64) {
    return errors::InvalidArgument("indices must be int32 or int64, got ", DataTypeName(tensor.dtype()));
  }
  return result;
}

absl::Status Indices::CheckRange(int64_t limit, absl::string_view name) const {
  const int64_t n = size();
  const int64_t* const values = data();
  for (int64_t i = 0; i < n; ++i) {
    if (static_cast<uint64_t>(values[i]) >= static_cast<uint64_t>(limit)) {
      return errors::InvalidArgument(name, ElementName(shape(), i), " = ", values[i], " is not in [0, ", limit, ")");
    }
  }
  return absl::OkStatus();
}

absl::Status MismatchOfRows(const TensorShape& indices, const TensorShape& updates) {
  const int outer = indices.dims() - 1;
  const auto sizes = [outer](const TensorShape& shape) {
    const absl::Span<const int64_t> shown = shape.dim_sizes().first(std::min(outer, shape.dims()));
    return shown.size() == 1 ? absl::StrCat(shown[0]) : absl::StrCat("[", absl::StrJoin(shown, ","), "]");
  };
  return errors::InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", indices.ToString(),
                                 "] = ", sizes(indices), " must match dimensions [0,", outer,
                                 ") of updates[shape=", updates.ToString(), "] = ", sizes(updates));
}

absl::StatusOr<TensorShape> ShapeFromTensor(const Tensor& tensor, absl::string_view name) {
  if (tensor.dims() != 1) {
    return errors::InvalidArgument(name, " must be a vector, got shape ", tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(Indices sizes, Indices::Read(tensor));
  return TensorShape::Build(absl::MakeConstSpan(sizes.data(), sizes.size()));
}

absl::StatusOr<int64_t> ScalarFromTensor(const Tensor& tensor, absl::string_view name) {
  if (tensor.NumElements() != 1) {
    return errors::InvalidArgument(name, " must be a scalar, got shape ", tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(Indices value, Indices::Read(tensor));
  return value[0];
}

}  // namespace weir
