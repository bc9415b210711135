#include "distribute/transport/message_codec.h"

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/memory/out_of_memory.h"
#include "distribute/transport/tensor_codec.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

constexpr int kNamedTensorName = 1;
constexpr int kNamedTensorTensor = 2;

// Adds tensors to one message while their total size fits. RESOURCE_EXHAUSTED if there is no memory for copied elements
// (strings).
class TensorFields {
 public:
  TensorFields(absl::string_view message, WireWriter* writer) : message_(message), writer_(writer) {}

  absl::Status AddNamed(int field, absl::string_view name, const Tensor& tensor) {
    return OrOutOfMemory([&] { return EncodeNamed(field, name, tensor); });
  }
  absl::Status Add(int field, const Tensor& tensor) {
    return OrOutOfMemory([&] { return Encode(field, tensor); });
  }

 private:
  absl::Status EncodeNamed(int field, absl::string_view name, const Tensor& tensor) {
    auto encoder = TensorEncoder::Create(tensor);
    if (!encoder.ok()) return Annotate(encoder.status(), name);
    const size_t size = 1 + VarintSize(name.size()) + name.size() + 1 + VarintSize(encoder->size()) + encoder->size();
    total_ += size;
    RETURN_IF_ERROR(CheckMessageSize(total_, message_));
    writer_->BeginMessage(field, size);
    writer_->RepeatedBytes(kNamedTensorName, name);
    writer_->BeginMessage(kNamedTensorTensor, encoder->size());
    encoder->WriteTo(writer_);
    return absl::OkStatus();
  }

  absl::Status Encode(int field, const Tensor& tensor) {
    ASSIGN_OR_RETURN(const TensorEncoder encoder, TensorEncoder::Create(tensor));
    total_ += encoder.size();
    RETURN_IF_ERROR(CheckMessageSize(total_, message_));
    writer_->BeginMessage(field, encoder.size());
    encoder.WriteTo(writer_);
    return absl::OkStatus();
  }

  const absl::string_view message_;
  WireWriter* const writer_;
  size_t total_ = 0;
};

// Reads one message's fields: scalars through pointers, others through functions.
class MessageDecoder {
 public:
  MessageDecoder(absl::string_view message, const grpc::ByteBuffer& buffer, Allocator* allocator)
      : message_(message), reader_(buffer), allocator_(allocator) {}

  // Calls `field` for every field; it reads the value, or returns false for an unknown field.
  absl::Status ForEachField(absl::FunctionRef<bool(int field, WireType type)> read) {
    while (!reader_.AtEnd()) {
      int field;
      WireType type;
      if (!reader_.Tag(&field, &type)) return Malformed();
      const size_t before = reader_.position();
      const bool known = read(field, type);
      if (!status_.ok()) return Annotate(status_, absl::StrCat("In a ", message_));
      if (bad_) return Malformed();
      if (!known && (reader_.position() != before || !reader_.Skip(type))) return Malformed();
    }
    return absl::OkStatus();
  }

  // Each returns true if it has read the field; a failure ends ForEachField.
  bool Read(std::string* value, WireType type) { return Check(type == WireType::kBytes && reader_.String(value)); }
  bool Read(std::vector<std::string>* values, WireType type) {
    values->emplace_back();
    return Read(&values->back(), type);
  }
  bool Read(google::protobuf::MessageLite* message, WireType type) {
    return Check(type == WireType::kBytes && reader_.Message(message));
  }
  template <typename Integer>
  bool ReadInteger(Integer* value, WireType type) {
    uint64_t raw = 0;
    if (!Check(type == WireType::kVarint && reader_.Varint(&raw))) return true;
    *value = static_cast<Integer>(raw);
    return true;
  }
  bool Read(Tensor* tensor, WireType type) {
    if (!Check(type == WireType::kBytes) || bad_) return true;
    absl::StatusOr<Tensor> decoded = OrOutOfMemory([&] { return DecodeTensor(&reader_, allocator_); });
    if (decoded.ok()) {
      *tensor = *std::move(decoded);
    } else {
      status_ = decoded.status();
    }
    return true;
  }
  bool Read(std::vector<Tensor>* tensors, WireType type) {
    tensors->emplace_back();
    return Read(&tensors->back(), type);
  }
  bool Read(NamedTensors* tensors, WireType type) {
    size_t length = 0;
    if (!Check(type == WireType::kBytes && reader_.Length(&length)) || bad_) return true;
    const size_t outer = reader_.PushLimit(length);
    auto& [name, tensor] = tensors->emplace_back();
    while (!reader_.AtEnd() && !bad_ && status_.ok()) {
      int field;
      WireType inner;
      if (!reader_.Tag(&field, &inner)) {
        bad_ = true;
      } else if (field == kNamedTensorName) {
        Read(&name, inner);
      } else if (field == kNamedTensorTensor) {
        Read(&tensor, inner);
      } else {
        Check(reader_.Skip(inner));
      }
    }
    if (!status_.ok()) status_ = Annotate(status_, name);
    reader_.PopLimit(outer);
    return true;
  }

