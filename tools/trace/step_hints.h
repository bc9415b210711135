// Hints in words about what limits steps, derived from their timeline.
#pragma once

#include <string>
#include <vector>

#include "tools/trace/timeline.h"

namespace weir {

struct StepHint {
  enum class Kind { kInput, kParameterServer, kSlowTask, kCopies, kSmallKernels };
  Kind kind;
  std::string text;  // a sentence or two, with the figures that it is derived from
};

// A pure function: the same timeline gives the same hints, none if nothing stands out. Only waits count during which
// the task computes nothing in the step; such a time is charged to the wait that ended it.
std::vector<StepHint> HintsFor(const Timeline& timeline);

}  // namespace weir
