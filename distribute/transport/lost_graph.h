// The errors of a peer that does not have, or no longer has, a graph or a session.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// A worker's error: ABORTED, in TensorFlow's words, by which both runtimes' masters recognise it.
absl::Status GraphIsLost(absl::string_view graph_handle);
// The same for a graph that the worker has, but that uses variables which are not on the worker: says why.
absl::Status GraphIsStale(absl::string_view reason);
// True if a step failed with one of these errors: its graph must be registered again, even if no task restarted.
bool IsGraphLost(const absl::Status& status);

// A master's error: ABORTED, in TensorFlow's words. The call had no effect.
absl::Status SessionIsLost(absl::string_view session_handle);
// True for that error about this session, of either runtime's master.
bool IsSessionLost(const absl::Status& status, absl::string_view session_handle);
// The error of a worker that does not have, or no longer has, a session.
absl::Status WorkerSessionIsLost(absl::string_view session_handle, absl::string_view task);
// True for that error: the session must be opened again on the task, even if it did not restart.
bool IsWorkerSessionLost(const absl::Status& status);

}  // namespace weir
