// The chief's part of synchronous training on parameter servers.
#pragma once

#include <thread>

#include "client/session.h"

namespace weir {

// Runs `update` (ParameterServerStrategy::update()) again and again on a thread of its own, beside the steps of the
// workers. Ends with the session, which outlives it, or with the first error.
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
  Session* const session_;
  absl::Status status_;  // set by the thread before it ends
  std::thread thread_;
};

}  // namespace weir
