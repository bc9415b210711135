// The answer of a worker that does not have a registered graph (any more).
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// ABORTED, in TensorFlow's words: its masters and ours know the answer by them.
absl::Status GraphIsLost(absl::string_view graph_handle);
// Whether a step ended so: its graph has to be registered again, also where no task restarted.
bool IsGraphLost(const absl::Status& status);

}  // namespace weir
