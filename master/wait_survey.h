// Asks tasks what running steps wait for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "master/step.h"

namespace weir {

// By step id. A task without an answer at the deadline, and one of another runtime, adds nothing.
using StepWaitsById = absl::flat_hash_map<int64_t, std::vector<StepWait>>;

// Asks every task with a part of the steps, which are of one session. `done` runs once, with no lock held, perhaps
// before the call returns.
void SurveyWaits(const std::vector<std::shared_ptr<Step>>& steps, absl::Time deadline,
                 std::function<void(StepWaitsById)> done);

// "node 'q' (QueueDequeueV2) on /job:ps/…", with the shared object if there is one.
std::string DescribeWait(const StepWait& wait);

}  // namespace weir
