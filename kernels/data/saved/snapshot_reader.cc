// Elements from the files of snapshots, in the formats of all versions.
#include <snappy.h>

#include "core/checkpoint/coding.h"
#include "kernels/data/saved/snapshot_files.h"
#include "kernels/data/stored_tensor.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/protobuf/snapshot.pb.h"

namespace weir {
namespace {

using tensorflow::data::experimental::SnapshotRecord;
using tensorflow::data::experimental::SnapshotTensorMetadata;

// Version 2: each component is a record of a TFRecord file.
class RecordReader : public SnapshotReader {
 public:
  RecordReader(std::unique_ptr<ByteStream> stream, size_t components)
      : stream_(std::move(stream)), components_(components) {}

  absl::StatusOr<bool> Read(Element* element) override {
    element->clear();
    for (size_t i = 0; i < components_; ++i) {
      std::string record;
      ASSIGN_OR_RETURN(const bool more, ReadTfRecord(*stream_, &record));
      if (!more && i == 0) return false;
      tensorflow::TensorProto proto;
      if (!more || !proto.ParseFromString(record)) {
        return errors::DataLoss("Unable to parse tensor from stored proto.");
      }
      ASSIGN_OR_RETURN(element->emplace_back(), StoredTensor(proto));
    }
    return true;
  }

 private:
  const std::unique_ptr<ByteStream> stream_;
  const size_t components_;
};

// Versions before: parts behind their lengths in eight bytes.
class PartReader : public SnapshotReader {
 public:
  explicit PartReader(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

 protected:
  absl::StatusOr<bool> ReadPart(std::string* part) {
    constexpr size_t kLength = 8;
    std::string length;
    RETURN_IF_ERROR(stream_->Read(kLength, &length));
    if (length.empty()) return false;
    if (length.size() < kLength) return errors::DataLoss("truncated record at ", stream_->position());
    const uint64_t size = coding::DecodeFixed64(length.data());
    part->clear();
    RETURN_IF_ERROR(stream_->Read(size, part));
    if (part->size() < size) return errors::DataLoss("truncated record at ", stream_->position());
    return true;
  }

 private:
  const std::unique_ptr<ByteStream> stream_;
};

// Each part an element.
class ElementPartReader : public PartReader {
 public:
  using PartReader::PartReader;
  absl::StatusOr<bool> Read(Element* element) override {
    std::string part;
    ASSIGN_OR_RETURN(const bool more, ReadPart(&part));
    if (!more) return false;
    SnapshotRecord record;
    if (!record.ParseFromString(part)) return errors::DataLoss("Unable to parse tensor from proto.");
    element->clear();
    for (const tensorflow::TensorProto& proto : record.tensor()) {
      ASSIGN_OR_RETURN(element->emplace_back(), StoredTensor(proto));
    }
    return true;
  }
};

// Two parts an element: what the components are, and their bytes, one after the other, as Snappy compressed them.
class SnappyPartReader : public PartReader {
 public:
  SnappyPartReader(std::unique_ptr<ByteStream> stream, DataTypeVector types)
      : PartReader(std::move(stream)), types_(std::move(types)) {}

  absl::StatusOr<bool> Read(Element* element) override {
    std::string head, compressed;
    ASSIGN_OR_RETURN(const bool more, ReadPart(&head));
    if (!more) return false;
    ASSIGN_OR_RETURN(const bool complete, ReadPart(&compressed));
    SnapshotTensorMetadata metadata;
    if (!complete || !metadata.ParseFromString(head) ||
        metadata.tensor_metadata_size() != static_cast<int>(types_.size())) {
      return errors::DataLoss("Could not parse SnapshotTensorMetadata");
    }
    std::string bytes;
    if (!snappy::IsValidCompressedBuffer(compressed.data(), compressed.size()) ||
        !snappy::Uncompress(compressed.data(), compressed.size(), &bytes)) {
      return errors::Internal("Failed to perform snappy decompression.");
    }
    element->clear();
    absl::string_view left = bytes;
    for (size_t i = 0; i < types_.size(); ++i) {
      const auto& component = metadata.tensor_metadata(static_cast<int>(i));
      if (component.tensor_size_bytes() < 0 || component.tensor_size_bytes() > static_cast<int64_t>(left.size())) {
        return errors::Internal("Uncompressed size mismatch. Snappy expects ", bytes.size(),
                                " whereas the tensor metadata suggests more");
      }
      const absl::string_view part = left.substr(0, component.tensor_size_bytes());
      left.remove_prefix(part.size());
      ASSIGN_OR_RETURN(element->emplace_back(), ReadComponent(types_[i], component.tensor_shape(), part));
    }
    return true;
  }

 private:
  static absl::StatusOr<Tensor> ReadComponent(DataType type, const tensorflow::TensorShapeProto& shape,
                                              absl::string_view bytes) {
    tensorflow::TensorProto proto;
    if (!IsPlainType(type)) {
      if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return errors::Internal("Could not parse TensorProto");
      }
      return StoredTensor(proto);
    }
    proto.set_dtype(static_cast<tensorflow::DataType>(type));
    *proto.mutable_tensor_shape() = shape;
    ASSIGN_OR_RETURN(const TensorShape checked, TensorShape::FromProto(shape));
    if (bytes.empty() && checked.num_elements() > 0) return errors::Internal("Could not parse Tensor");
    proto.set_tensor_content(bytes.data(), bytes.size());
    return StoredTensor(proto);
  }

  const DataTypeVector types_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SnapshotReader>> SnapshotReader::Open(FileSystem* files, const std::string& path,
                                                                     Compression compression, int64_t version,
                                                                     const DataTypeVector& types) {
  if (version < 0 || version > kSnapshotVersion) {
    return errors::InvalidArgument("Snapshot reader version: ", version, " is not supported.");
  }
  // From version 1 until version 2 Snappy compressed elements rather than the file.
  const bool compresses_elements = version == 1 && compression == Compression::kSnappy;
  ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                   ByteStream::Open(files, path, compresses_elements ? Compression::kNone : compression, 0));
  if (version == kSnapshotVersion) return std::make_unique<RecordReader>(std::move(stream), types.size());
  if (compresses_elements) return std::make_unique<SnappyPartReader>(std::move(stream), types);
  return std::make_unique<ElementPartReader>(std::move(stream));
}

}  // namespace weir
