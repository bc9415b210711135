// RecvBuf's messages: bytes go from the sender's memory to gRPC and back without passing through a protobuf message.
#pragma once

#include <cstdint>
#include <string>

#include <grpcpp/support/byte_buffer.h>

#include "core/status.h"
#include "distribute/transport/received_bytes.h"

namespace weir {

struct WireBuffer {
  int64_t num_bytes = 0;
  // Where the bytes lie in the answer, unless they came by transport_options.
  ReceivedBytes bytes{{}, nullptr};
  std::string transport_options;  // a serialised Any that is no RecvBufRespExtra; empty: none
  bool require_ack = false;
};

// The sender's memory is let go of when gRPC has sent it.
grpc::ByteBuffer EncodeRecvBufResponse(ReceivedBytes bytes, int64_t send_micros);
// The bytes went another way, which `transport_options`, a serialised Any, tells.
grpc::ByteBuffer EncodeRecvBufResponse(int64_t num_bytes, int64_t send_micros, const std::string& transport_options);
// InvalidArgument for malformed bytes, or for more or fewer than num_bytes.
absl::StatusOr<WireBuffer> DecodeRecvBufResponse(const grpc::ByteBuffer& buffer);

}  // namespace weir
