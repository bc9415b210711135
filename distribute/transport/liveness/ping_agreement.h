// Lets a server allow its clients to ping it. TensorFlow's servers, like gRPC's by default, close a connection that is
// pinged more than once in five minutes; Weir's servers allow it. A client asks in its first calls and pings only
// servers that agree.
#pragma once

namespace grpc {
class ClientContext;
class ServerContext;
}  // namespace grpc

namespace weir {

// Call before the RPC starts.
void AskForPings(grpc::ClientContext* context);
// Call after the RPC has ended, successful or not.
bool AgreesToPings(const grpc::ClientContext& context);
// Call before the answer is sent. No effect if the client did not ask.
void AnswerAboutPings(grpc::ServerContext* context);

}  // namespace weir
