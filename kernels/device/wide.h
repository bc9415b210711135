// Computing with 16-bit floats in float: kernels for rare ops are written once for float and once for double.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// float for half and bfloat16, the type itself otherwise.
DataType WideType(DataType type);

// `tensor` as WideType of its elements: itself, or a converted copy.
absl::StatusOr<Tensor> Widen(OpKernelContext& ctx, const Tensor& tensor);
// Converts between any two numeric types; itself where they are the same.
absl::StatusOr<Tensor> ConvertTensor(OpKernelContext& ctx, const Tensor& tensor, DataType type);

// A tensor to compute output `i` in: the output itself, or a temporary that Finish converts.
class WideOutput {
 public:
  static absl::StatusOr<WideOutput> Allocate(OpKernelContext& ctx, int i, const TensorShape& shape);
  Tensor& tensor() { return tensor_; }
  template <typename T>
  T* data() {
    return tensor_.data<T>();
  }
  // Once all elements are written.
  absl::Status Finish(OpKernelContext& ctx);

 private:
  int index_ = 0;
  Tensor tensor_;
};

// fn(float()) or fn(double()), which returns a status, for WideType of a floating type.
template <typename Fn>
absl::Status VisitWide(DataType type, Fn&& fn) {
  switch (WideType(type)) {
    case DT_FLOAT:
      return fn(float());
    case DT_DOUBLE:
      return fn(double());
    default:
      return errors::Unimplemented("Expected floating-point elements, not ", DataTypeName(type));
  }
}

}  // namespace weir
