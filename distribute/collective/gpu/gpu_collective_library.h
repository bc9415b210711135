// Libraries that move tensors between GPUs without the host: NCCL (distribute/collective/nccl/) and, for tests on any
// machine, one for simulated GPUs (simulated_gpu_collectives.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "core/gpu/gpu_runtime.h"
#include "core/rendezvous/collective.h"
#include "core/status.h"
#include "core/tensor/types.h"

namespace weir {

// Lets the ranks of one communicator find each other: one rank creates it, all others receive it. Plain bytes.
struct GpuCollectiveId {
  std::array<char, 128> bytes = {};
};

// One operation of a communicator, as in NCCL. Memory is on the communicator's GPU; counts are in elements.
// - all-reduce: `count` in, `count` out
// - reduce: `count` in; `count` out at `peer`
// - reduce-scatter: `count` times the ranks in, `count` out
// - all-gather: `count` in, `count` times the ranks out
// - broadcast: `count` in at `peer`, `count` out everywhere
// - send, receive: `count` to or from `peer`; both of a pair are in groups that run at the same time
struct GpuTransfer {
  enum class Kind : uint8_t { kAllReduce, kReduce, kReduceScatter, kAllGather, kBroadcast, kSend, kReceive };
  Kind kind = Kind::kAllReduce;
  DataType dtype = DT_FLOAT;
  Reduction reduction = Reduction::kAdd;
  bool is_mean = false;  // divides the sum by the number of ranks
  int peer = 0;
  int64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;
};

// One rank. All ranks enqueue the same groups in the same order. One thread at a time calls it; no call waits for other
// ranks.
class GpuCommunicator {
 public:
  // Aborts pending groups.
  virtual ~GpuCommunicator() = default;
  // False: the ranks are still connecting, or the last group is still being enqueued; call again. Errors, of this rank
  // or another, are permanent: only Abort is useful then.
  virtual absl::StatusOr<bool> IsReady() = 0;
  // Enqueues one group of operations, which run together, on the stream. Call only if IsReady.
  virtual absl::Status Enqueue(GpuStream& stream, absl::Span<const GpuTransfer> group) = 0;
  // Ends enqueued groups soon, with an undefined result; streams continue. Other ranks may not be notified.
  virtual void Abort() = 0;
};

// Thread-safe. Outlives its communicators.
class GpuCollectiveLibrary {
 public:
  virtual ~GpuCollectiveLibrary() = default;
  // All ranks of a communicator need libraries of the same name: "nccl 2.28".
  virtual const std::string& name() const = 0;
  // OK if it moves that device's memory; otherwise the reason why not.
  virtual absl::Status Serves(const GpuRuntime& gpu) const = 0;
  // Two devices with the same nonempty place cannot be in one communicator.
  virtual std::string PlaceOf(const GpuRuntime& gpu) const = 0;
  virtual absl::StatusOr<GpuCollectiveId> NewId() = 0;
  // Starts connecting the ranks that have the same id; see GpuCommunicator::IsReady.
  virtual absl::StatusOr<std::unique_ptr<GpuCommunicator>> Connect(GpuRuntime& gpu, const GpuCollectiveId& id, int rank,
                                                                   int size) = 0;
};

}  // namespace weir
