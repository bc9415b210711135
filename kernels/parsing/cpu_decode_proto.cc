// DecodeProtoV2: the values of some fields of many messages, one tensor for each field.
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "kernels/parsing/family.h"
#include "kernels/parsing/proto_message.h"

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

void Store(std::string value, Tensor* tensor, int64_t at) { tensor->data<tstring>()[at] = std::move(value); }
template <typename T>
void Store(T value, Tensor* tensor, int64_t at) {
  switch (tensor->dtype()) {
    case DT_DOUBLE:
      tensor->data<double>()[at] = static_cast<double>(value);
      break;
    case DT_FLOAT:
      tensor->data<float>()[at] = static_cast<float>(value);
      break;
    case DT_INT64:
      tensor->data<int64_t>()[at] = static_cast<int64_t>(value);
      break;
    case DT_INT32:
      tensor->data<int32_t>()[at] = static_cast<int32_t>(value);
      break;
    case DT_UINT64:
      tensor->data<uint64_t>()[at] = static_cast<uint64_t>(value);
      break;
    case DT_UINT32:
      tensor->data<uint32_t>()[at] = static_cast<uint32_t>(value);
      break;
    default:  // no other type is compatible
      tensor->data<bool>()[at] = static_cast<bool>(value);
  }
}

// Where a field's values go. Without a tensor they are counted.
struct FieldSink {
  const FieldDescriptor* field = nullptr;
  Tensor* tensor = nullptr;
  int64_t begin = 0, end = 0;  // of this message's elements
  int64_t count = 0;

  // Values of a field that is not repeated replace each other.
  template <typename T>
  bool Add(T value) {
    const int64_t at = begin + (field->is_repeated() ? count : 0);
    count = at - begin + 1;
    if (tensor == nullptr) return true;
    if (at >= end) return false;
    Store(std::move(value), tensor, at);
    return true;
  }
};

template <typename T, WireFormatLite::FieldType kType>
bool ReadPlain(CodedInputStream& input, FieldSink& sink) {
  T value;
  return WireFormatLite::ReadPrimitive<T, kType>(&input, &value) && sink.Add(value);
}

bool ReadBytes(CodedInputStream& input, FieldSink& sink) {
  std::string value;
  uint32_t length;
  return input.ReadVarint32(&length) && length <= INT32_MAX && input.ReadString(&value, static_cast<int>(length)) &&
         sink.Add(std::move(value));
}

// Its fields, with the tags around them.
bool ReadGroup(CodedInputStream& input, FieldSink& sink) {
  std::string value;
  {
    google::protobuf::io::StringOutputStream stream(&value);
    google::protobuf::io::CodedOutputStream output(&stream);
    const uint32_t start = WireFormatLite::MakeTag(sink.field->number(), WireFormatLite::WIRETYPE_START_GROUP);
    if (!WireFormatLite::SkipField(&input, start, &output)) return false;
  }
  return sink.Add(std::move(value));
}

bool ReadValue(CodedInputStream& input, FieldSink& sink) {
  switch (sink.field->type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return ReadPlain<double, WireFormatLite::TYPE_DOUBLE>(input, sink);
    case FieldDescriptor::TYPE_FLOAT:
      return ReadPlain<float, WireFormatLite::TYPE_FLOAT>(input, sink);
    case FieldDescriptor::TYPE_INT64:
      return ReadPlain<int64_t, WireFormatLite::TYPE_INT64>(input, sink);
    case FieldDescriptor::TYPE_UINT64:
      return ReadPlain<uint64_t, WireFormatLite::TYPE_UINT64>(input, sink);
    case FieldDescriptor::TYPE_INT32:
      return ReadPlain<int32_t, WireFormatLite::TYPE_INT32>(input, sink);
    case FieldDescriptor::TYPE_FIXED64:
      return ReadPlain<uint64_t, WireFormatLite::TYPE_FIXED64>(input, sink);
    case FieldDescriptor::TYPE_FIXED32:
      return ReadPlain<uint32_t, WireFormatLite::TYPE_FIXED32>(input, sink);
    case FieldDescriptor::TYPE_BOOL:
      return ReadPlain<bool, WireFormatLite::TYPE_BOOL>(input, sink);
    case FieldDescriptor::TYPE_UINT32:
      return ReadPlain<uint32_t, WireFormatLite::TYPE_UINT32>(input, sink);
    case FieldDescriptor::TYPE_ENUM:
      return ReadPlain<int, WireFormatLite::TYPE_ENUM>(input, sink);
    case FieldDescriptor::TYPE_SFIXED32:
      return ReadPlain<int32_t, WireFormatLite::TYPE_SFIXED32>(input, sink);
    case FieldDescriptor::TYPE_SFIXED64:
      return ReadPlain<int64_t, WireFormatLite::TYPE_SFIXED64>(input, sink);
    case FieldDescriptor::TYPE_SINT32:
      return ReadPlain<int32_t, WireFormatLite::TYPE_SINT32>(input, sink);
    case FieldDescriptor::TYPE_SINT64:
      return ReadPlain<int64_t, WireFormatLite::TYPE_SINT64>(input, sink);
    case FieldDescriptor::TYPE_GROUP:
      return ReadGroup(input, sink);
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE:
      return ReadBytes(input, sink);
  }
  return false;
}