 private:
  bool Check(bool good) {
    if (!good) bad_ = true;
    return true;
  }
  absl::Status Malformed() const {
    return errors::InvalidArgument("The bytes received are not a valid ", message_, ": malformed at byte ",
                                   reader_.position());
  }

  const absl::string_view message_;
  WireReader reader_;
  Allocator* const allocator_;
  bool bad_ = false;
  absl::Status status_;
};

absl::Status BodyStatus(int code, absl::string_view message) {
  return code == 0 ? absl::OkStatus() : absl::Status(static_cast<absl::StatusCode>(code), message);
}

}  // namespace

// --- RunGraph ---

absl::StatusOr<grpc::ByteBuffer> EncodeRunGraphRequest(
    const RunGraphArgs& args, const std::vector<std::pair<absl::string_view, const Tensor*>>& feeds,
    const std::vector<absl::string_view>& fetch_keys, int64_t request_id) {
  WireWriter writer;
  writer.Bytes(1, args.graph_handle);
  writer.Varint(2, args.step_id);
  TensorFields tensors("RunGraphRequest", &writer);
  for (const auto& [key, tensor] : feeds) RETURN_IF_ERROR(tensors.AddNamed(3, key, *tensor));
  for (absl::string_view key : fetch_keys) writer.RepeatedBytes(4, key);
  writer.Message(5, args.exec_opts);
  writer.Varint(6, args.is_partial);
  writer.Varint(7, args.is_last_partial_run);
  writer.Bytes(8, args.session_handle);
  writer.Varint(10, !args.session_handle.empty());  // create_worker_session_called
  writer.Varint(11, static_cast<uint64_t>(request_id));
  return writer.Finish();
}

absl::StatusOr<WireRunGraph> DecodeRunGraphRequest(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WireRunGraph wire;
  RunGraphArgs& args = wire.args;
  MessageDecoder decoder("RunGraphRequest", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&args.graph_handle, type);
      case 2:
        return decoder.ReadInteger(&args.step_id, type);
      case 3:
        return decoder.Read(&wire.send, type);
      case 4:
        return decoder.Read(&wire.recv_keys, type);
      case 5:
        return decoder.Read(&args.exec_opts, type);
      case 6:
        return decoder.ReadInteger(&args.is_partial, type);
      case 7:
        return decoder.ReadInteger(&args.is_last_partial_run, type);
      case 8:
        return decoder.Read(&args.session_handle, type);
      case 9:
        return decoder.ReadInteger(&wire.store_errors_in_response_body, type);
      case 11:
        return decoder.ReadInteger(&args.request_id, type);
      default:
        return false;
    }
  }));
  return wire;
}

absl::StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result,
                                                        const std::vector<absl::string_view>& fetch_keys) {
  WireWriter writer;
  TensorFields tensors("RunGraphResponse", &writer);
  for (size_t i = 0; i < fetch_keys.size(); ++i) {
    RETURN_IF_ERROR(tensors.AddNamed(1, fetch_keys[i], result.fetches[i]));
  }
  writer.Message(2, result.step_stats);
  writer.Message(3, result.cost_graph);
  for (const auto& graph : result.partition_graphs) writer.RepeatedBytes(4, graph.SerializeAsString());
  return writer.Finish();
}

