// The rendezvous of one step whose senders may be on other tasks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/rendezvous.h"
#include "core/variant_registry.h"
#include "distribute/transport/transfer_log.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

struct RemoteRendezvousOptions {
  int64_t step_id = 0;
  std::string local_task;             // "/job:worker/replica:0/task:0"
  std::shared_ptr<Rendezvous> local;  // what this task's senders and RecvTensor meet in
  WorkerPool* workers = nullptr;      // outlives the rendezvous and its receives
  // Decodes variants that arrive; those of other types, and all where it is null, stay encoded. Outlives them too.
  const VariantRegistry* variants = nullptr;
  std::shared_ptr<TransferLog> log;  // told of what arrives; may be null
};

// Receives by pull: a key whose sender is on this task is taken from `local`, any other by RecvTensor from the sender's
// task. Sends go to `local`, where the receiver's task comes for them. StartAbort aborts `local` as well and cancels
// the receives that are under way. A receive that fails because of the sender's task carries that task as its origin.
std::shared_ptr<Rendezvous> NewRemoteRendezvous(RemoteRendezvousOptions options);

}  // namespace weir
