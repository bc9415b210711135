#include "distribute/transport/python/python_codec.h"

#include <utility>

#include "core/memory/out_of_memory.h"
#include "distribute/transport/tensor_codec.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

// Field numbers of weir.PythonCall.
constexpr int kCallId = 1;
constexpr int kToken = 2;
constexpr int kEager = 3;
constexpr int kInput = 4;
constexpr int kService = 5;
constexpr int kTimeout = 6;
// Field numbers of weir.PythonResult.
constexpr int kResultId = 1;
constexpr int kCode = 2;
constexpr int kText = 3;
constexpr int kOutput = 4;
// A tag and a length, or a number.
constexpr size_t kFieldBytes = 16;

// RESOURCE_EXHAUSTED if the tensors do not fit into one message with `other_bytes`, or if there is no memory for copied
// elements.
absl::Status WriteTensors(absl::string_view message, size_t other_bytes, int field, const std::vector<Tensor>& tensors,
                          WireWriter* writer) {
  size_t total = other_bytes + 8 * kFieldBytes;
  for (const Tensor& tensor : tensors) {
    RETURN_IF_ERROR(OrOutOfMemory([&]() -> absl::Status {
      ASSIGN_OR_RETURN(const TensorEncoder encoder, TensorEncoder::Create(tensor));
      total += kFieldBytes + encoder.size();
      RETURN_IF_ERROR(CheckMessageSize(total, message));
      writer->BeginMessage(field, encoder.size());
      encoder.WriteTo(writer);
      return absl::OkStatus();
    }));
  }
  return absl::OkStatus();
}

// Reads the fields of one message.
class FieldReader {
 public:
  FieldReader(const char* message, const grpc::ByteBuffer& buffer, Allocator* allocator)
      : message_(message), reader_(buffer), allocator_(allocator) {}

  // False at the end and after an error.
  bool Next() { return status_.ok() && !reader_.AtEnd() && Check(reader_.Tag(&field_, &type_)); }
  bool Is(int field, WireType type) const { return field_ == field && type_ == type; }
  uint64_t Varint() {
    uint64_t value = 0;
    Check(reader_.Varint(&value));
    return value;
  }
  std::string String() {
    std::string value;
    Check(reader_.String(&value));
    return value;
  }
  void AddTensor(std::vector<Tensor>* tensors) {
    absl::StatusOr<Tensor> tensor = OrOutOfMemory([&] { return DecodeTensor(&reader_, allocator_); });
    if (tensor.ok()) {
      tensors->push_back(*std::move(tensor));
    } else {
      status_ = Annotate(tensor.status(), message_);
    }
  }
  void Skip() { Check(reader_.Skip(type_)); }
  const absl::Status& status() const { return status_; }

 private:
  bool Check(bool read) {
    if (!read && status_.ok()) {
      status_ = errors::InvalidArgument("Malformed ", message_, " at byte ", reader_.position());
    }
    return read;
  }

  const char* const message_;
  WireReader reader_;
  Allocator* const allocator_;
  absl::Status status_;
  int field_ = 0;
  WireType type_ = WireType::kVarint;
};

}  // namespace

absl::StatusOr<grpc::ByteBuffer> EncodePythonCall(const WirePythonCall& call) {
  WireWriter writer;
  writer.Varint(kCallId, call.id);
  writer.Bytes(kToken, call.call.token);
  writer.Varint(kEager, call.call.eager ? 1 : 0);
  RETURN_IF_ERROR(
      WriteTensors("PythonCall", call.call.token.size() + call.service.size(), kInput, call.call.inputs, &writer));
  writer.Bytes(kService, call.service);
  writer.Varint(kTimeout, static_cast<uint64_t>(call.timeout_in_ms));
  return writer.Finish();
}

absl::StatusOr<WirePythonCall> DecodePythonCall(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WirePythonCall call;
  FieldReader reader("PythonCall", buffer, allocator);
  while (reader.Next()) {
    if (reader.Is(kCallId, WireType::kVarint)) {
      call.id = reader.Varint();
    } else if (reader.Is(kToken, WireType::kBytes)) {
      call.call.token = reader.String();
    } else if (reader.Is(kEager, WireType::kVarint)) {
      call.call.eager = reader.Varint() != 0;
    } else if (reader.Is(kInput, WireType::kBytes)) {
      reader.AddTensor(&call.call.inputs);
    } else if (reader.Is(kService, WireType::kBytes)) {
      call.service = reader.String();
    } else if (reader.Is(kTimeout, WireType::kVarint)) {
      call.timeout_in_ms = static_cast<int64_t>(reader.Varint());
    } else {
      reader.Skip();
    }
  }
  RETURN_IF_ERROR(reader.status());
  return call;
}

absl::StatusOr<grpc::ByteBuffer> EncodePythonResult(const WirePythonResult& result) {
  WireWriter writer;
  writer.Varint(kResultId, result.id);
  writer.Varint(kCode, static_cast<uint64_t>(result.status.code()));
  writer.Bytes(kText, result.status.message());
  RETURN_IF_ERROR(WriteTensors("PythonResult", result.status.message().size(), kOutput, result.outputs, &writer));
  return writer.Finish();
}

absl::StatusOr<WirePythonResult> DecodePythonResult(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WirePythonResult result;
  uint64_t code = 0;
  std::string text;
  FieldReader reader("PythonResult", buffer, allocator);
  while (reader.Next()) {
    if (reader.Is(kResultId, WireType::kVarint)) {
      result.id = reader.Varint();
    } else if (reader.Is(kCode, WireType::kVarint)) {
      code = reader.Varint();
    } else if (reader.Is(kText, WireType::kBytes)) {
      text = reader.String();
    } else if (reader.Is(kOutput, WireType::kBytes)) {
      reader.AddTensor(&result.outputs);
    } else {
      reader.Skip();
    }
  }
  RETURN_IF_ERROR(reader.status());
  if (code > static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)) {
    return errors::InvalidArgument("A PythonResult has the status code ", code, ", which does not exist");
  }
  result.status = absl::Status(static_cast<absl::StatusCode>(code), text);
  return result;
}

}  // namespace weir
