#include "bench/gpu/rows.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/master_session_client.h"
#include "core/gpu/gpu_device.h"

namespace weir::bench {

absl::StatusOr<LocalSession> OpenSession(const Machine& machine, const Scope& scope, tensorflow::ConfigProto config) {
  RETURN_IF_ERROR(scope.status());
  config.mutable_gpu_options()->set_allow_growth(true);
  LocalSession opened;
  ASSIGN_OR_RETURN(opened.runtime, LocalRuntime::Create(config, machine.gpus));
  std::shared_ptr<MasterInterface> master(opened.runtime, opened.runtime->master());
  SessionOptions options;
  options.config = std::move(config);
  ASSIGN_OR_RETURN(opened.session,
                   MasterSessionClient::Create(std::move(master), opened.runtime, scope, std::move(options)));
  return opened;
}

void Enable(const std::string& custom_optimizer, tensorflow::ConfigProto* config) {
  config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(custom_optimizer);
}

absl::StatusOr<double> SecondsPerStep(Session::Callable& step, int warm_ups, int steps) {
  for (int i = 0; i < warm_ups; ++i) RETURN_IF_ERROR(step.Run({}).status());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) RETURN_IF_ERROR(step.Run({}).status());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / steps;
}

int64_t PeakBytes(const LocalRuntime& runtime) {
  int64_t peak = 0;
  for (const auto& device : runtime.devices()) {
    if (GpuDevice* const gpu = FindGpu(device.get()); gpu != nullptr) {
      peak = std::max(peak, gpu->memory().Stats().peak_bytes_in_use);
    }
  }
  return peak;
}

}  // namespace weir::bench
