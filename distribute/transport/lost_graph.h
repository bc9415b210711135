// The error of a worker that does not have, or no longer has, a registered graph.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// ABORTED, in TensorFlow's words: both runtimes' masters recognise the error by them.
absl::Status GraphIsLost(absl::string_view graph_handle);
// True if a step failed with this error: its graph must be registered again, even if no task restarted.
bool IsGraphLost(const absl::Status& status);

// The error of a worker that does not have, or no longer has, a session.
absl::Status WorkerSessionIsLost(absl::string_view session_handle, absl::string_view task);
// True for that error: the session must be opened again on the task, even if it did not restart.
bool IsWorkerSessionLost(const absl::Status& status);

}  // namespace weir
