// The chief's part of synchronous training on parameter servers.
#pragma once

#include <thread>
#include <vector>

#include "client/session.h"
#include "core/threads/cancellation.h"

namespace weir {

// Runs `steps` (ParameterServerStrategy::chief_steps()) in turn, repeatedly, on its own thread, concurrently with the
// workers' steps, until it is stopped. Retries a step while a task is lost. Any other error closes the session, which
// outlives it: otherwise workers would wait for an update indefinitely.
class ChiefThread {
 public:
  ChiefThread(Session* session, std::vector<Operation> steps);
  // Stops.
  ~ChiefThread();
  ChiefThread(const ChiefThread&) = delete;

  // Closes the session, which ends the pending update, and joins the thread. Returns the error that ended the thread
  // before, if any.
  absl::Status Stop();

 private:
  void Run(const std::vector<Operation>& steps);

  Session* const session_;
  CancellationManager stop_;
  absl::Status status_;  // set by the thread before it ends
  std::thread thread_;
};

}  // namespace weir
