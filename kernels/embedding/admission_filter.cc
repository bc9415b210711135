#include "kernels/embedding/admission_filter.h"

#include <algorithm>

#include "kernels/embedding/key_hash.h"

namespace weir {
namespace {

constexpr int kHashes = 3;
// Counts for each counter between halvings.
constexpr int64_t kCountsBeforeHalving = 8;

}  // namespace

AdmissionFilter::AdmissionFilter(const EmbeddingOptions& options, int64_t counters)
    : frequency_(options.filter_freq),
      probability_(options.filter_probability),
      seed_(static_cast<uint64_t>(options.seed)) {
  if (frequency_ > 1) counters_.resize(std::max<int64_t>(counters, 1));
}

int64_t AdmissionFilter::Count(uint64_t hash, int64_t count) {
  uint16_t* found[kHashes];
  int64_t least = kMaxFrequency;
  for (int i = 0; i < kHashes; ++i) {
    const uint64_t mixed = KeyHash(static_cast<int64_t>(hash + i));
    found[i] = &counters_[mixed % counters_.size()];
    least = std::min<int64_t>(least, *found[i]);
  }
  const int64_t now = std::min(least + std::min(count, kMaxFrequency), kMaxFrequency);
  for (uint16_t* counter : found) *counter = static_cast<uint16_t>(std::max<int64_t>(*counter, now));
  counted_ += count;
  if (counted_ / kCountsBeforeHalving > static_cast<int64_t>(counters_.size())) {
    for (uint16_t& counter : counters_) counter /= 2;
    counted_ = 0;
  }
  return now;
}

bool AdmissionFilter::Draw(uint64_t hash) {
  const uint64_t bits = KeyHash(static_cast<int64_t>(hash ^ KeyHash(static_cast<int64_t>(seed_ + ++draws_))));
  constexpr double kScale = 1.0 / (uint64_t{1} << 53);
  return static_cast<double>(bits >> 11) * kScale < probability_;
}

bool AdmissionFilter::Admit(uint64_t hash, int64_t count) {
  if (frequency_ > 1 && Count(hash, count) < frequency_) return false;
  return probability_ >= 1 || Draw(hash);
}

void AdmissionFilter::Clear() {
  std::fill(counters_.begin(), counters_.end(), 0);
  counted_ = 0;
}

void AdmissionFilter::Assign(const uint16_t* counters, int64_t counted) {
  std::copy_n(counters, counters_.size(), counters_.begin());
  counted_ = counted;
}

}  // namespace weir
