// Tensors as tensorflow.TensorProto on the wire, without a protobuf copy of their bytes.
#pragma once

#include <string>

#include "core/allocator.h"
#include "core/status.h"
#include "core/tensor.h"
#include "distribute/transport/wire_format.h"

namespace weir {

// A message on the wire stays below this, as protobuf readers elsewhere cannot take more.
constexpr size_t kMaxMessageBytes = (size_t{1} << 31) - 1;

// A TensorProto about to be written: first what protobuf would write before tensor_content's bytes or the strings (or
// the whole, for handles and variants), then those.
class TensorEncoder {
 public:
  // InvalidArgument when the tensor cannot leave the process, ResourceExhausted when it is too large. `tensor` must
  // outlive the encoder.
  static absl::StatusOr<TensorEncoder> Create(const Tensor& tensor);

  size_t size() const { return head_.size() + content_bytes_; }
  void WriteTo(WireWriter* writer) const;

 private:
  explicit TensorEncoder(const Tensor& tensor) : tensor_(&tensor) {}

  const Tensor* tensor_;
  std::string head_;
  size_t content_bytes_ = 0;
};

// Reads a TensorProto, its length first. Bytes of plain types go from the slices straight into the tensor's buffer.
// InvalidArgument for anything malformed or beyond kMaxMessageBytes; checked before allocating.
absl::StatusOr<Tensor> DecodeTensor(WireReader* reader, Allocator* allocator);

}  // namespace weir
