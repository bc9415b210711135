#include "master/used_tasks.h"

#include <algorithm>

namespace weir {

void UsedTasks::Add(const ClientGraph& graph) {
  MutexLock lock(mu_);
  for (const ClientGraph::Part& part : graph.parts()) {
    if (!part.is_local) tasks_[part.task] = {part.task, part.worker, part.incarnation};
  }
}

void UsedTasks::ForgetRestarted(const SessionTasks& tasks) {
  MutexLock lock(mu_);
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    const absl::StatusOr<SessionTasks::Task> current = tasks.Find(it->first);
    const bool is_same = current.ok() && current->incarnation == it->second.incarnation;
    it = is_same ? std::next(it) : tasks_.erase(it);
  }
}

std::vector<UsedTasks::Task> UsedTasks::Without(const ClientGraph& graph) const {
  const std::vector<ClientGraph::Part>& parts = graph.parts();
  std::vector<Task> others;
  MutexLock lock(mu_);
  for (const auto& used : tasks_) {
    const bool has_part =
        std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.task == used.first; });
    if (!has_part) others.push_back(used.second);
  }
  return others;
}

}  // namespace weir
