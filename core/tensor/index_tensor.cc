#include "core/tensor/index_tensor.h"

#include <limits>

namespace weir {
namespace {

template <typename T>
DimVector Widen(const Tensor& tensor) {
  const T* data = tensor.data<T>();
  return DimVector(data, data + tensor.NumElements());
}

template <typename T>
absl::Status Narrow(absl::Span<const int64_t> values, Tensor* tensor) {
  T* out = tensor->data<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    out[i] = static_cast<T>(values[i]);
    if (out[i] != values[i]) {
      return errors::InvalidArgument("Value ", values[i], " exceeds the range of ", DataTypeName(tensor->dtype()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DimVector> ReadIntegers(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DT_INT32:
      return Widen<int32_t>(tensor);
    case DT_INT64:
      return Widen<int64_t>(tensor);
    case DT_INT16:
      return Widen<int16_t>(tensor);
    case DT_INT8:
      return Widen<int8_t>(tensor);
    case DT_UINT8:
      return Widen<uint8_t>(tensor);
    default:
      return errors::InvalidArgument("Expected integers, got ", DataTypeName(tensor.dtype()));
  }
}

absl::StatusOr<int64_t> ReadInteger(const Tensor& tensor, absl::string_view what) {
  if (tensor.NumElements() != 1) {
    return errors::InvalidArgument(what, " must be a tensor with a single value, got shape ",
                                   tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(tensor));
  return values[0];
}

absl::StatusOr<int64_t> ReadScalarInteger(const Tensor& tensor, absl::string_view what) {
  if (tensor.dims() != 0) {
    return errors::InvalidArgument(what, " must be a scalar, got shape ", tensor.shape().ToString());
  }
  return ReadInteger(tensor, what);
}

absl::StatusOr<TensorShape> ReadShape(const Tensor& tensor) {
  if (tensor.dims() != 1) {
    return errors::InvalidArgument("shape must be a vector of {int32,int64}, got shape ", tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(const DimVector dims, ReadIntegers(tensor));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return errors::InvalidArgument("Dimension ", dims[i], " must be >= 0");
  }
  return TensorShape::Build(dims);
}

absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor* tensor) {
  switch (tensor->dtype()) {
    case DT_INT16:
      return Narrow<int16_t>(values, tensor);
    case DT_INT32:
      return Narrow<int32_t>(values, tensor);
    case DT_INT64:
      return Narrow<int64_t>(values, tensor);
    default:
      return errors::InvalidArgument("Cannot hold indices: ", DataTypeName(tensor->dtype()));
  }
}

}  // namespace weir