bool ReadPacked(CodedInputStream& input, FieldSink& sink) {
  uint32_t length;
  if (!input.ReadVarint32(&length) || length > static_cast<uint32_t>(input.BytesUntilLimit())) return false;
  const CodedInputStream::Limit limit = input.PushLimit(static_cast<int>(length));
  while (input.BytesUntilLimit() > 0) {
    if (!ReadValue(input, sink)) return false;
  }
  input.PopLimit(limit);
  return true;
}

// `sinks` by field number.
absl::Status ReadMessage(const std::string& bytes, std::vector<FieldSink>& sinks) {
  if (bytes.size() > INT32_MAX) return errors::DataLoss("A message of more than 2 GiB");
  CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  while (const uint32_t tag = input.ReadTag()) {
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto sink = std::lower_bound(sinks.begin(), sinks.end(), number,
                                       [](const FieldSink& s, int n) { return s.field->number() < n; });
    const bool is_wanted = sink != sinks.end() && sink->field->number() == number;
    const WireFormatLite::WireType wire = WireFormatLite::GetTagWireType(tag);
    bool ok;
    if (is_wanted &&
        wire == WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(sink->field->type()))) {
      ok = ReadValue(input, *sink);
    } else if (is_wanted && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED &&
               FieldDescriptor::IsTypePackable(sink->field->type())) {
      ok = ReadPacked(input, *sink);
    } else {
      ok = WireFormatLite::SkipField(&input, tag);  // unknown, or written by another schema
    }
    if (!ok) return errors::DataLoss("ReadValue: Failed skipping field when counting: field ", number);
  }
  if (!input.ConsumedEntireMessage()) return errors::DataLoss("CountFields: Failed to consume entire buffer");
  return absl::OkStatus();
}

