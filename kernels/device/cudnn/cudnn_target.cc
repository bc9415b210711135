#include "kernels/device/cudnn/cudnn_target.h"

#include "core/cuda/cuda_stream.h"

namespace weir {
namespace {

// The first whose descriptions of devices can be read where there is no device.
constexpr size_t kDescribes = 91100;

}  // namespace

absl::StatusOr<std::unique_ptr<CudnnTarget>> CudnnTarget::Open(const CudnnFunctions& cudnn, int ordinal) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal));
  std::unique_ptr<CudnnTarget> target(new CudnnTarget(cudnn));
  RETURN_IF_ERROR(cudnn.StatusOf(cudnn.Create(&target->handle_), "cudnnCreate"));
  target->ordinal_ = ordinal;
  return target;
}

absl::StatusOr<std::unique_ptr<CudnnTarget>> CudnnTarget::Describe(const CudnnFunctions& cudnn,
                                                                   const std::string& json) {
  if (cudnn.GetVersion() < kDescribes) {
    return errors::Unavailable("cuDNN ", cudnn.version, " knows no devices but those at hand; 9.11 does");
  }
  std::unique_ptr<CudnnTarget> target(new CudnnTarget(cudnn));
  ASSIGN_OR_RETURN(target->properties_, CudnnDescriptor::New(cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
  RETURN_IF_ERROR(target->properties_->SetMany<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, json));
  RETURN_IF_ERROR(target->properties_->Finalize("properties of a device"));
  return target;
}

CudnnTarget::~CudnnTarget() {
  if (handle_ == nullptr) return;
  SelectCudaDevice(ordinal_).IgnoreError();
  cudnn_.Destroy(handle_);
}

// A graph for a handle is one for its device, and so is all that is made of the graph.
absl::Status CudnnTarget::TellGraph(CudnnDescriptor& graph) const {
  if (handle_ == nullptr) return absl::OkStatus();
  return graph.Set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
}

absl::Status CudnnTarget::TellHeuristics(CudnnDescriptor& heuristics) const {
  if (!properties_.has_value()) return absl::OkStatus();
  return heuristics.SetDescriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties_);
}

absl::Status CudnnTarget::TellEngine(CudnnDescriptor& engine) const {
  if (!properties_.has_value()) return absl::OkStatus();
  return engine.SetDescriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, *properties_);
}

absl::Status CudnnTarget::TellPlan(CudnnDescriptor& plan) const {
  if (handle_ != nullptr) return plan.Set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
  return plan.SetDescriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties_);
}

}  // namespace weir
