#include "distribute/collective/step_sequences.h"

#include <random>

namespace weir {
namespace {

constexpr uint64_t kStepBits = (uint64_t{1} << 56) - 1;

// As TensorFlow's: the highest eight bits are clear.
int64_t FirstStepId() {
  std::random_device entropy;
  const uint64_t random = (static_cast<uint64_t>(entropy()) << 32) | entropy();
  return static_cast<int64_t>(random & kStepBits);
}

}  // namespace

std::optional<int64_t> StepSequences::Take(int64_t graph_key) {
  MutexLock lock(mu_);
  const auto it = counts_.find(graph_key);
  if (it == counts_.end() || it->second.is_doubtful) return std::nullopt;
  Count& count = it->second;
  const int64_t step_id = count.next;
  count.next = static_cast<int64_t>((static_cast<uint64_t>(step_id) + 1) & kStepBits);
  count.running.insert(step_id);
  keys_[step_id] = graph_key;
  return step_id;
}

void StepSequences::End(int64_t step_id, bool is_ok) {
  MutexLock lock(mu_);
  const auto key = keys_.find(step_id);
  if (key == keys_.end()) return;
  Count& count = counts_[key->second];
  keys_.erase(key);
  count.running.erase(step_id);
  if (!is_ok && count.learned) count.is_doubtful = true;
}

void StepSequences::Learn(const tensorflow::GetStepSequenceResponse& response) {
  MutexLock lock(mu_);
  for (const auto& sequence : response.step_sequence()) {
    Count& count = counts_[sequence.graph_key()];
    if (count.learned != sequence.next_step_id()) count.next = sequence.next_step_id();
    count.learned = sequence.next_step_id();
    count.is_doubtful = false;
  }
}

void StepSequences::Answer(const tensorflow::GetStepSequenceRequest& request,
                           tensorflow::GetStepSequenceResponse* response) {
  MutexLock lock(mu_);
  for (const int64_t graph_key : request.graph_key()) {
    const auto [it, is_new] = counts_.try_emplace(graph_key);
    Count& count = it->second;
    if (is_new) count.next = FirstStepId();
    tensorflow::StepSequence* sequence = response->add_step_sequence();
    sequence->set_graph_key(graph_key);
    sequence->set_next_step_id(count.running.empty() ? count.next : *count.running.begin());
  }
}

}  // namespace weir
