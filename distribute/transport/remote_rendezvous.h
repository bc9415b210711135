// The rendezvous of a step with senders on other tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/rendezvous/rendezvous.h"
#include "core/tensor/variant_registry.h"
#include "distribute/transport/transfer_log.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

struct RemoteRendezvousOptions {
  int64_t step_id = 0;
  std::string local_task;             // "/job:worker/replica:0/task:0"
  std::shared_ptr<Rendezvous> local;  // for this task's senders and RecvTensor
  std::shared_ptr<WorkerPool> workers;
  // Decodes received variants of the types that it knows; null: they stay encoded. Outlives the rendezvous and its
  // receives.
  const VariantRegistry* variants = nullptr;
  std::shared_ptr<TransferLog> log;  // records received tensors; may be null
};

// Pulls tensors: a key with a sender on this task is received from `local`, any other by RecvTensor from the sender's
// task.
// - Send puts tensors into `local`, where other tasks request them.
// - StartAbort also aborts `local` and cancels pending receives.
// - A receive that fails because of the sender's task carries that task as its origin.
std::shared_ptr<Rendezvous> NewRemoteRendezvous(RemoteRendezvousOptions options);

}  // namespace weir
