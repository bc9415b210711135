// What moves tensors among GPUs without the host: NCCL (distribute/collective/nccl/), and for tests on any machine one
// that simulated GPUs have (simulated_gpu_collectives.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "core/collective.h"
#include "core/gpu/gpu_runtime.h"
#include "core/status.h"
#include "core/types.h"

namespace weir {

// By which ranks of one communicator find each other. One rank makes it, all others get it. Plain bytes.
struct GpuCollectiveId {
  std::array<char, 128> bytes = {};
};

// One operation of a communicator, as NCCL has them. Memory is the communicator's GPU's; counts are in elements.
//   all-reduce             `count` in, `count` out
//   reduce                 `count` in; `count` out at `peer`
//   reduce-scatter         `count` times the ranks in, `count` out
//   all-gather             `count` in, `count` times the ranks out
//   broadcast              `count` in at `peer`, `count` out everywhere
//   send, receive          `count` to or from `peer`; both of a pair are in groups that run at the same time
struct GpuTransfer {
  enum class Kind : uint8_t { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kReceive };
  Kind kind = Kind::kAllReduce;
  DataType dtype = DT_FLOAT;
  Reduction reduction = Reduction::kAdd;
  bool is_mean = false;  // divides what was added up by the number of ranks
  int peer = 0;
  int64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
};

// One rank. All ranks enqueue the same groups in the same order. Calls are made by one thread at a time; none blocks
// for other ranks.
class GpuCommunicator {
 public:
  // Aborts what is not over.
  virtual ~GpuCommunicator() = default;
  // False: the ranks are still coming together, or the last group is still being taken in; call again. An error, of
  // this rank or of another one, lasts: nothing is left but to abort.
  virtual absl::StatusOr<bool> IsReady() = 0;
  // One group of operations, which run together, in the stream's turn. Only when IsReady.
  virtual absl::Status Enqueue(GpuStream& stream, absl::Span<const GpuTransfer> group) = 0;
  // What was enqueued ends soon, with whatever result; streams go on. Other ranks may or may not hear of it.
  virtual void Abort() = 0;
};

// Thread-safe. Outlives its communicators.
class GpuCollectiveLibrary {
 public:
  virtual ~GpuCollectiveLibrary() = default;
  // Ranks that are to come together have libraries of one name: "nccl 2.28".
  virtual const std::string& name() const = 0;
  // OK: it moves memory of that device. Otherwise why not.
  virtual absl::Status Serves(const GpuRuntime& gpu) const = 0;
  // Two devices of one place, where it is not empty, cannot be in one communicator.
  virtual std::string PlaceOf(const GpuRuntime& gpu) const = 0;
  virtual absl::StatusOr<GpuCollectiveId> NewId() = 0;
  // Begins to bring a rank together with those who have the same id; see GpuCommunicator::IsReady.
  virtual absl::StatusOr<std::unique_ptr<GpuCommunicator>> Connect(GpuRuntime& gpu, const GpuCollectiveId& id, int rank,
                                                                   int size) = 0;
};

}  // namespace weir
