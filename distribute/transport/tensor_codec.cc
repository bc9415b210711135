#include "distribute/transport/tensor_codec.h"

#include <utility>

#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/tensor.pb.h"

namespace weir {
namespace {

// Field numbers of TensorProto, TensorShapeProto and its Dim.
constexpr int kDtype = 1;
constexpr int kShape = 2;
constexpr int kVersion = 3;
constexpr int kContent = 4;
constexpr int kStrings = 8;
constexpr int kShapeDim = 2;
constexpr int kDimSize = 1;

std::string EncodeShape(const TensorShape& shape) {
  std::string out;
  for (int64_t size : shape.dim_sizes()) {
    AppendTag(kShapeDim, WireType::kBytes, &out);
    AppendVarint(size == 0 ? 0 : 1 + VarintSize(size), &out);
    if (size == 0) continue;
    AppendTag(kDimSize, WireType::kVarint, &out);
    AppendVarint(size, &out);
  }
  return out;
}

std::string EncodeTypeAndShape(const Tensor& tensor) {
  std::string out;
  AppendTag(kDtype, WireType::kVarint, &out);
  AppendVarint(static_cast<uint64_t>(tensor.dtype()), &out);
  const std::string shape = EncodeShape(tensor.shape());
  AppendTag(kShape, WireType::kBytes, &out);
  AppendVarint(shape.size(), &out);
  return out + shape;
}

bool DecodeDim(WireReader* reader, DimVector* dims) {
  size_t length;
  if (!reader->Length(&length)) return false;
  const size_t outer = reader->PushLimit(length);
  int64_t size = 0;
  while (!reader->AtEnd()) {
    int field;
    WireType type;
    if (!reader->Tag(&field, &type)) return false;
    if (field == kDimSize && type == WireType::kVarint) {
      uint64_t value;
      if (!reader->Varint(&value)) return false;
      size = static_cast<int64_t>(value);
    } else if (!reader->Skip(type)) {
      return false;
    }
  }
  reader->PopLimit(outer);
  dims->push_back(size);
  return true;
}

// False for a shape that is malformed or unusual (unknown rank, too many dimensions): protobuf decodes those.
bool DecodeShape(WireReader* reader, DimVector* dims) {
  size_t length;
  if (!reader->Length(&length)) return false;
  const size_t outer = reader->PushLimit(length);
  while (!reader->AtEnd()) {
    int field;
    WireType type;
    if (!reader->Tag(&field, &type) || field != kShapeDim || type != WireType::kBytes) return false;
    if (dims->size() == kMaxRank || !DecodeDim(reader, dims)) return false;
  }
  reader->PopLimit(outer);
  return true;
}

// Decodes the common form: dtype, shape, then exactly as much content as they require. False for other forms.
absl::StatusOr<bool> DecodeUsualForm(WireReader* reader, Allocator* allocator, Tensor* tensor) {
  uint64_t dtype = 0;
  DimVector dims;
  bool has_shape = false;
  bool has_content = false;
  while (!reader->AtEnd()) {
    int field;
    WireType type;
    if (!reader->Tag(&field, &type) || has_content) return false;
    if (field == kDtype && type == WireType::kVarint) {
      if (!reader->Varint(&dtype)) return false;
    } else if (field == kShape && type == WireType::kBytes && !has_shape) {
      if (!DecodeShape(reader, &dims)) return false;
      has_shape = true;
    } else if (field == kVersion && type == WireType::kVarint) {
      if (!reader->Skip(type)) return false;
    } else if (field == kContent && type == WireType::kBytes && has_shape) {
      const DataType element = static_cast<DataType>(dtype);
      size_t length;
      if (dtype == 0 || dtype > DT_UINT4 || !IsPlainType(element) || !reader->Length(&length)) return false;
      absl::StatusOr<TensorShape> shape = TensorShape::Build(dims);
      if (!shape.ok()) return false;
      const int64_t bytes = MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DataTypeSize(element)));
      if (bytes <= 0 || static_cast<uint64_t>(bytes) != length) return false;
      ASSIGN_OR_RETURN(*tensor, Tensor::Allocate(allocator, element, *shape));
      if (!reader->Copy(tensor->raw_data(), length)) return false;
      has_content = true;
    } else {
      return false;
    }
  }
  return has_content;
}

}  // namespace

absl::Status CheckMessageSize(size_t bytes, absl::string_view message) {
  if (bytes <= kMaxMessageBytes) return absl::OkStatus();
  return errors::ResourceExhausted(
      "The tensors of one ", message, " take ", bytes,
      " bytes together, and a message holds less than 2 GiB: split them over several steps");
}

absl::StatusOr<TensorEncoder> TensorEncoder::Create(const Tensor& tensor) {
  TensorEncoder encoder(tensor);
  if (!tensor.IsInitialized()) return errors::InvalidArgument("An uninitialised tensor cannot be sent");
  if (IsPlainType(tensor.dtype())) {
    encoder.head_ = EncodeTypeAndShape(tensor);
    encoder.content_bytes_ = static_cast<size_t>(tensor.TotalBytes());
    if (encoder.content_bytes_ > 0) {
      AppendTag(kContent, WireType::kBytes, &encoder.head_);
      AppendVarint(encoder.content_bytes_, &encoder.head_);
    }
  } else if (tensor.dtype() == DT_STRING) {
    encoder.head_ = EncodeTypeAndShape(tensor);
    for (const tstring& value : tensor.flat<tstring>()) {
      encoder.content_bytes_ += 1 + VarintSize(value.size()) + value.size();
    }
  } else {
    tensorflow::TensorProto proto;
    RETURN_IF_ERROR(TensorToProto(tensor, &proto));
    if (proto.ByteSizeLong() <= kMaxMessageBytes) {
      encoder.head_ = proto.SerializeAsString();
    } else {
      encoder.content_bytes_ = proto.ByteSizeLong();
    }
  }
  if (encoder.size() > kMaxMessageBytes) {
    return errors::ResourceExhausted("A tensor of type ", DataTypeName(tensor.dtype()), " and shape ",
                                     tensor.shape().ToString(), " takes ", encoder.size(),
                                     " bytes, and a message holds less than 2 GiB: split the tensor");
  }
  return encoder;
}

void TensorEncoder::WriteTo(WireWriter* writer) const {
  writer->Raw(head_);
  if (content_bytes_ == 0) return;
  tensor_->dtype() == DT_STRING ? writer->TensorStrings(kStrings, *tensor_) : writer->TensorBytes(*tensor_);
}

absl::StatusOr<Tensor> DecodeTensor(WireReader* reader, Allocator* allocator) {
  const WireReader::Mark start = reader->Here();
  size_t length;
  if (!reader->Length(&length)) return errors::InvalidArgument("A TensorProto ends before its length says so");
  const size_t outer = reader->PushLimit(length);
  Tensor tensor;
  ASSIGN_OR_RETURN(const bool usual, DecodeUsualForm(reader, allocator, &tensor));
  reader->PopLimit(outer);
  if (usual) return tensor;
  reader->Rewind(start);
  tensorflow::TensorProto proto;
  if (!reader->Message(&proto)) return errors::InvalidArgument("Malformed TensorProto of ", length, " bytes");
  return TensorFromProto(proto, allocator, static_cast<int64_t>(kMaxMessageBytes));
}

}  // namespace weir
