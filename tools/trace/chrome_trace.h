// A timeline in the Chrome trace event format, for Perfetto and chrome://tracing.
#pragma once

#include <string>

#include "tools/trace/timeline.h"

namespace weir {

// A JSON object with "traceEvents": processes are tasks; threads are the threads of devices, streams, links to other
// tasks, collectives, waits and steps. Slices of a thread are disjoint or nested. Arrows (flows) lead from each send to
// its receive. "otherData" says what is missing, and how well the clocks are aligned.
std::string ChromeTrace(const CollectedTrace& trace, const Timeline& timeline);

}  // namespace weir
