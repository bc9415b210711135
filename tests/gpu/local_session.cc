#include "tests/gpu/local_session.h"

#include "client/local_runtime.h"
#include "client/master_session_client.h"
#include "graph/passes/fusion/elementwise_fusion.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "worker/capture/capture_segments.h"

namespace weir {

absl::StatusOr<std::unique_ptr<Session>> LocalSessionOn(const GpuPlatform& gpus, const Scope& scope,
                                                        SessionOptions options) {
  options.config->mutable_gpu_options()->set_allow_growth(true);
  ASSIGN_OR_RETURN(std::shared_ptr<LocalRuntime> runtime, LocalRuntime::Create(*options.config, gpus));
  std::shared_ptr<MasterInterface> master(runtime, runtime->master());
  return MasterSessionClient::Create(std::move(master), std::move(runtime), scope, std::move(options));
}

absl::StatusOr<GpuPlatform> MachineGpusOrReason() {
  GpuPlatform gpus = MachineGpus();
  ASSIGN_OR_RETURN(const int count, gpus.count());
  if (count == 0) return errors::Unavailable("there is no GPU");
  return gpus;
}

void CaptureGraphs(int warm_ups, tensorflow::ConfigProto* config) {
  auto* const optimizer = config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers();
  optimizer->set_name(kGpuGraphsOptimizer);
  (*optimizer->mutable_parameter_map())["min_kernels"].set_i(1);
  (*optimizer->mutable_parameter_map())["warm_ups"].set_i(warm_ups);
}

void FuseElementwise(tensorflow::ConfigProto* config) {
  config->mutable_graph_options()->mutable_rewrite_options()->add_custom_optimizers()->set_name(kGpuFusionOptimizer);
}

}  // namespace weir