absl::StatusOr<WireRunGraphResult> DecodeRunGraphResponse(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WireRunGraphResult wire;
  int code = 0;
  std::string message;
  MessageDecoder decoder("RunGraphResponse", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&wire.recv, type);
      case 2:
        return decoder.Read(&wire.result.step_stats, type);
      case 3:
        return decoder.Read(&wire.result.cost_graph, type);
      case 4:
        return decoder.Read(&wire.result.partition_graphs.emplace_back(), type);
      case 5:
        return decoder.ReadInteger(&code, type);
      case 6:
        return decoder.Read(&message, type);
      default:
        return false;
    }
  }));
  wire.body_status = BodyStatus(code, message);
  return wire;
}

grpc::ByteBuffer EncodeRunGraphError(const absl::Status& status) {
  WireWriter writer;
  writer.Varint(5, static_cast<uint64_t>(status.code()));
  writer.Bytes(6, status.message());
  return writer.Finish();
}

// --- RunStep ---

absl::StatusOr<grpc::ByteBuffer> EncodeRunStepRequest(const RunStepArgs& args, int64_t request_id) {
  WireWriter writer;
  writer.Bytes(1, args.session_handle);
  TensorFields tensors("RunStepRequest", &writer);
  for (const auto& [name, tensor] : args.feeds) RETURN_IF_ERROR(tensors.AddNamed(2, name, tensor));
  for (const std::string& fetch : args.fetches) writer.RepeatedBytes(3, fetch);
  for (const std::string& target : args.targets) writer.RepeatedBytes(4, target);
  writer.Message(5, args.options);
  writer.Bytes(6, args.partial_run_handle);
  writer.Varint(8, static_cast<uint64_t>(request_id));
  return writer.Finish();
}

absl::StatusOr<WireRunStep> DecodeRunStepRequest(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WireRunStep wire;
  RunStepArgs& args = wire.args;
  MessageDecoder decoder("RunStepRequest", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&args.session_handle, type);
      case 2:
        return decoder.Read(&args.feeds, type);
      case 3:
        return decoder.Read(&args.fetches, type);
      case 4:
        return decoder.Read(&args.targets, type);
      case 5:
        return decoder.Read(&args.options, type);
      case 6:
        return decoder.Read(&args.partial_run_handle, type);
      case 7:
        return decoder.ReadInteger(&wire.store_errors_in_response_body, type);
      case 8:
        return decoder.ReadInteger(&args.request_id, type);
      default:
        return false;
    }
  }));
  return wire;
}

absl::StatusOr<grpc::ByteBuffer> EncodeRunStepResponse(const RunStepResult& result,
                                                       const std::vector<std::string>& fetches) {
  if (result.fetches.size() != fetches.size()) {
    return errors::Internal("A step gave ", result.fetches.size(), " tensors for ", fetches.size(), " fetches");
  }
  WireWriter writer;
  TensorFields tensors("RunStepResponse", &writer);
  for (size_t i = 0; i < fetches.size(); ++i) RETURN_IF_ERROR(tensors.AddNamed(1, fetches[i], result.fetches[i]));
  writer.Message(2, result.metadata);
  return writer.Finish();
}

absl::StatusOr<RunStepResult> DecodeRunStepResponse(const grpc::ByteBuffer& buffer,
                                                    const std::vector<std::string>& fetches, Allocator* allocator) {
  RunStepResult result;
  NamedTensors tensors;
  int code = 0;
  std::string message;
  MessageDecoder decoder("RunStepResponse", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&tensors, type);
      case 2:
        return decoder.Read(&result.metadata, type);
      case 3:
        return decoder.ReadInteger(&code, type);
      case 4:
        return decoder.Read(&message, type);
      default:
        return false;
    }
  }));
  RETURN_IF_ERROR(BodyStatus(code, message));
  // Masters answer in request order; another order is corrected by name.
  absl::flat_hash_map<absl::string_view, const Tensor*> by_name;
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (i < tensors.size() && tensors[i].first == fetches[i]) {
      result.fetches.push_back(tensors[i].second);
      continue;
    }
    if (by_name.empty()) {
      for (const auto& [name, tensor] : tensors) by_name[name] = &tensor;
    }
    auto found = by_name.find(fetches[i]);
    if (found == by_name.end()) return errors::Internal("The master gave no tensor for fetch '", fetches[i], "'");
    result.fetches.push_back(*found->second);
  }
  return result;
}

