#include "tests/gpu/local_session.h"

#include "client/local_runtime.h"
#include "client/master_session_client.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Session>> LocalSessionOn(const GpuPlatform& gpus, const Scope& scope,
                                                        SessionOptions options) {
  options.config.mutable_gpu_options()->set_allow_growth(true);
  ASSIGN_OR_RETURN(std::shared_ptr<LocalRuntime> runtime, LocalRuntime::Create(options.config, gpus));
  std::shared_ptr<MasterInterface> master(runtime, runtime->master());
  return MasterSessionClient::Create(std::move(master), std::move(runtime), scope, std::move(options));
}

}  // namespace weir
