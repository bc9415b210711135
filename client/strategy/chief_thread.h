// The chief's part of synchronous training on parameter servers.
#pragma once

#include <thread>

#include "client/session.h"
#include "core/cancellation.h"

namespace weir {

// Runs `update` (ParameterServerStrategy::update()) again and again on a thread of its own, beside the steps of the
// workers, until it is stopped. While a task is lost it tries again. Any other error closes the session, which outlives
// it: the steps of workers that wait for an update would wait for ever.
class ChiefThread {
 public:
  ChiefThread(Session* session, const Operation& update);
  // Stops.
  ~ChiefThread();
  ChiefThread(const ChiefThread&) = delete;

  // Closes the session, which ends the update that waits for gradients, and the thread. Gives the error that ended the
  // thread before, if one did.
  absl::Status Stop();

 private:
  void Run(const Operation& update);

  Session* const session_;
  CancellationManager stop_;
  absl::Status status_;  // set by the thread before it ends
  std::thread thread_;
};

}  // namespace weir
