#include "distribute/collective/step_sequences.h"

#include <algorithm>

#include "core/fingerprint.h"
#include "core/random_bits.h"
#include "distribute/collective/shared_step_id.h"

namespace weir {
namespace {

// The later one if both are of one count; else the reported one.
int64_t Later(int64_t own, int64_t said) {
  return SharedStepId::CountOf(own) == SharedStepId::CountOf(said) ? std::max(own, said) : said;
}

}  // namespace

StepSequences::StepSequences() : secret_(RandomBits()) {}

// Always the same for a key, but different after a restart.
int64_t StepSequences::FirstStepId(int64_t graph_key) const {
  return SharedStepId::First(Fingerprint64(absl::StrCat(secret_, "|", graph_key)), first_place_);
}

void StepSequences::DropIdle() {
  if (counts_.size() < kMaxCounts) return;
  for (const auto& [key, count] : counts_) {
    if (count.running.empty()) first_place_ = std::max(first_place_, SharedStepId::PlaceOf(count.next));
  }
  absl::erase_if(counts_, [](const auto& entry) { return entry.second.running.empty(); });
}

std::optional<int64_t> StepSequences::Take(int64_t graph_key) {
  MutexLock lock(mu_);
  const auto it = counts_.find(graph_key);
  if (it == counts_.end() || it->second.is_doubtful) return std::nullopt;
  Count& count = it->second;
  while (running_.contains(count.next)) count.next = SharedStepId::Next(count.next);
  const int64_t step_id = count.next;
  count.next = SharedStepId::Next(step_id);
  count.running.insert(step_id);
  running_[step_id] = {.graph_key = graph_key};
  return step_id;
}

void StepSequences::End(int64_t step_id, bool is_ok) {
  MutexLock lock(mu_);
  const auto step = running_.find(step_id);
  if (step == running_.end()) return;
  const Running ended = step->second;
  running_.erase(step);
  counts_[ended.graph_key].running.erase(step_id);
  if (is_ok) return;
  // The leader may have restarted, which begins all counts anew.
  for (auto& [other, known] : counts_) known.is_doubtful = known.is_doubtful || known.learned.has_value();
  if (!failed_.emplace(step_id, ended.is_overtaken).second) return;
  failed_in_order_.push_back(step_id);
  if (failed_in_order_.size() <= kMaxFailed) return;
  failed_.erase(failed_in_order_.front());
  failed_in_order_.pop_front();
}

bool StepSequences::HasFailed(int64_t step_id) const {
  MutexLock lock(mu_);
  return failed_.contains(step_id);
}

bool StepSequences::WasOvertaken(int64_t step_id) const {
  MutexLock lock(mu_);
  const auto failed = failed_.find(step_id);
  return failed != failed_.end() && failed->second;
}

bool StepSequences::IsRunning(int64_t step_id) const {
  MutexLock lock(mu_);
  return running_.contains(step_id);
}

void StepSequences::Lead(int64_t graph_key) {
  MutexLock lock(mu_);
  DropIdle();
  const auto [it, is_new] = counts_.try_emplace(graph_key);
  Count& count = it->second;
  if (is_new) count.next = FirstStepId(graph_key);
  count.learned.reset();
  count.is_doubtful = false;
}

void StepSequences::Learn(const tensorflow::GetStepSequenceResponse& response) {
  MutexLock lock(mu_);
  for (const auto& sequence : response.step_sequence()) {
    DropIdle();
    Count& count = counts_[sequence.graph_key()];
    const int64_t said = sequence.next_step_id() & SharedStepId::kMask;
    if (count.learned != said) count.next = Later(count.next, said);
    count.learned = said;
    count.is_doubtful = false;
  }
}

void StepSequences::CatchUp(int64_t step_id, int64_t later) {
  MutexLock lock(mu_);
  const auto step = running_.find(step_id);
  if (step == running_.end() || !SharedStepId::IsLater(later, step_id)) return;
  step->second.is_overtaken = true;
  Count& count = counts_[step->second.graph_key];
  if (SharedStepId::IsLater(later, count.next)) count.next = later;
}

absl::Status StepSequences::Answer(const tensorflow::GetStepSequenceRequest& request,
                                   tensorflow::GetStepSequenceResponse* response) const {
  if (request.graph_key_size() > kMaxAsked) {
    return errors::InvalidArgument("GetStepSequence of ", request.graph_key_size(), " keys at once; ", kMaxAsked,
                                   " at most");
  }
  MutexLock lock(mu_);
  for (const int64_t graph_key : request.graph_key()) {
    tensorflow::StepSequence* sequence = response->add_step_sequence();
    sequence->set_graph_key(graph_key);
    const auto count = counts_.find(graph_key);
    if (count == counts_.end()) {
      sequence->set_next_step_id(FirstStepId(graph_key));
    } else {
      const auto& running = count->second.running;
      sequence->set_next_step_id(running.empty() ? count->second.next : *running.begin());
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
