// Encodes RecvBuf's messages: bytes go from the sender's memory to gRPC, and back, without a protobuf message.
#pragma once

#include <cstdint>
#include <string>

#include <grpcpp/support/byte_buffer.h>

#include "core/status.h"
#include "distribute/transport/received_bytes.h"

namespace weir {

struct WireBuffer {
  int64_t num_bytes = 0;
  // The bytes inside the answer, unless transport_options carried them.
  ReceivedBytes bytes{{}, nullptr};
  std::string transport_options;  // a serialised Any other than RecvBufRespExtra; empty: none
  bool require_ack = false;
};

// Releases the sender's memory once gRPC has sent it.
grpc::ByteBuffer EncodeRecvBufResponse(ReceivedBytes bytes, int64_t send_micros);
// For bytes that were sent otherwise, as `transport_options`, a serialised Any, describes.
grpc::ByteBuffer EncodeRecvBufResponse(int64_t num_bytes, int64_t send_micros, const std::string& transport_options);
// InvalidArgument for malformed bytes, and for more or fewer than num_bytes.
absl::StatusOr<WireBuffer> DecodeRecvBufResponse(const grpc::ByteBuffer& buffer);

}  // namespace weir
