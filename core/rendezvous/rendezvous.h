// Exchanges tensors between senders and receivers of a step.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/api.h"
#include "core/device/device_name.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace WEIR_API weir {

// A frame and iteration of a loop; 0:0 outside of loops.
struct FrameAndIter {
  uint64_t frame_id = 0;
  int64_t iter_id = 0;
};

// "src_device;src_incarnation (16 hex digits);dst_device;edge_name;frame:iter", as TensorFlow writes it.
struct RendezvousKey {
  std::string full;
  DeviceName src;
  uint64_t src_incarnation = 0;
  DeviceName dst;
  std::string edge_name;
  FrameAndIter frame_iter;

  static std::string Create(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                            absl::string_view edge_name, FrameAndIter frame_iter);
  // The part before the last ';', built once by Send and Recv kernels; the frame and iteration are appended.
  static std::string Prefix(absl::string_view src_device, uint64_t src_incarnation, absl::string_view dst_device,
                            absl::string_view edge_name);
  // InvalidArgument, quoting the key, if it is malformed.
  static absl::StatusOr<RendezvousKey> Parse(absl::string_view key);
};

// A table of named slots for one step. Thread-safe.
// - A tensor sent under a key is received once under that key; send and receive may come in either order.
// - Send never blocks.
// - `done` runs exactly once, with no lock held, possibly on the caller's thread.
// - After StartAbort, all pending and later receives, and all later sends, fail with the given status.
class Rendezvous {
 public:
  struct Args {
    CancellationManager* cancellation = nullptr;  // a receive fails with CANCELLED when it fires
  };
  struct Received {
    Tensor tensor;
    bool is_dead = false;
  };
  using DoneCallback = std::function<void(absl::StatusOr<Received>)>;

  virtual ~Rendezvous() = default;
  // Aborted for a second send under a key whose first tensor has not been received.
  virtual absl::Status Send(absl::string_view key, Tensor tensor, bool is_dead) = 0;
  virtual void RecvAsync(absl::string_view key, const Args& args, DoneCallback done) = 0;
  // `status` must be an error. The first call wins.
  virtual void StartAbort(const absl::Status& status) = 0;
};

// Within one process; tensors share buffers.
std::shared_ptr<Rendezvous> NewLocalRendezvous();

}  // namespace weir
