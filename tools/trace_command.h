// weir trace: writes a trace of the next steps of a cluster.
#pragma once

#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "core/status.h"

namespace weir {

struct TraceCommand {
  std::string target;  // grpc://HOST:PORT of any task
  int steps = 10;
  std::string output = "trace.json";
  std::string board_directory;  // also a profile for TensorBoard; empty: none
  absl::Duration timeout = absl::Minutes(1);
};

// Prints what was traced, what is missing and hints to `out`. False if there are fewer steps than wanted: the file has
// what there is. InvalidArgument for a target in another form.
absl::StatusOr<bool> RunTrace(const TraceCommand& command, std::ostream& out);

}  // namespace weir
