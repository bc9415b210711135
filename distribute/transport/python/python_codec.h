// Encodes and decodes the messages of weir.PythonService that carry tensors. Decoders return InvalidArgument for
// malformed bytes.
#pragma once

#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "core/kernel/python_functions.h"
#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// A PythonCall. Its inputs are encoded without a copy where they are large.
struct WirePythonCall {
  uint64_t id = 0;
  PythonFunctionCall call;
  std::string service;
  int64_t timeout_in_ms = 0;
};

// A PythonResult.
struct WirePythonResult {
  uint64_t id = 0;
  absl::Status status;
  std::vector<Tensor> outputs;
};

// InvalidArgument if a tensor cannot leave the process, ResourceExhausted if the tensors do not fit into one message.
absl::StatusOr<grpc::ByteBuffer> EncodePythonCall(const WirePythonCall& call);
absl::StatusOr<WirePythonCall> DecodePythonCall(const grpc::ByteBuffer& buffer, Allocator* allocator);
absl::StatusOr<grpc::ByteBuffer> EncodePythonResult(const WirePythonResult& result);
absl::StatusOr<WirePythonResult> DecodePythonResult(const grpc::ByteBuffer& buffer, Allocator* allocator);

}  // namespace weir
