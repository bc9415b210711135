#include "core/tensor/tensor_proto.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"
#include "core/tensor/variant_registry.h"
#include "tensorflow/core/framework/resource_handle.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {
namespace {

using tensorflow::TensorProto;

constexpr int64_t kMaxObjectBytes = int64_t{1} << 30;

// Reads and writes the TensorProto field for values of type T.
template <typename T>
struct Field;

#define WEIR_FIELD(T, name, to_value, to_field)                          \
  template <>                                                            \
  struct Field<T> {                                                      \
    static const auto& Get(const TensorProto& p) { return p.name(); }    \
    static auto* Mutable(TensorProto* p) { return p->mutable_##name(); } \
    template <typename V>                                                \
    static T Value(V v) {                                                \
      return to_value;                                                   \
    }                                                                    \
    static auto Encoded(T v) { return to_field; }                        \
  };
WEIR_FIELD(float, float_val, v, v)
WEIR_FIELD(double, double_val, v, v)
WEIR_FIELD(int8_t, int_val, static_cast<int8_t>(v), int32_t{v})
WEIR_FIELD(int16_t, int_val, static_cast<int16_t>(v), int32_t{v})
WEIR_FIELD(int32_t, int_val, v, v)
WEIR_FIELD(uint8_t, int_val, static_cast<uint8_t>(v), int32_t{v})
WEIR_FIELD(uint16_t, int_val, static_cast<uint16_t>(v), int32_t{v})
WEIR_FIELD(int64_t, int64_val, v, v)
WEIR_FIELD(uint32_t, uint32_val, v, v)
WEIR_FIELD(uint64_t, uint64_val, v, v)
WEIR_FIELD(bool, bool_val, v, v)
WEIR_FIELD(qint8, int_val, (qint8{static_cast<int8_t>(v)}), int32_t{v.value})
WEIR_FIELD(quint8, int_val, (quint8{static_cast<uint8_t>(v)}), int32_t{v.value})
WEIR_FIELD(qint16, int_val, (qint16{static_cast<int16_t>(v)}), int32_t{v.value})
WEIR_FIELD(quint16, int_val, (quint16{static_cast<uint16_t>(v)}), int32_t{v.value})
WEIR_FIELD(qint32, int_val, (qint32{v}), v.value)
WEIR_FIELD(int4, int_val, (int4{static_cast<int8_t>(((v & 0xf) ^ 8) - 8)}), int32_t{v.value})
WEIR_FIELD(uint4, int_val, (uint4{static_cast<uint8_t>(v & 0xf)}), int32_t{v.value})
WEIR_FIELD(half, half_val, Eigen::numext::bit_cast<half>(static_cast<uint16_t>(v)),
           int32_t{Eigen::numext::bit_cast<uint16_t>(v)})
WEIR_FIELD(bfloat16, half_val, Eigen::numext::bit_cast<bfloat16>(static_cast<uint16_t>(v)),
           int32_t{Eigen::numext::bit_cast<uint16_t>(v)})
#undef WEIR_FIELD

absl::Status TooManyValues(const Tensor& tensor, int64_t given) {
  return errors::InvalidArgument("TensorProto of shape ", tensor.shape().ToString(), " has ", given,
                                 " values where at most ", tensor.NumElements(), " fit");
}

// The rest repeats the last value; without any value it is zero (or empty).
template <typename T>
void FillFrom(Tensor* tensor, int64_t given) {
  T* const data = tensor->data<T>();
  if (given == 0 && !std::is_trivially_copyable_v<T>) return;
  std::fill(data + given, data + tensor->NumElements(), given == 0 ? T() : data[given - 1]);
}

template <typename T>
absl::Status ReadValues(const TensorProto& proto, Tensor* tensor) {
  const auto& field = Field<T>::Get(proto);
  if (field.size() > tensor->NumElements()) return TooManyValues(*tensor, field.size());
  for (int i = 0; i < field.size(); ++i) tensor->data<T>()[i] = Field<T>::Value(field[i]);
  FillFrom<T>(tensor, field.size());
  return absl::OkStatus();
}

template <typename T, typename Values>
absl::Status ReadComplex(const Values& values, Tensor* tensor) {
  if (values.size() % 2 != 0) {
    return errors::InvalidArgument("TensorProto has half a complex value: ", values.size(), " numbers");
  }
  if (values.size() / 2 > tensor->NumElements()) return TooManyValues(*tensor, values.size() / 2);
  for (int i = 0; i < values.size() / 2; ++i) tensor->data<T>()[i] = T(values[2 * i], values[2 * i + 1]);
  FillFrom<T>(tensor, values.size() / 2);
  return absl::OkStatus();
}

template <typename T>
absl::Status ReadFloat8(const TensorProto& proto, Tensor* tensor) {
  const std::string& bytes = proto.float8_val();
  if (static_cast<int64_t>(bytes.size()) > tensor->NumElements()) return TooManyValues(*tensor, bytes.size());
  std::copy(bytes.begin(), bytes.end(), tensor->data<char>());
  FillFrom<T>(tensor, bytes.size());
  return absl::OkStatus();
}

absl::Status ReadStrings(const TensorProto& proto, Tensor* tensor) {
  if (proto.string_val_size() > tensor->NumElements()) return TooManyValues(*tensor, proto.string_val_size());
  std::copy(proto.string_val().begin(), proto.string_val().end(), tensor->data<tstring>());
  FillFrom<tstring>(tensor, proto.string_val_size());
  return absl::OkStatus();
}

absl::Status ReadHandles(const TensorProto& proto, Tensor* tensor) {
  const auto& field = proto.resource_handle_val();
  if (field.size() > tensor->NumElements()) return TooManyValues(*tensor, field.size());
  for (int i = 0; i < field.size(); ++i) {
    ASSIGN_OR_RETURN(tensor->data<ResourceHandle>()[i], ResourceHandle::FromProto(field[i]));
  }
  FillFrom<ResourceHandle>(tensor, field.size());
  return absl::OkStatus();
}

// Variants contain tensors, which may contain variants.
struct Reader {
  Allocator* allocator;
  int64_t max_bytes;
  int depth = 0;
};
constexpr int kMaxVariantDepth = 32;

absl::StatusOr<Tensor> ReadTensor(const TensorProto& proto, const Reader& reader);

absl::StatusOr<Variant> ReadVariant(const tensorflow::VariantTensorDataProto& proto, Reader reader) {
  if (proto.type_name().empty()) return Variant();
  if (++reader.depth > kMaxVariantDepth) return errors::InvalidArgument("TensorProto has variants nested too deeply");
  std::vector<Tensor> parts;
  for (const TensorProto& part : proto.tensors()) {
    ASSIGN_OR_RETURN(parts.emplace_back(), ReadTensor(part, reader));
  }
  return Variant(std::make_shared<EncodedVariant>(proto.type_name(), proto.metadata(), std::move(parts)));
}

absl::Status ReadVariants(const TensorProto& proto, const Reader& reader, Tensor* tensor) {
  const auto& field = proto.variant_val();
  if (field.size() > tensor->NumElements()) return TooManyValues(*tensor, field.size());
  for (int i = 0; i < field.size(); ++i) {
    ASSIGN_OR_RETURN(tensor->data<Variant>()[i], ReadVariant(field[i], reader));
  }
  FillFrom<Variant>(tensor, field.size());
  return absl::OkStatus();
}

absl::Status ReadFields(const TensorProto& proto, const Reader& reader, Tensor* tensor) {
  switch (tensor->dtype()) {
#define WEIR_CASE(T)    \
  case DataTypeOf<T>(): \
    return ReadValues<T>(proto, tensor);
    WEIR_FOR_REALS(WEIR_CASE)
    WEIR_CASE(bool)
    WEIR_CASE(qint8)
    WEIR_CASE(quint8)
    WEIR_CASE(qint16)
    WEIR_CASE(quint16)
    WEIR_CASE(qint32)
    WEIR_CASE(int4)
    WEIR_CASE(uint4)
#undef WEIR_CASE
    case DT_COMPLEX64:
      return ReadComplex<complex64>(proto.scomplex_val(), tensor);
    case DT_COMPLEX128:
      return ReadComplex<complex128>(proto.dcomplex_val(), tensor);
    case DT_FLOAT8_E5M2:
      return ReadFloat8<float8_e5m2>(proto, tensor);
    case DT_FLOAT8_E4M3FN:
      return ReadFloat8<float8_e4m3fn>(proto, tensor);
    case DT_STRING:
      return ReadStrings(proto, tensor);
    case DT_RESOURCE:
      return ReadHandles(proto, tensor);
    case DT_VARIANT:
      return ReadVariants(proto, reader, tensor);
    default:
      return errors::InvalidArgument("TensorProto of type ", DataTypeName(tensor->dtype()));
  }
}

// The caller has checked the length.
absl::Status ReadPlainContent(absl::string_view content, Tensor* tensor) {
  auto* const to = static_cast<uint8_t*>(tensor->raw_data());
  std::memcpy(to, content.data(), content.size());
  // A byte other than 0 and 1 is no bool.
  if (tensor->dtype() == DT_BOOL) std::transform(to, to + content.size(), to, [](uint8_t b) { return b != 0; });
  return absl::OkStatus();
}

bool ReadVarint(absl::string_view* in, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !in->empty(); shift += 7) {
    const uint8_t byte = (*in)[0];
    in->remove_prefix(1);
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// All lengths as varints, then all bytes.
absl::Status SplitContent(absl::string_view content, const Tensor& tensor, std::vector<absl::string_view>* parts) {
  const absl::Status malformed =
      errors::InvalidArgument("TensorProto of type ", DataTypeName(tensor.dtype()), " and shape ",
                              tensor.shape().ToString(), " has malformed content");
  // Each part takes at least one length byte: checked before a table of lengths is allocated.
  if (static_cast<int64_t>(content.size()) < tensor.NumElements()) return malformed;
  std::vector<uint64_t> lengths(tensor.NumElements());
  uint64_t total = 0;
  for (uint64_t& length : lengths) {
    if (!ReadVarint(&content, &length) || length > content.size()) return malformed;
    total += length;
  }
  if (total != content.size()) return malformed;
  for (const uint64_t length : lengths) {
    parts->push_back(content.substr(0, length));
    content.remove_prefix(length);
  }
  return absl::OkStatus();
}

template <typename Message>
absl::StatusOr<Message> ParsePart(absl::string_view part) {
  Message message;
  if (part.size() <= INT32_MAX && message.ParseFromArray(part.data(), static_cast<int>(part.size()))) return message;
  return errors::InvalidArgument("TensorProto has content that is not a ", message.GetTypeName());
}

absl::Status ReadContent(const std::string& content, const Reader& reader, Tensor* tensor) {
  if (IsPlainType(tensor->dtype())) return ReadPlainContent(content, tensor);
  std::vector<absl::string_view> parts;
  RETURN_IF_ERROR(SplitContent(content, *tensor, &parts));
  for (size_t i = 0; i < parts.size(); ++i) {
    if (tensor->dtype() == DT_STRING) {
      tensor->data<tstring>()[i].assign(parts[i].data(), parts[i].size());
    } else if (tensor->dtype() == DT_RESOURCE) {
      ASSIGN_OR_RETURN(const auto proto, ParsePart<tensorflow::ResourceHandleProto>(parts[i]));
      ASSIGN_OR_RETURN(tensor->data<ResourceHandle>()[i], ResourceHandle::FromProto(proto));
    } else if (tensor->dtype() == DT_VARIANT) {
      ASSIGN_OR_RETURN(const auto proto, ParsePart<tensorflow::VariantTensorDataProto>(parts[i]));
      ASSIGN_OR_RETURN(tensor->data<Variant>()[i], ReadVariant(proto, reader));
    } else {
      return errors::InvalidArgument("TensorProto of type ", DataTypeName(tensor->dtype()), " cannot have content");
    }
  }
  return absl::OkStatus();
}

// Checked before memory is allocated for the claimed shape.
absl::Status CheckSize(const TensorProto& proto, DataType dtype, const TensorShape& shape, int64_t max_bytes) {
  const int64_t bytes = MultiplyWithoutOverflow(shape.num_elements(), static_cast<int64_t>(DataTypeSize(dtype)));
  const bool plain = IsPlainType(dtype);
  // Objects are constructed one by one: a few bytes must not create very many.
  const int64_t for_objects = kMaxObjectBytes + 32 * static_cast<int64_t>(proto.ByteSizeLong());
  const int64_t limit = plain ? max_bytes : std::min(max_bytes, for_objects);
  if (bytes < 0 || bytes > limit) {
    return errors::InvalidArgument("TensorProto of ", DataTypeName(dtype), shape.ToString(), " is larger than ", limit,
                                   " bytes");
  }
  const int64_t content = static_cast<int64_t>(proto.tensor_content().size());
  if (plain && content > 0 && content != bytes) {
    return errors::InvalidArgument("TensorProto has ", content, " bytes of content where ", DataTypeName(dtype),
                                   shape.ToString(), " takes ", bytes);
  }
  return absl::OkStatus();
}

absl::Status WriteVariants(const Tensor& tensor, TensorProto* proto) {
  for (const Variant& variant : tensor.flat<Variant>()) {
    auto* out = proto->add_variant_val();
    if (variant.empty()) continue;
    out->set_type_name(variant.TypeName());
    std::vector<Tensor> parts;
    RETURN_IF_ERROR(variant.value()->Encode(out->mutable_metadata(), &parts));
    for (const Tensor& part : parts) RETURN_IF_ERROR(TensorToProto(part, out->add_tensors()));
  }
  return absl::OkStatus();
}

absl::Status WriteHeader(const Tensor& tensor, TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  tensor.shape().ToProto(proto->mutable_tensor_shape());
  if (!tensor.IsInitialized()) return errors::InvalidArgument("Cannot serialize an uninitialized tensor");
  return absl::OkStatus();
}

absl::Status WriteObjects(const Tensor& tensor, TensorProto* proto) {
  if (tensor.dtype() == DT_VARIANT) return WriteVariants(tensor, proto);
  if (tensor.dtype() == DT_RESOURCE) {
    for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) handle.ToProto(proto->add_resource_handle_val());
    return absl::OkStatus();
  }
  proto->mutable_string_val()->Reserve(static_cast<int>(tensor.NumElements()));
  for (const tstring& s : tensor.flat<tstring>()) proto->add_string_val(s);
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ReadTensor(const TensorProto& proto, const Reader& reader) {
  const DataType dtype = static_cast<DataType>(proto.dtype());
  if (!IsValidDataType(dtype)) return errors::InvalidArgument("TensorProto has invalid type ", DataTypeName(dtype));
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::FromProto(proto.tensor_shape()));
  RETURN_IF_ERROR(CheckSize(proto, dtype, shape, reader.max_bytes));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(reader.allocator, dtype, shape));
  // TensorFlow's client writes a value even if there are no elements: tf.zeros([0], tf.string).
  if (shape.num_elements() == 0 && proto.tensor_content().empty()) return tensor;
  if (!proto.tensor_content().empty()) {
    RETURN_IF_ERROR(ReadContent(proto.tensor_content(), reader, &tensor));
  } else {
    RETURN_IF_ERROR(ReadFields(proto, reader, &tensor));
  }
  return tensor;
}

template <typename T>
void WriteValues(const Tensor& tensor, TensorProto* proto) {
  auto* field = Field<T>::Mutable(proto);
  field->Reserve(static_cast<int>(tensor.NumElements()));
  for (const T& v : tensor.flat<T>()) field->Add(Field<T>::Encoded(v));
}

}  // namespace

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto, Allocator* allocator, int64_t max_bytes) {
  return ReadTensor(proto, {.allocator = allocator, .max_bytes = max_bytes});
}

