// How kernels for GPUs choose among the ways in which a library can compute the same.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/status.h"

namespace weir {

struct GpuMathSettings {
  // The first calls of a shape try the library's proposals in turn, and measure them; without, its first one is taken.
  bool autotune = true;
  // Only what gives the same bits in every run, and nothing that depends on measurements.
  bool deterministic = false;
  // float on tensor cores, with 10 bits of its 23.
  bool allow_tf32 = false;
  // Memory that a call may use beside its arguments.
  size_t workspace_limit = size_t{4} << 30;
  // What was chosen is kept in files of this directory; empty: it is forgotten with the process.
  std::string plan_cache;

  // TF_CUDNN_USE_AUTOTUNE, TF_CUDNN_DETERMINISTIC, TF_DETERMINISTIC_OPS and TF_CUDNN_WORKSPACE_LIMIT_IN_MB as
  // TensorFlow has them, NVIDIA_TF32_OVERRIDE=1 for allow_tf32, and WEIR_GPU_PLAN_CACHE for plan_cache. `find` gives a
  // variable's value, nullptr where it is not set. InvalidArgument, quoting it, for a value that is none.
  static absl::StatusOr<GpuMathSettings> FromEnvironment(const std::function<const char*(const char* name)>& find);
};

}  // namespace weir
