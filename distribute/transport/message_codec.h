// Encodes and decodes the calls that carry tensors, as TensorFlow's messages. Decoders return InvalidArgument, with the
// message's name and the position, for malformed bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "core/memory/allocator.h"
#include "core/rendezvous/rendezvous.h"
#include "core/status.h"
#include "distribute/transport/master_interface.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// A RunGraphRequest or -Response as it is sent: tensors under their rendezvous keys.
struct WireRunGraph {
  RunGraphArgs args;  // feeds and indices are empty
  NamedTensors send;
  std::vector<std::string> recv_keys;
  bool store_errors_in_response_body = false;
};

struct WireRunGraphResult {
  NamedTensors recv;
  RunGraphResult result;  // fetches are empty
  absl::Status body_status;
};

struct WireRunStep {
  RunStepArgs args;
  bool store_errors_in_response_body = false;
};

struct WireRecvTensor {
  int64_t step_id = 0;
  std::string key;
  int64_t request_id = 0;
  std::string transport_options;  // a serialised Any; empty: none
};

struct WireReceived {
  Rendezvous::Received received;
  std::string transport_options;
  bool require_ack = false;
};

// `feeds` are tensors with their keys; the tensors, indices and request id in args are ignored.
absl::StatusOr<grpc::ByteBuffer> EncodeRunGraphRequest(
    const RunGraphArgs& args, const std::vector<std::pair<absl::string_view, const Tensor*>>& feeds,
    const std::vector<absl::string_view>& fetch_keys, int64_t request_id);
absl::StatusOr<WireRunGraph> DecodeRunGraphRequest(const grpc::ByteBuffer& buffer, Allocator* allocator);
absl::StatusOr<grpc::ByteBuffer> EncodeRunGraphResponse(const RunGraphResult& result,
                                                        const std::vector<absl::string_view>& fetch_keys);
absl::StatusOr<WireRunGraphResult> DecodeRunGraphResponse(const grpc::ByteBuffer& buffer, Allocator* allocator);

// Requests are sent with `request_id`, whatever the arguments hold.
absl::StatusOr<grpc::ByteBuffer> EncodeRunStepRequest(const RunStepArgs& args, int64_t request_id);
absl::StatusOr<WireRunStep> DecodeRunStepRequest(const grpc::ByteBuffer& buffer, Allocator* allocator);
absl::StatusOr<grpc::ByteBuffer> EncodeRunStepResponse(const RunStepResult& result,
                                                       const std::vector<std::string>& fetches);
// Returns fetches in the order of `fetches`.
absl::StatusOr<RunStepResult> DecodeRunStepResponse(const grpc::ByteBuffer& buffer,
                                                    const std::vector<std::string>& fetches, Allocator* allocator);

absl::StatusOr<grpc::ByteBuffer> EncodeRunCallableRequest(const RunCallableArgs& args, int64_t request_id);
absl::StatusOr<RunCallableArgs> DecodeRunCallableRequest(const grpc::ByteBuffer& buffer, Allocator* allocator);
absl::StatusOr<grpc::ByteBuffer> EncodeRunCallableResponse(const RunStepResult& result);
absl::StatusOr<RunStepResult> DecodeRunCallableResponse(const grpc::ByteBuffer& buffer, Allocator* allocator);

grpc::ByteBuffer EncodeRecvTensorRequest(const WireRecvTensor& request);
absl::StatusOr<WireRecvTensor> DecodeRecvTensorRequest(const grpc::ByteBuffer& buffer);
absl::StatusOr<grpc::ByteBuffer> EncodeRecvTensorResponse(const Rendezvous::Received& received, int64_t send_micros,
                                                          const std::string& transport_options = "");
absl::StatusOr<WireReceived> DecodeRecvTensorResponse(const grpc::ByteBuffer& buffer, Allocator* allocator);

// A RunStep or RunGraph error inside a successful response, for clients that request it.
grpc::ByteBuffer EncodeRunStepError(const absl::Status& status);
grpc::ByteBuffer EncodeRunGraphError(const absl::Status& status);

}  // namespace weir
