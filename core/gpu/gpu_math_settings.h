// The settings by which GPU kernels choose among a library's algorithms.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/status.h"

namespace weir {

struct GpuMathSettings {
  // Measure the library's proposals during the first calls of a shape; otherwise use its first one.
  bool autotune = true;
  // Use only algorithms with bit-identical results in every run; no measurements.
  bool deterministic = false;
  // Compute float on tensor cores, with 10 of its 23 mantissa bits.
  bool allow_tf32 = false;
  // Memory limit of a call, besides its arguments.
  size_t workspace_limit = size_t{4} << 30;
  // A directory in which choices are saved; empty: they last as long as the process.
  std::string plan_cache;

  // Reads TF_CUDNN_USE_AUTOTUNE, TF_CUDNN_DETERMINISTIC, TF_DETERMINISTIC_OPS and TF_CUDNN_WORKSPACE_LIMIT_IN_MB like
  // TensorFlow, NVIDIA_TF32_OVERRIDE=1 for allow_tf32, and WEIR_GPU_PLAN_CACHE for plan_cache. `find` returns a
  // variable's value, or nullptr if it is not set. InvalidArgument, quoting it, for an invalid value.
  static absl::StatusOr<GpuMathSettings> FromEnvironment(const std::function<const char*(const char* name)>& find);
};

}  // namespace weir
