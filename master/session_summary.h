// Sessions and steps of a master, for people who watch it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "weir/peer.pb.h"

namespace weir {

// Values, without the session's handle, which is a secret.
struct SessionSummary {
  int64_t number = 0;  // counts the master's sessions, from 1
  absl::Duration age;
  int64_t nodes = 0, graph_version = 0;
  size_t client_graphs = 0, callables = 0;
  int64_t steps = 0;  // so far
  size_t running_steps = 0;
  std::vector<std::string> tasks;  // with worker sessions
};

struct StepSummary {
  int64_t session = 0;  // its number
  absl::Duration age;
  std::vector<std::string> running_on;  // tasks whose parts have not ended
  std::vector<StepWait> waits;          // of the tasks that answered
};

}  // namespace weir
