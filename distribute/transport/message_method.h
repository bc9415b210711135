// Server methods with protobuf messages.
#pragma once

#include <memory>
#include <utility>

#include "distribute/transport/grpc_server.h"
#include "distribute/transport/wire_format.h"

namespace weir {

template <typename Request, typename Response>
struct RequestAndResponse {
  Request request;
  Response response;
};

// Parses the request and calls run(options, messages, done); `done` takes the status and answers the call. The messages
// live until `done` has run.
template <typename Request, typename Response, typename Run>
void ServeMessage(ServerCall* call, Run run) {
  auto messages = std::make_shared<RequestAndResponse<Request, Response>>();
  if (absl::Status status = MessageFromBuffer(call->request(), &messages->request); !status.ok()) {
    return call->Fail(status);
  }
  run(call->options(), messages, [call, messages](absl::Status status) {
    if (!status.ok()) return call->Fail(status);
    absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(messages->response);
    buffer.ok() ? call->Finish(*buffer) : call->Fail(buffer.status());
  });
}

}  // namespace weir
