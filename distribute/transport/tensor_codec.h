// Encodes tensors as tensorflow.TensorProto, without a protobuf copy of their bytes.
#pragma once

#include <string>

#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "distribute/transport/wire_format.h"

namespace weir {

// Messages stay below this size, the limit of protobuf readers.
constexpr size_t kMaxMessageBytes = (size_t{1} << 31) - 1;
// ResourceExhausted if the tensors of one `message` (its type, for the error) take too many bytes together.
absl::Status CheckMessageSize(size_t bytes, absl::string_view message);

// A TensorProto to be written: first the fields that protobuf writes before tensor_content or the strings (or the whole
// message, for handles and variants), then those.
class TensorEncoder {
 public:
  // InvalidArgument if the tensor cannot leave the process, ResourceExhausted if it is too large. `tensor` outlives the
  // encoder.
  static absl::StatusOr<TensorEncoder> Create(const Tensor& tensor);

  size_t size() const { return head_.size() + content_bytes_; }
  void WriteTo(WireWriter* writer) const;

 private:
  explicit TensorEncoder(const Tensor& tensor) : tensor_(&tensor) {}

  const Tensor* tensor_;
  std::string head_;
  size_t content_bytes_ = 0;
};

// Reads a length-prefixed TensorProto. Bytes of plain types go from the slices straight into the tensor's buffer.
// InvalidArgument if it is malformed or larger than kMaxMessageBytes; checked before allocation.
absl::StatusOr<Tensor> DecodeTensor(WireReader* reader, Allocator* allocator);

}  // namespace weir