grpc::ByteBuffer EncodeRunStepError(const absl::Status& status) {
  WireWriter writer;
  writer.Varint(3, static_cast<uint64_t>(status.code()));
  writer.Bytes(4, status.message());
  return writer.Finish();
}

// --- RunCallable ---

absl::StatusOr<grpc::ByteBuffer> EncodeRunCallableRequest(const RunCallableArgs& args, int64_t request_id) {
  WireWriter writer;
  writer.Bytes(1, args.session_handle);
  writer.Varint(2, static_cast<uint64_t>(args.handle));
  TensorFields tensors("RunCallableRequest", &writer);
  for (const Tensor& feed : args.feeds) RETURN_IF_ERROR(tensors.Add(3, feed));
  writer.Varint(4, static_cast<uint64_t>(request_id));
  return writer.Finish();
}

absl::StatusOr<RunCallableArgs> DecodeRunCallableRequest(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  RunCallableArgs args;
  MessageDecoder decoder("RunCallableRequest", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&args.session_handle, type);
      case 2:
        return decoder.ReadInteger(&args.handle, type);
      case 3:
        return decoder.Read(&args.feeds, type);
      case 4:
        return decoder.ReadInteger(&args.request_id, type);
      default:
        return false;
    }
  }));
  return args;
}

absl::StatusOr<grpc::ByteBuffer> EncodeRunCallableResponse(const RunStepResult& result) {
  WireWriter writer;
  TensorFields tensors("RunCallableResponse", &writer);
  for (const Tensor& fetch : result.fetches) RETURN_IF_ERROR(tensors.Add(1, fetch));
  writer.Message(2, result.metadata);
  return writer.Finish();
}

absl::StatusOr<RunStepResult> DecodeRunCallableResponse(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  RunStepResult result;
  MessageDecoder decoder("RunCallableResponse", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&result.fetches, type);
      case 2:
        return decoder.Read(&result.metadata, type);
      default:
        return false;
    }
  }));
  return result;
}

// --- RecvTensor ---

grpc::ByteBuffer EncodeRecvTensorRequest(const WireRecvTensor& request) {
  WireWriter writer;
  writer.Varint(1, static_cast<uint64_t>(request.step_id));
  writer.Bytes(2, request.key);
  writer.Bytes(6, request.transport_options);
  writer.Varint(7, static_cast<uint64_t>(request.request_id));
  return writer.Finish();
}

absl::StatusOr<WireRecvTensor> DecodeRecvTensorRequest(const grpc::ByteBuffer& buffer) {
  WireRecvTensor request;
  MessageDecoder decoder("RecvTensorRequest", buffer, nullptr);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.ReadInteger(&request.step_id, type);
      case 2:
        return decoder.Read(&request.key, type);
      case 6:
        return decoder.Read(&request.transport_options, type);
      case 7:
        return decoder.ReadInteger(&request.request_id, type);
      default:
        return false;
    }
  }));
  return request;
}

absl::StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const Rendezvous::Received& received, int64_t send_micros,
                                                          const std::string& transport_options) {
  WireWriter writer;
  TensorFields tensors("RecvTensorResponse", &writer);
  // A dead value is sent as an empty tensor, because its content is never read.
  RETURN_IF_ERROR(tensors.Add(1, received.is_dead ? Tensor() : received.tensor));
  writer.Varint(2, received.is_dead);
  writer.Varint(3, static_cast<uint64_t>(send_micros));
  writer.Bytes(4, transport_options);
  return writer.Finish();
}

absl::StatusOr<WireReceived> DecodeRecvTensorResponse(const grpc::ByteBuffer& buffer, Allocator* allocator) {
  WireReceived wire;
  MessageDecoder decoder("RecvTensorResponse", buffer, allocator);
  RETURN_IF_ERROR(decoder.ForEachField([&](int field, WireType type) {
    switch (field) {
      case 1:
        return decoder.Read(&wire.received.tensor, type);
      case 2:
        return decoder.ReadInteger(&wire.received.is_dead, type);
      case 4:
        return decoder.Read(&wire.transport_options, type);
      case 5:
        return decoder.ReadInteger(&wire.require_ack, type);
      default:
        return false;
    }
  }));
  return wire;
}

}  // namespace weir
