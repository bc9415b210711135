// Decides which tasks stand by for others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "weir/membership.pb.h"

namespace weir {

// Of one task.
inline constexpr int kMaxStandbysOfTask = 4;

// Changes of a view's standbys; the caller makes them a view of the next epoch, `epoch`.

// Checks the beginning of a copy to a new standby. INVALID_ARGUMENT for a task that would stand by for itself,
// FAILED_PRECONDITION for tasks that do not serve or stand by already, RESOURCE_EXHAUSTED for too many.
absl::Status CheckNewStandby(const Standby& standby, const ClusterView& view);
// The standby has a copy of everything.
void AddStandby(const Standby& standby, int64_t epoch, ClusterView* view);
// False if it was none.
bool RemoveStandby(const std::string& task, const std::string& standby, int64_t epoch, ClusterView* view);
// The task gets state from elsewhere, of which its standbys have no copy.
void ForgetStandbysOf(const std::string& task, int64_t epoch, ClusterView* view);
// The task is lost and has a standby, the first for which `serves` is true: it takes over, as the task's successor and
// the home of its variables. Those that stood by for it as well, and for that standby, still do. Returns the standby;
// empty: there is none, and only the relations of the task have ended.
std::string FailOver(const std::string& task, const std::function<bool(const std::string&)>& serves, int64_t epoch,
                     ClusterView* view);
// INVALID_ARGUMENT for standbys that no registrar makes.
absl::Status CheckStandbys(const ClusterView& view);

}  // namespace weir