absl::Status TensorToProto(const Tensor& tensor, TensorProto* proto) {
  RETURN_IF_ERROR(WriteHeader(tensor, proto));
  if (!IsPlainType(tensor.dtype())) return WriteObjects(tensor, proto);
  if (tensor.NumElements() > 0) {
    proto->set_tensor_content(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
  }
  return absl::OkStatus();
}

absl::Status TensorToReadableProto(const Tensor& tensor, TensorProto* proto) {
  RETURN_IF_ERROR(WriteHeader(tensor, proto));
  switch (tensor.dtype()) {
#define WEIR_CASE(T)               \
  case DataTypeOf<T>():            \
    WriteValues<T>(tensor, proto); \
    return absl::OkStatus();
    WEIR_FOR_REALS(WEIR_CASE)
    WEIR_CASE(bool)
    WEIR_CASE(qint8)
    WEIR_CASE(quint8)
    WEIR_CASE(qint16)
    WEIR_CASE(quint16)
    WEIR_CASE(qint32)
    WEIR_CASE(int4)
    WEIR_CASE(uint4)
#undef WEIR_CASE
    case DT_COMPLEX64:
      for (complex64 v : tensor.flat<complex64>()) {
        proto->add_scomplex_val(v.real());
        proto->add_scomplex_val(v.imag());
      }
      return absl::OkStatus();
    case DT_COMPLEX128:
      for (complex128 v : tensor.flat<complex128>()) {
        proto->add_dcomplex_val(v.real());
        proto->add_dcomplex_val(v.imag());
      }
      return absl::OkStatus();
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
      proto->set_float8_val(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
      return absl::OkStatus();
    default:
      return WriteObjects(tensor, proto);
  }
}

}  // namespace weir
