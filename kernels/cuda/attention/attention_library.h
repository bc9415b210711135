// What libraries that compute attention on GPUs look like to kernels: cuDNN, and a simulated one for tests on any
// machine.
#pragma once

#include <memory>
#include <string>

#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "kernels/cuda/attention/attention_problem.h"

namespace weir {

// Of the memory that a plan is given.
inline constexpr size_t kAttentionAlignment = 16;

struct AttentionBuffers {
  void* q = nullptr;
  void* k = nullptr;
  void* v = nullptr;
  void* mask = nullptr;  // where the problem has one
  void* out = nullptr;
  void* row_statistics = nullptr;  // a float for each of the problem's Rows(): what the plan leaves there nobody reads
};

// Ready for one problem on one device. Thread-safe.
class AttentionPlan {
 public:
  virtual ~AttentionPlan() = default;
  virtual size_t workspace_bytes() const = 0;
  // Enqueues it. `workspace` has workspace_bytes() of this stream's memory. UNIMPLEMENTED where the library finds only
  // now that it cannot do it: nothing has been enqueued.
  virtual absl::Status Enqueue(GpuStream& stream, const AttentionBuffers& buffers, float scale, void* workspace) = 0;
};

// One library for one device. Thread-safe. Keeps within its settings.
class AttentionLibrary {
 public:
  virtual ~AttentionLibrary() = default;
  // Device and library with their versions.
  virtual const std::string& identity() const = 0;
  // What it thinks best. UNIMPLEMENTED, with a reason, for what it cannot do. Takes a second where code is generated.
  virtual absl::StatusOr<std::shared_ptr<AttentionPlan>> Make(const AttentionProblem& problem) = 0;
};

// cuDNN for a device of CUDA's. UNAVAILABLE, with the reason, for others, where it cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<AttentionLibrary>> CudaAttention(GpuRuntime& gpu, const GpuMathSettings& settings);
// Loops on a simulated device, for depths and columns that are multiples of 8.
std::shared_ptr<AttentionLibrary> NewSimulatedAttention(const GpuProperties& properties);

}  // namespace weir
