#include "distribute/collective/step_exchanges.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "distribute/collective/shared_step_id.h"

namespace weir {
namespace {

constexpr char kLaterStepUrl[] = "type.googleapis.com/weir.LaterStep";

absl::Status WithLaterStep(absl::Status status, int64_t later) {
  status.SetPayload(kLaterStepUrl, absl::Cord(absl::StrCat(later)));
  return status;
}

absl::Status Overtaken(int64_t step_id, int64_t later) {
  return WithLaterStep(errors::Aborted("Step ", step_id, " is over: step ", later, " runs now"), later);
}

absl::Status FormedAnew(int32_t group) {
  return errors::Aborted("Collective group ", group, " was formed anew: the step has members of both");
}

}  // namespace

absl::Status StepExchange::CheckFormation(const InstanceKey& key) const {
  const auto formation = formations_.find(key.group);
  return formation == formations_.end() || formation->second == key.formation ? absl::OkStatus()
                                                                              : FormedAnew(key.group);
}

std::shared_ptr<MessageExchange> StepExchange::FindOrCreate(const InstanceKey& key, Instance** instance) {
  if (instances_.size() >= next_sweep_) {
    absl::erase_if(instances_, [](const auto& entry) { return entry.second.shared.expired(); });
    next_sweep_ = 64 + 2 * instances_.size();
  }
  *instance = &instances_[key];
  std::shared_ptr<MessageExchange> exchange = (*instance)->shared.lock();
  if (exchange == nullptr) {
    exchange = std::make_shared<MessageExchange>(key.instance);
    (*instance)->shared = exchange;
  }
  return exchange;
}

StepExchange::Result StepExchange::Open(const InstanceKey& key) {
  std::shared_ptr<MessageExchange> exchange;
  std::vector<std::shared_ptr<MessageExchange>> others;
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(status_);
    RETURN_IF_ERROR(CheckFormation(key));
    if (formations_.try_emplace(key.group, key.formation).second) {
      for (const auto& [other, instance] : instances_) {
        if (other.group != key.group || other.formation == key.formation) continue;
        if (auto shared = instance.shared.lock()) others.push_back(std::move(shared));
      }
    }
    Instance* instance = nullptr;
    exchange = FindOrCreate(key, &instance);
    instance->opened = exchange;
  }
  for (const auto& other : others) other->AbortAll(FormedAnew(key.group));
  return exchange;
}

StepExchange::Result StepExchange::Find(const InstanceKey& key) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(CheckFormation(key));
  Instance* instance = nullptr;
  return FindOrCreate(key, &instance);
}

void StepExchange::Abort(const absl::Status& status) {
  std::vector<std::shared_ptr<MessageExchange>> exchanges;
  {
    MutexLock lock(mu_);
    if (!status_.ok()) return;
    status_ = status;
    for (const auto& [key, instance] : instances_) {
      if (auto shared = instance.shared.lock()) exchanges.push_back(std::move(shared));
    }
  }
  for (const auto& exchange : exchanges) exchange->AbortAll(status);
}

absl::Status StepExchange::status() const {
  MutexLock lock(mu_);
  return status_;
}

std::optional<int64_t> StepExchanges::LaterStep(const absl::Status& status) {
  const auto payload = status.GetPayload(kLaterStepUrl);
  int64_t later = 0;
  return payload && absl::SimpleAtoi(std::string(*payload), &later) ? std::optional(later) : std::nullopt;
}

std::optional<int64_t> StepExchanges::Overtaker(int64_t step_id) const {
  if (!SharedStepId::IsShared(step_id) || running_.contains(step_id)) return std::nullopt;
  const auto latest = latest_.find(SharedStepId::CountOf(step_id));
  if (latest == latest_.end() || latest->second <= step_id) return std::nullopt;
  if (sequences_ != nullptr && sequences_->IsRunning(step_id)) return std::nullopt;
  return latest->second;
}

std::shared_ptr<StepExchange> StepExchanges::FindOrCreate(int64_t step_id) {
  if (steps_.size() >= next_sweep_) {
    absl::erase_if(steps_, [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = 64 + 2 * steps_.size();
  }
  std::weak_ptr<StepExchange>& known = steps_[step_id];
  std::shared_ptr<StepExchange> step = known.lock();
  if (step == nullptr) {
    step = std::make_shared<StepExchange>();
    known = step;
  }
  return step;
}

StepExchanges::Result StepExchanges::Begin(int64_t step_id) {
  std::shared_ptr<StepExchange> begun;
  std::vector<std::pair<std::shared_ptr<StepExchange>, absl::Status>> overtaken;
  {
    MutexLock lock(mu_);
    if (const auto ended = ended_.find(step_id); ended != ended_.end()) return ended->second;
    running_.insert(step_id);
    begun = FindOrCreate(step_id);
    if (!SharedStepId::IsShared(step_id)) return begun;
    if (latest_.size() >= kMaxCounts) latest_.clear();
    const auto [latest, is_new] = latest_.try_emplace(SharedStepId::CountOf(step_id), step_id);
    latest->second = std::max(latest->second, step_id);
    for (const auto& [id, known] : steps_) {
      if (!SharedStepId::IsLater(step_id, id)) continue;
      const std::optional<int64_t> later = Overtaker(id);
      if (!later) continue;
      if (auto step = known.lock()) overtaken.emplace_back(std::move(step), Overtaken(id, *later));
    }
  }
  for (const auto& [step, status] : overtaken) step->Abort(status);
  return begun;
}

StepExchanges::Result StepExchanges::Find(int64_t step_id) {
  MutexLock lock(mu_);
  const std::optional<int64_t> later = Overtaker(step_id);
  if (const auto ended = ended_.find(step_id); ended != ended_.end()) {
    return later ? WithLaterStep(ended->second, *later) : ended->second;
  }
  if (later) return Overtaken(step_id, *later);
  return FindOrCreate(step_id);
}

void StepExchanges::End(int64_t step_id, const absl::Status& status) {
  std::shared_ptr<StepExchange> step;
  {
    MutexLock lock(mu_);
    running_.erase(step_id);
    if (ended_.contains(step_id)) return;
    if (const auto it = steps_.find(step_id); it != steps_.end()) {
      step = it->second.lock();
      steps_.erase(it);
    }
    const absl::Status cause = step == nullptr ? absl::OkStatus() : step->status();
    ended_.emplace(step_id, cause.ok() ? status : cause);
    ended_in_order_.push_back(step_id);
    if (ended_in_order_.size() > kRemembered) {
      ended_.erase(ended_in_order_.front());
      ended_in_order_.pop_front();
    }
  }
  if (step != nullptr) step->Abort(status);
}

}  // namespace weir
