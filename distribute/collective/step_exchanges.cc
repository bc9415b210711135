#include "distribute/collective/step_exchanges.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weir {
namespace {

// As StepSequences gives them; ids of a single master have one of the high bits.
bool IsShared(int64_t step_id) { return (step_id >> 56) == 0; }

absl::Status Overtaken(int64_t step_id, int64_t later) {
  return errors::Aborted("Step ", step_id, " is over: its collective is run by step ", later, " now");
}

}  // namespace

std::shared_ptr<MessageExchange> StepExchange::Find(const InstanceKey& key) {
  MutexLock lock(mu_);
  std::shared_ptr<MessageExchange>& exchange = instances_[key];
  if (exchange == nullptr) {
    exchange = std::make_shared<MessageExchange>(key.instance);
    if (!status_.ok()) exchange->AbortAll(status_);  // nobody waits in it yet
  }
  return exchange;
}

void StepExchange::AbortInstance(const InstanceKey& key, const absl::Status& status) {
  std::shared_ptr<MessageExchange> exchange;
  {
    MutexLock lock(mu_);
    const auto it = instances_.find(key);
    if (it == instances_.end()) return;
    exchange = it->second;
  }
  exchange->AbortAll(status);
}

void StepExchange::Abort(const absl::Status& status) {
  std::vector<std::shared_ptr<MessageExchange>> exchanges;
  {
    MutexLock lock(mu_);
    if (!status_.ok()) return;
    status_ = status;
    for (const auto& [key, exchange] : instances_) exchanges.push_back(exchange);
  }
  for (const auto& exchange : exchanges) exchange->AbortAll(status);
}

void StepExchanges::DropUnused() {
  if (steps_.size() < next_sweep_) return;
  for (auto it = steps_.begin(); it != steps_.end();) {
    const auto current = it++;
    if (current->second.expired()) steps_.erase(current);
  }
  next_sweep_ = 64 + 2 * steps_.size();
}

absl::StatusOr<std::shared_ptr<StepExchange>> StepExchanges::Find(int64_t step_id) {
  MutexLock lock(mu_);
  if (const auto ended = ended_.find(step_id); ended != ended_.end()) return ended->second;
  DropUnused();
  std::weak_ptr<StepExchange>& known = steps_[step_id];
  std::shared_ptr<StepExchange> step = known.lock();
  if (step == nullptr) {
    step = std::make_shared<StepExchange>();
    known = step;
  }
  return step;
}

void StepExchanges::Begin(int64_t step_id, const InstanceKey& key) {
  if (!IsShared(step_id)) return;
  std::vector<std::pair<int64_t, std::shared_ptr<StepExchange>>> overtaken;
  {
    MutexLock lock(mu_);
    if (latest_.size() >= kMaxInstances) latest_.clear();
    const auto [it, is_new] = latest_.try_emplace(key, step_id);
    it->second = std::max(it->second, step_id);
    for (const auto& [id, known] : steps_) {
      if (!IsShared(id) || id >= step_id) continue;
      if (auto step = known.lock()) overtaken.emplace_back(id, std::move(step));
    }
  }
  for (const auto& [id, step] : overtaken) step->AbortInstance(key, Overtaken(id, step_id));
}

absl::Status StepExchanges::CheckNotOvertaken(int64_t step_id, const InstanceKey& key) {
  if (!IsShared(step_id)) return absl::OkStatus();
  MutexLock lock(mu_);
  const auto it = latest_.find(key);
  return it == latest_.end() || it->second <= step_id ? absl::OkStatus() : Overtaken(step_id, it->second);
}

void StepExchanges::End(int64_t step_id, const absl::Status& status) {
  std::shared_ptr<StepExchange> step;
  {
    MutexLock lock(mu_);
    if (!ended_.try_emplace(step_id, status).second) return;
    ended_in_order_.push_back(step_id);
    if (ended_in_order_.size() > kRemembered) {
      ended_.erase(ended_in_order_.front());
      ended_in_order_.pop_front();
    }
    if (const auto it = steps_.find(step_id); it != steps_.end()) {
      step = it->second.lock();
      steps_.erase(it);
    }
  }
  if (step != nullptr) step->Abort(status);
}

}  // namespace weir
