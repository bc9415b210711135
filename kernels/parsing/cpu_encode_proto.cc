// EncodeProto: serialised messages from the values of their fields.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "kernels/parsing/family.h"
#include "kernels/parsing/proto_message.h"

namespace weir {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Values [begin, begin + count) of one field of one message.
struct FieldValues {
  const FieldDescriptor& field;
  const Tensor& tensor;
  int64_t begin, count;
};

template <typename T, typename Element>
void WriteNumbersOf(const FieldValues& values, void (*write)(T, CodedOutputStream*), CodedOutputStream* output) {
  const Element* const elements = values.tensor.data<Element>() + values.begin;
  const int number = values.field.number();
  if (!values.field.options().packed()) {
    const auto wire = WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(values.field.type()));
    for (int64_t i = 0; i < values.count; ++i) {
      WireFormatLite::WriteTag(number, wire, output);
      write(static_cast<T>(elements[i]), output);
    }
    return;
  }
  std::string packed;
  {
    google::protobuf::io::StringOutputStream stream(&packed);
    CodedOutputStream coded(&stream);
    for (int64_t i = 0; i < values.count; ++i) write(static_cast<T>(elements[i]), &coded);
  }
  WireFormatLite::WriteTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, output);
  output->WriteVarint32(static_cast<uint32_t>(packed.size()));
  output->WriteString(packed);
}

// The tensor's type is one that IsProtoFieldOf accepts.
template <typename T>
void WriteNumbers(const FieldValues& values, void (*write)(T, CodedOutputStream*), CodedOutputStream* output) {
  switch (values.tensor.dtype()) {
    case DT_DOUBLE:
      return WriteNumbersOf<T, double>(values, write, output);
    case DT_FLOAT:
      return WriteNumbersOf<T, float>(values, write, output);
    case DT_INT64:
      return WriteNumbersOf<T, int64_t>(values, write, output);
    case DT_UINT64:
      return WriteNumbersOf<T, uint64_t>(values, write, output);
    case DT_UINT32:
      return WriteNumbersOf<T, uint32_t>(values, write, output);
    case DT_BOOL:
      return WriteNumbersOf<T, bool>(values, write, output);
    default:
      return WriteNumbersOf<T, int32_t>(values, write, output);
  }
}

void WriteStrings(const FieldValues& values, CodedOutputStream* output) {
  const bool is_group = values.field.type() == FieldDescriptor::TYPE_GROUP;
  const int number = values.field.number();
  for (int64_t i = 0; i < values.count; ++i) {
    const tstring& value = values.tensor.data<tstring>()[values.begin + i];
    if (is_group) {
      WireFormatLite::WriteTag(number, WireFormatLite::WIRETYPE_START_GROUP, output);
      output->WriteString(value);
      WireFormatLite::WriteTag(number, WireFormatLite::WIRETYPE_END_GROUP, output);
    } else {
      WireFormatLite::WriteTag(number, WireFormatLite::WIRETYPE_LENGTH_DELIMITED, output);
      output->WriteVarint32(static_cast<uint32_t>(value.size()));
      output->WriteString(value);
    }
  }
}

void WriteField(const FieldValues& values, CodedOutputStream* output) {
  switch (values.field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
      return WriteNumbers<double>(values, &WireFormatLite::WriteDoubleNoTag, output);
    case FieldDescriptor::TYPE_FLOAT:
      return WriteNumbers<float>(values, &WireFormatLite::WriteFloatNoTag, output);
    case FieldDescriptor::TYPE_INT64:
      return WriteNumbers<int64_t>(values, &WireFormatLite::WriteInt64NoTag, output);
    case FieldDescriptor::TYPE_UINT64:
      return WriteNumbers<uint64_t>(values, &WireFormatLite::WriteUInt64NoTag, output);
    case FieldDescriptor::TYPE_INT32:
      return WriteNumbers<int32_t>(values, &WireFormatLite::WriteInt32NoTag, output);
    case FieldDescriptor::TYPE_FIXED64:
      return WriteNumbers<uint64_t>(values, &WireFormatLite::WriteFixed64NoTag, output);
    case FieldDescriptor::TYPE_FIXED32:
      return WriteNumbers<uint32_t>(values, &WireFormatLite::WriteFixed32NoTag, output);
    case FieldDescriptor::TYPE_BOOL:
      return WriteNumbers<bool>(values, &WireFormatLite::WriteBoolNoTag, output);
    case FieldDescriptor::TYPE_UINT32:
      return WriteNumbers<uint32_t>(values, &WireFormatLite::WriteUInt32NoTag, output);
    case FieldDescriptor::TYPE_ENUM:
      return WriteNumbers<int>(values, &WireFormatLite::WriteEnumNoTag, output);
    case FieldDescriptor::TYPE_SFIXED32:
      return WriteNumbers<int32_t>(values, &WireFormatLite::WriteSFixed32NoTag, output);
    case FieldDescriptor::TYPE_SFIXED64:
      return WriteNumbers<int64_t>(values, &WireFormatLite::WriteSFixed64NoTag, output);
    case FieldDescriptor::TYPE_SINT32:
      return WriteNumbers<int32_t>(values, &WireFormatLite::WriteSInt32NoTag, output);
    case FieldDescriptor::TYPE_SINT64:
      return WriteNumbers<int64_t>(values, &WireFormatLite::WriteSInt64NoTag, output);
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_GROUP:
    case FieldDescriptor::TYPE_MESSAGE:
      return WriteStrings(values, output);
  }
}

class EncodeProtoKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    ASSIGN_OR_RETURN(message_, ProtoMessage::Read(ctx));
    order_ = message_.ByNumber();
    return ctx.GetAttr("field_names", &names_);
  }

  // Inputs: sizes [batch..., fields], then the values of each field [batch..., most of them].
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape batch, CheckInputs(ctx));
    const int64_t fields = static_cast<int64_t>(message_.fields.size());
    const int32_t* const sizes = ctx.input(0).data<int32_t>();
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, batch));
    for (int64_t m = 0; m < batch.num_elements(); ++m) {
      google::protobuf::io::StringOutputStream stream(&output->data<tstring>()[m]);
      CodedOutputStream coded(&stream);
      for (const int i : order_) {
        const Tensor& values = ctx.input(i + 1);
        const int64_t width = values.dim_size(values.dims() - 1), size = sizes[m * fields + i];
        if (size > 0) WriteField({*message_.fields[i], values, m * width, size}, &coded);
      }
    }
    return absl::OkStatus();
  }

 private:
  // The shape of the batch.
  absl::StatusOr<TensorShape> CheckInputs(const OpKernelContext& ctx) const {
    const int fields = static_cast<int>(message_.fields.size());
    if (ctx.num_inputs() != fields + 1) {
      return errors::InvalidArgument("Length of inputs list must match field_names");
    }
    TensorShape batch;
    for (int i = 0; i < fields; ++i) {
      const Tensor& values = ctx.input(i + 1);
      const FieldDescriptor& field = *message_.fields[i];
      if (!IsProtoFieldOf(field.type(), values.dtype())) {
        return errors::InvalidArgument("Incompatible type for field ", names_[i],
                                       ".  Saw dtype: ", DataTypeName(values.dtype()),
                                       " but field type is: ", field.type_name());
      }
      if (values.dims() < 2) {
        return errors::InvalidArgument("Invalid shape for field ", names_[i], ".  Saw shape ",
                                       values.shape().ToString(), " but it should be at least a matrix.");
      }
      TensorShape prefix = values.shape();
      prefix.RemoveDim(prefix.dims() - 1);
      if (i == 0) {
        batch = prefix;
      } else if (prefix != batch) {
        return errors::InvalidArgument("Values must match up to the last dimension");
      }
    }
    TensorShape expected = batch;
    RETURN_IF_ERROR(expected.AddDim(fields));
    const Tensor& sizes = ctx.input(0);
    if (sizes.shape() != expected) {
      return errors::InvalidArgument("sizes should be batch_size + [len(field_names)].  Saw: ",
                                     sizes.shape().ToString(), " but expected: ", expected.ToString());
    }
    for (int64_t k = 0; k < sizes.NumElements(); ++k) {
      const Tensor& values = ctx.input(static_cast<int>(k % fields) + 1);
      const int64_t most = values.dim_size(values.dims() - 1), size = sizes.data<int32_t>()[k];
      if (size <= most) continue;
      return errors::InvalidArgument("Size to write must not be larger than value tensor; but saw: ", size, " > ", most,
                                     " at message ", k / fields, " field ", k % fields);
    }
    return batch;
  }

  ProtoMessage message_;
  std::vector<std::string> names_;
  std::vector<int> order_;  // of the fields, by number
};

}  // namespace

absl::Status RegisterEncodeProtoKernels(KernelRegistry& kernels) {
  return kernels.Register<EncodeProtoKernel>(Kernel("EncodeProto").Cpu());
}

}  // namespace weir
