// Calls from kernels to functions in the Python of the session's client.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/threads/cancellation.h"

namespace weir {

struct PythonFunctionCall {
  std::string token;   // the function's name in the client's process
  bool eager = false;  // it takes and returns eager tensors, not arrays
  std::vector<Tensor> inputs;
};

// The functions of one session's client. Thread-safe.
class PythonFunctions {
 public:
  using DoneCallback = std::function<void(absl::StatusOr<std::vector<Tensor>>)>;

  virtual ~PythonFunctions() = default;
  // `done` runs exactly once, with no lock held, perhaps before the call returns.
  // - An exception in Python is an error with its type, text and traceback.
  // - UNAVAILABLE if the client is not connected or its process ends, DEADLINE_EXCEEDED after the session's time limit.
  // - `cancellation` (may be null) ends the call, not the function.
  virtual void CallAsync(PythonFunctionCall call, CancellationManager* cancellation, DoneCallback done) = 0;
};

}  // namespace weir
