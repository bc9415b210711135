#include "distribute/transport/liveness/ping_agreement.h"

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

namespace weir {
namespace {

constexpr char kKey[] = "weir-pings";

}  // namespace

void AskForPings(grpc::ClientContext* context) { context->AddMetadata(kKey, "?"); }

bool AgreesToPings(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerInitialMetadata();
  return metadata.find(kKey) != metadata.end();
}

void AnswerAboutPings(grpc::ServerContext* context) {
  const auto& metadata = context->client_metadata();
  if (metadata.find(kKey) != metadata.end()) context->AddInitialMetadata(kKey, "1");
}

}  // namespace weir
