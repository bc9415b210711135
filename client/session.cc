#include "client/session.h"

#include "absl/strings/strip.h"
#include "client/local_runtime.h"
#include "client/master_session_client.h"
#include "distribute/cluster/environment.h"
#include "distribute/transport/grpc_master_client.h"
#include "graph/passes/determinism.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Session>> Session::Local(const Scope& scope, SessionOptions options) {
  const Environment environment = Environment::OfThisProcess();
  ASSIGN_OR_RETURN(const bool deterministic, ReadDeterministicOps(environment.Find("TF_DETERMINISTIC_OPS")));
  if (deterministic || options.deterministic) AskForDeterministicOps(&*options.config);
  ASSIGN_OR_RETURN(std::shared_ptr<LocalRuntime> runtime, LocalRuntime::Create(*options.config, MachineGpus()));
  std::shared_ptr<MasterInterface> master(runtime, runtime->master());
  return MasterSessionClient::Create(std::move(master), std::move(runtime), scope, std::move(options));
}

absl::StatusOr<std::unique_ptr<Session>> Session::Connect(const std::string& target, const Scope& scope,
                                                          SessionOptions options) {
  absl::string_view address = target;
  if (!absl::ConsumePrefix(&address, "grpc://") || address.empty()) {
    return errors::InvalidArgument("Session target '", target, "' is malformed; expected grpc://host:port");
  }
  if (options.deterministic) AskForDeterministicOps(&*options.config);
  auto master = std::make_shared<GrpcMasterClient>(GrpcChannelOptions{.address = std::string(address)});
  return MasterSessionClient::Create(std::move(master), nullptr, scope, std::move(options));
}

}  // namespace weir
