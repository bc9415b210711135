// Traces in the format of chrome://tracing.
#pragma once

#include <string>

namespace tensorflow {
class StepStats;
}

namespace weir {

// A JSON object: a process for each device, a thread for each of its threads, and a complete event ("X") for each op.
std::string ChromeTrace(const tensorflow::StepStats& stats);

}  // namespace weir
