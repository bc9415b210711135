#include "kernels/data/compressed_element.h"

#include <snappy.h>

#include <cstring>

#include "core/tensor/tensor_proto.h"
#include "kernels/data/family.h"
#include "kernels/data/stored_tensor.h"
#include "tensorflow/core/framework/dataset.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

using Metadata = tensorflow::data::CompressedComponentMetadata;

// Adds a component's bytes to `bytes` and their sizes to `metadata`.
absl::Status AppendComponent(const Tensor& tensor, std::string* bytes, Metadata* metadata) {
  metadata->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(metadata->mutable_tensor_shape());
  if (IsPlainType(tensor.dtype())) {
    bytes->append(static_cast<const char*>(tensor.raw_data()), tensor.TotalBytes());
    metadata->add_uncompressed_bytes(tensor.TotalBytes());
    return absl::OkStatus();
  }
  if (tensor.dtype() == DT_STRING) {
    for (const tstring& value : tensor.flat<tstring>()) {
      bytes->append(value.data(), value.size());
      metadata->add_uncompressed_bytes(value.size());
    }
    return absl::OkStatus();
  }
  tensorflow::TensorProto proto;
  RETURN_IF_ERROR(TensorToProto(tensor, &proto));
  const size_t before = bytes->size();
  if (!proto.AppendToString(bytes)) return errors::Internal("A component cannot be serialised");
  metadata->add_uncompressed_bytes(bytes->size() - before);
  return absl::OkStatus();
}

// Takes a component's bytes from the front of `bytes`.
absl::StatusOr<Tensor> TakeComponent(const Metadata& metadata, Allocator* allocator, absl::string_view* bytes) {
  const auto take = [bytes](uint64_t size) {
    const absl::string_view taken = bytes->substr(0, size);
    bytes->remove_prefix(taken.size());
    return taken;
  };
  const DataType dtype = static_cast<DataType>(metadata.dtype());
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::FromProto(metadata.tensor_shape()));
  if (dtype == DT_STRING) {
    if (shape.num_elements() != metadata.uncompressed_bytes_size()) {
      return errors::Internal("A compressed component has ", metadata.uncompressed_bytes_size(), " strings where ",
                              shape.ToString(), " has ", shape.num_elements());
    }
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, dtype, shape));
    for (int i = 0; i < metadata.uncompressed_bytes_size(); ++i) {
      const absl::string_view value = take(metadata.uncompressed_bytes(i));
      tensor.data<tstring>()[i].assign(value.data(), value.size());
    }
    return tensor;
  }
  const absl::string_view value = take(metadata.uncompressed_bytes(0));
  if (!IsPlainType(dtype)) {
    tensorflow::TensorProto proto;
    if (!proto.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return errors::Internal("Could not parse TensorProto");
    }
    return StoredTensor(proto, allocator);
  }
  const int64_t size = MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DataTypeSize(dtype)));
  if (size != static_cast<int64_t>(value.size())) {
    return errors::Internal("A compressed component has ", value.size(), " bytes where ", DataTypeName(dtype),
                            shape.ToString(), " takes ", size);
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, dtype, shape));
  if (size > 0) std::memcpy(tensor.raw_data(), value.data(), size);
  return tensor;
}

// The number of bytes that all components claim; -1 where they are no numbers that bytes can have.
int64_t ClaimedBytes(const tensorflow::data::CompressedElement& message) {
  uint64_t total = 0;
  for (const Metadata& metadata : message.component_metadata()) {
    if (metadata.dtype() != tensorflow::DT_STRING && metadata.uncompressed_bytes_size() != 1) return -1;
    for (const uint64_t size : metadata.uncompressed_bytes()) {
      if (size > INT32_MAX || total > uint64_t{INT64_MAX} - size) return -1;
      total += size;
    }
  }
  return static_cast<int64_t>(total);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CompressedElement>> CompressedElement::Compress(const Element& element) {
  tensorflow::data::CompressedElement message;
  std::string bytes;
  for (const Tensor& component : element) {
    RETURN_IF_ERROR(AppendComponent(component, &bytes, message.add_component_metadata()));
  }
  if (bytes.size() > INT32_MAX) {
    return errors::OutOfRange("Encountered dataset element of size ", bytes.size(),
                              ", exceeding the 4GB Snappy limit.");  // 2 GiB for a message
  }
  snappy::Compress(bytes.data(), bytes.size(), message.mutable_data());
  auto compressed = std::make_unique<CompressedElement>();
  compressed->serialized_ = message.SerializeAsString();
  return compressed;
}

absl::StatusOr<std::unique_ptr<VariantValue>> CompressedElement::Decode(absl::string_view metadata,
                                                                        std::vector<Tensor>) {
  tensorflow::data::CompressedElement message;
  if (!message.ParseFromArray(metadata.data(), static_cast<int>(metadata.size()))) {
    return errors::InvalidArgument("The variant holds no compressed element");
  }
  auto compressed = std::make_unique<CompressedElement>();
  compressed->serialized_ = std::string(metadata);
  return compressed;
}

absl::StatusOr<Element> CompressedElement::Uncompress(Allocator* allocator) const {
  tensorflow::data::CompressedElement message;
  if (!message.ParseFromString(serialized_)) return errors::Internal("Could not parse CompressedElement");
  const int64_t claimed = ClaimedBytes(message);
  const std::string& data = message.data();
  size_t size = 0;
  if (!snappy::GetUncompressedLength(data.data(), data.size(), &size)) {
    return errors::Internal("Could not get snappy uncompressed length. Compressed data size: ", data.size());
  }
  if (claimed < 0 || size != static_cast<size_t>(claimed)) {
    return errors::Internal("Uncompressed size mismatch. Snappy expects ", size,
                            " whereas the tensor metadata suggests ", claimed);
  }
  // Of few bytes Snappy makes at most some twenty times as many: larger claims are rejected before memory is allocated.
  std::string bytes;
  if (!snappy::IsValidCompressedBuffer(data.data(), data.size()) ||
      !snappy::Uncompress(data.data(), data.size(), &bytes)) {
    return errors::Internal("Failed to perform snappy decompression.");
  }
  Element element;
  absl::string_view left = bytes;
  for (const Metadata& metadata : message.component_metadata()) {
    ASSIGN_OR_RETURN(element.emplace_back(), TakeComponent(metadata, allocator, &left));
  }
  return element;
}

absl::Status CompressedElement::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  *metadata = serialized_;
  tensors->clear();
  return absl::OkStatus();
}

absl::Status RegisterCompressedElementVariants(VariantRegistry& variants) {
  return variants.Register(CompressedElement::kTypeName, &CompressedElement::Decode);
}

}  // namespace weir
