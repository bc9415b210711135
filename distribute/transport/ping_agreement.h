// Whether a server lets its clients ping it. TensorFlow's, as gRPC's by default, end a connection over which they are
// pinged more than once in five minutes; Weir's say that they do not mind. A client therefore asks with its first
// calls, and pings servers that agreed.
#pragma once

namespace grpc {
class ClientContext;
class ServerContext;
}  // namespace grpc

namespace weir {

// Before the call starts.
void AskForPings(grpc::ClientContext* context);
// After the call's end, successful or not.
bool AgreesToPings(const grpc::ClientContext& context);
// Before the answer is sent; says nothing to those who do not ask.
void AnswerAboutPings(grpc::ServerContext* context);

}  // namespace weir