// What is left of a message's elements becomes what a message without the field has.
void FillDefaults(const FieldSink& sink) {
  const FieldDescriptor& field = *sink.field;
  const auto fill = [&sink](const auto& value) {
    for (int64_t at = sink.begin + sink.count; at < sink.end; ++at) Store(value, sink.tensor, at);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fill(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return fill(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return fill(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return fill(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fill(field.default_value_double());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fill(field.default_value_float());
    case FieldDescriptor::CPPTYPE_BOOL:
      return fill(field.default_value_bool());
    case FieldDescriptor::CPPTYPE_ENUM:
      return fill(field.default_value_enum()->number());
    case FieldDescriptor::CPPTYPE_STRING:
      return fill(field.default_value_string());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return fill(std::string());
  }
}

// Of messages in messages that are text, as of binary ones.
constexpr int kMaxDepth = 100;

// Silent: the kernel reports the error.
class Silence : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, google::protobuf::io::ColumnNumber, const std::string&) override {}
};

class DecodeProtoKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(message_, ProtoMessage::Read(ctx));
    DataTypeVector types;
    RETURN_IF_ERROR(ctx.GetAttr("output_types", &types));
    if (types.size() != message_.fields.size()) {
      return errors::InvalidArgument("field_names and output_types attributes must have the same length");
    }
    for (size_t i = 0; i < types.size(); ++i) {
      const FieldDescriptor& field = *message_.fields[i];
      if (IsProtoFieldOf(field.type(), types[i])) continue;
      return errors::InvalidArgument("Unexpected output type for ", field.full_name(), ": ", field.cpp_type_name(),
                                     " to DT_", absl::AsciiStrToUpper(DataTypeName(types[i])));
    }
    order_ = message_.ByNumber();
    std::string format;
    RETURN_IF_ERROR(ctx.GetAttr("message_format", &format));
    if (format != "binary" && format != "text") {
      return errors::InvalidArgument("format must be one of binary or text");
    }
    is_text_ = format == "text";
    return ctx.GetAttr("sanitize", &sanitize_);
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int64_t messages = input.NumElements();
    if (messages < 1) return errors::InvalidArgument("Bufs argument must contain at least one value");
    ASSIGN_OR_RETURN(const Tensor bytes, is_text_ || sanitize_ ? Rewritten(ctx, input) : input);
    TensorShape sizes_shape = input.shape();
    RETURN_IF_ERROR(sizes_shape.AddDim(FieldCount()));
    ASSIGN_OR_RETURN(Tensor * sizes, ctx.allocate_output(0, sizes_shape));
    std::vector<int64_t> widths(message_.fields.size(), 1);
    for (int64_t m = 0; m < messages; ++m) {
      std::vector<FieldSink> sinks = MakeSinks();
      RETURN_IF_ERROR(ReadMessage(bytes.data<tstring>()[m], sinks));
      for (size_t i = 0; i < sinks.size(); ++i) {
        sizes->data<int32_t>()[m * FieldCount() + order_[i]] = static_cast<int32_t>(sinks[i].count);
        widths[order_[i]] = std::max(widths[order_[i]], sinks[i].count);
      }
    }
    std::vector<Tensor*> values;
    for (size_t i = 0; i < widths.size(); ++i) {
      TensorShape shape = input.shape();
      RETURN_IF_ERROR(shape.AddDim(widths[i]));
      ASSIGN_OR_RETURN(values.emplace_back(), ctx.allocate_output(static_cast<int>(i) + 1, shape));
    }
    for (int64_t m = 0; m < messages; ++m) {
      std::vector<FieldSink> sinks = MakeSinks();
      for (size_t i = 0; i < sinks.size(); ++i) {
        const int64_t width = widths[order_[i]];
        sinks[i].tensor = values[order_[i]];
        sinks[i].begin = m * width;
        sinks[i].end = sinks[i].begin + width;
      }
      RETURN_IF_ERROR(ReadMessage(bytes.data<tstring>()[m], sinks));
      for (const FieldSink& sink : sinks) FillDefaults(sink);
    }
    return absl::OkStatus();
  }

 private:
  int64_t FieldCount() const { return static_cast<int64_t>(message_.fields.size()); }
  std::vector<FieldSink> MakeSinks() const {
    std::vector<FieldSink> sinks(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) sinks[i].field = message_.fields[order_[i]];
    return sinks;
  }
  // As binary messages that the library wrote itself.
  absl::StatusOr<Tensor> Rewritten(OpKernelContext& ctx, const Tensor& input) const {
    Silence silence;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&silence);
    parser.SetRecursionLimit(kMaxDepth);
    google::protobuf::DynamicMessageFactory factory;
    const google::protobuf::Message* prototype = factory.GetPrototype(message_.type);
    ASSIGN_OR_RETURN(Tensor rewritten, ctx.allocate_temp(DT_STRING, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      const std::unique_ptr<google::protobuf::Message> message(prototype->New());
      const tstring& bytes = input.data<tstring>()[i];
      if (!is_text_ && !message->ParseFromString(bytes)) return errors::DataLoss("Unable to parse binary protobuf");
      if (is_text_ && !parser.ParseFromString(bytes, message.get())) {
        return errors::DataLoss("Unable to parse text protobuf");
      }
      if (!message->SerializeToString(&rewritten.data<tstring>()[i])) {
        return errors::DataLoss("Unable to reserialize text proto as binary");
      }
    }
    return rewritten;
  }

  ProtoMessage message_;
  std::vector<int> order_;  // of the fields, by number
  bool is_text_ = false, sanitize_ = false;
};

}  // namespace

absl::Status RegisterDecodeProtoKernels(KernelRegistry& kernels) {
  return kernels.Register<DecodeProtoKernel>(Kernel("DecodeProtoV2").Cpu());
}

}  // namespace weir
