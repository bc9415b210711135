// absl::Status across gRPC: code and message in the form that every peer reads, and payloads (an error's origin) in
// grpc-status-details-bin as a google.rpc.Status.
#pragma once

#include <grpcpp/support/status.h>

#include "core/status.h"

namespace weir {

// Cuts messages and details so that the trailers stay within the 8 KiB that peers accept by default.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

// True if the peer's code returned the error; otherwise gRPC made it (the peer is gone, say). Reliable only for peers
// that send details, as every Weir task does.
bool CarriesDetails(const grpc::Status& status);

}  // namespace weir
