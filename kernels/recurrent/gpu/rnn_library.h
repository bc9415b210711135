// The interface of GPU libraries for recurrent networks: cuDNN, and a simulated one for tests on any
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/device/resource_manager.h"
#include "core/gpu/gpu_device.h"
#include "core/kernel/op_kernel.h"
#include "kernels/recurrent/rnn_attrs.h"
#include "kernels/recurrent/rnn_loops.h"

namespace weir {

// Of what one layer hands to the next in training. The numbers that it draws come from `state`, memory of the device
// that each forward call changes.
struct RnnDropout {
  float ratio = 0;  // 0: nothing is dropped, and there is no state
  uint64_t seed = 0;
  Tensor state;

  bool operator==(const RnnDropout& other) const {
    return ratio == other.ratio && seed == other.seed && state.raw_data() == other.state.raw_data();
  }
};

// What is computed, without the memory. There is at least one row, and one that is not empty.
struct RnnProblem {
  DataType dtype = DT_FLOAT;
  RnnBatch batch;
  bool is_training = true;
  RnnDropout dropout;

  bool operator==(const RnnProblem&) const = default;
};

// The arguments of calls: dense memory of the device, in the order of time, as RunRnn has it. What belongs to cells is
// null where the network has none.
struct RnnForwardBuffers {
  const void *x = nullptr, *h = nullptr, *c = nullptr, *params = nullptr;
  const int32_t* lengths = nullptr;  // of the rows
  void *y = nullptr, *last_h = nullptr, *last_c = nullptr;
  void* reserve = nullptr;  // in training
  void* workspace = nullptr;
};
struct RnnBackwardBuffers {
  const void *x = nullptr, *h = nullptr, *c = nullptr, *params = nullptr, *y = nullptr;
  const int32_t* lengths = nullptr;
  const void *dy = nullptr, *dlast_h = nullptr, *dlast_c = nullptr;
  void* reserve = nullptr;  // of the forward call, and of no use behind this one
  void *dx = nullptr, *dh = nullptr, *dc = nullptr, *dparams = nullptr;  // all is written
  void* workspace = nullptr;
};

// One problem made ready for one device. Thread-safe.
class RnnPlan {
 public:
  virtual ~RnnPlan() = default;
  virtual size_t workspace_bytes() const = 0;
  // What a forward call of training keeps for its gradient: opaque, but the same for both.
  virtual size_t reserve_bytes() const = 0;
  // What is behind the end of a sequence becomes zero.
  virtual absl::Status Forward(GpuStream& stream, const RnnForwardBuffers& buffers) = 0;
  virtual absl::Status Backward(GpuStream& stream, const RnnBackwardBuffers& buffers) = 0;
};

// One library for one device. Thread-safe.
class RnnLibrary : public Resource {
 public:
  // UNIMPLEMENTED for attributes that it does not support.
  virtual absl::Status Check(const OpKernelConstruction& ctx, const RnnAttrs& attrs) const = 0;
  // UNIMPLEMENTED for what it cannot compute.
  virtual absl::StatusOr<std::shared_ptr<RnnPlan>> Make(const RnnProblem& problem) = 0;
  // A state whose first value is enqueued on `stream`. UNIMPLEMENTED where the library drops nothing.
  virtual absl::StatusOr<RnnDropout> NewDropout(GpuDevice& gpu, GpuStream& stream, float ratio, uint64_t seed) = 0;
};

// cuDNN for a CUDA device. UNAVAILABLE, with the reason, for other devices, if cuDNN cannot be loaded, and in a build
// without CUDA or cuDNN's headers.
absl::StatusOr<std::shared_ptr<RnnLibrary>> CudaRnns(GpuRuntime& gpu, const GpuMathSettings& settings);
// The CPU's loops on a simulated device.
std::shared_ptr<RnnLibrary> NewSimulatedRnns();

// The library of a device, shared by all its nodes. UNAVAILABLE, with the reason, if there is none.
absl::StatusOr<std::shared_ptr<RnnLibrary>> RnnLibraryOf(GpuDevice& gpu);

}  // namespace weir
