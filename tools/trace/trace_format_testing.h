// Checks traces against the Chrome trace event format.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weir {

// Expects that every event has the fields of its phase, that the slices of each thread are disjoint or nested, that
// threads and processes have names, and that each arrow has one start and one end, each within a slice.
void CheckTraceFormat(const nlohmann::json& trace);

struct TraceCounts {
  int slices = 0;
  int arrows = 0;
  std::vector<std::string> processes;  // in the viewer's order
};
TraceCounts CountEvents(const nlohmann::json& trace);

}  // namespace weir
