// The device that cuDNN plans for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/device/cudnn/cudnn_descriptor.h"

namespace weir {

// A GPU at hand, by a handle, or one that is only described. Outlives the plans that are made for it.
class CudnnTarget {
 public:
  // The GPU of that ordinal.
  static absl::StatusOr<std::unique_ptr<CudnnTarget>> Open(const CudnnFunctions& cudnn, int ordinal);
  // A device of which there is nothing but its properties, as cuDNN 9.11 and later write them in JSON
  // (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION): plans for it can be made and looked at, not run.
  static absl::StatusOr<std::unique_ptr<CudnnTarget>> Describe(const CudnnFunctions& cudnn, const std::string& json);
  ~CudnnTarget();
  CudnnTarget(const CudnnTarget&) = delete;

  const CudnnFunctions& cudnn() const { return cudnn_; }
  // Null for a device that is only described.
  cudnnHandle_t handle() const { return handle_; }
  int ordinal() const { return ordinal_; }

  // Each tells a descriptor of that type which device it is for.
  absl::Status TellGraph(CudnnDescriptor& graph) const;
  absl::Status TellHeuristics(CudnnDescriptor& heuristics) const;
  absl::Status TellEngine(CudnnDescriptor& engine) const;
  absl::Status TellPlan(CudnnDescriptor& plan) const;

 private:
  explicit CudnnTarget(const CudnnFunctions& cudnn) : cudnn_(cudnn) {}

  const CudnnFunctions& cudnn_;
  int ordinal_ = -1;
  cudnnHandle_t handle_ = nullptr;
  std::optional<CudnnDescriptor> properties_;  // of what is only described
};

}  // namespace weir
