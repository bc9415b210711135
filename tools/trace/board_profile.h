// A timeline for TensorBoard's profile plug-in.
#pragma once

#include "client/training/step_profile.h"
#include "tools/trace/timeline.h"

namespace weir {

// The timelines of all tasks, on one clock. Steps are numbered from 1.
Profile BoardProfile(const Timeline& timeline);

}  // namespace weir
